// Point dispatch: which points of a batch wait, which worker has which, and what becomes of those of workers that are
// lost or late. Knows nothing of how points travel.
#pragma once

#include <gsub/tune/remote_scorer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace gsub::tune::detail {

template <class = void>
class point_dispatch {
public:
    using clock = std::chrono::steady_clock;
    struct ticket {
        std::uint64_t number; // which the worker returns
        std::size_t point;
    };

    // Tickets count up from the one given, which is above 0.
    point_dispatch(std::size_t workers, remote_options const& o, std::uint64_t first_ticket = 1)
        : workers_(workers), o_(o), next_ticket_(first_ticket), first_ticket_(first_ticket) {}

    // Begins a batch. What workers still have of the last one is of no interest any more.
    void begin(std::span<double> scores) {
        scores_ = scores;
        first_ticket_ = next_ticket_;
        open_ = scores.size();
        states_.assign(scores.size(), {});
        waiting_.clear();
        for (std::size_t i = 0; i < scores.size(); ++i) waiting_.push_back(i);
    }
    [[nodiscard]] bool done() const noexcept { return open_ == 0; }
    [[nodiscard]] std::size_t scored_in_front() const {
        auto const first = std::find_if(states_.begin(), states_.end(), [](state const& s) { return !s.scored; });
        return static_cast<std::size_t>(first - states_.begin());
    }
    [[nodiscard]] remote_statistics const& statistics() const noexcept { return counts_; }

    // The next point for a worker, where one waits and the worker has room. A worker gets some ahead, so that it need
    // not wait for the next; one only when few are left, so that they are spread.
    [[nodiscard]] std::optional<ticket> next(std::size_t worker, clock::time_point now) {
        auto& w = workers_[worker];
        while (!waiting_.empty() && states_[waiting_.front()].scored) waiting_.pop_front();
        auto const room = std::min(most_ahead, 1 + waiting_.size() / (2 * workers_.size()));
        if (waiting_.empty() || w.late || w.flights.size() >= room) return std::nullopt;
        ticket const t{next_ticket_++, waiting_.front()};
        waiting_.pop_front();
        if (w.flights.empty()) w.since = now;
        w.flights.push_back({t, false});
        return t;
    }

    // Takes a score of a worker; the point where it is its first score.
    std::optional<std::size_t> answer(std::size_t worker, std::uint64_t number, double score, clock::time_point now) {
        auto const point = landed(worker, number, now);
        if (point) {
            ++counts_.scored;
            settle(*point, score);
        } else {
            ++counts_.discarded;
        }
        return point;
    }
    // The objective threw on a worker. Whether that matters: not for a point that has a score, or of an earlier batch.
    [[nodiscard]] bool refuse(std::size_t worker, std::uint64_t number, clock::time_point now) {
        return landed(worker, number, now).has_value();
    }

    // A worker died: the point that it was at counts that, all that it had is given to others. Points given up on are
    // told.
    template <class Give>
    void lost(std::size_t worker, Give const& given_up) {
        if (!workers_[worker].late) ++counts_.lost; // else the search has killed it
        give_back(workers_[worker], given_up);
        workers_[worker] = {};
    }
    // A worker does not answer in time. It gets no more until it does.
    template <class Give>
    void late(std::size_t worker, Give const& given_up) {
        ++counts_.late;
        give_back(workers_[worker], given_up);
        workers_[worker].late = true;
    }
    [[nodiscard]] bool overdue(std::size_t worker, clock::time_point now) const noexcept {
        auto const& w = workers_[worker];
        return !w.flights.empty() && !w.late && now - w.since > o_.timeout;
    }
    [[nodiscard]] bool is_late(std::size_t worker) const noexcept { return workers_[worker].late; }

private:
    struct flight {
        ticket of;
        bool given_back; // somebody else has it, or will
    };
    struct worker_state {
        std::deque<flight> flights; // in the order in which they were sent; a worker is at the first
        clock::time_point since{};  // when it began with the first
        bool late = false;
    };
    struct state {
        std::uint32_t failures = 0;
        bool scored = false;
    };
    static constexpr std::size_t most_ahead = 4;

    // A worker has answered; the point where it still waits for a score.
    std::optional<std::size_t> landed(std::size_t worker, std::uint64_t number, clock::time_point now) {
        auto& w = workers_[worker];
        auto const f =
            std::find_if(w.flights.begin(), w.flights.end(), [&](flight const& x) { return x.of.number == number; });
        if (f == w.flights.end()) return std::nullopt;
        auto const point = f->of.point;
        w.flights.erase(f);
        w.since = now;
        w.late = false;
        if (number < first_ticket_ || states_[point].scored) return std::nullopt;
        return point;
    }
    void settle(std::size_t point, double score) {
        scores_[point] = score;
        states_[point].scored = true;
        --open_;
    }
    template <class Give>
    void give_back(worker_state& w, Give const& given_up) {
        for (auto i = w.flights.size(); i-- > 0;) { // from the last on, so that the first is in front
            auto& f = w.flights[i];
            if (f.given_back || f.of.number < first_ticket_ || states_[f.of.point].scored) continue;
            f.given_back = true;
            if (i == 0 && ++states_[f.of.point].failures >= o_.attempts) {
                ++counts_.given_up;
                settle(f.of.point, std::numeric_limits<double>::infinity());
                given_up(f.of.point);
            } else {
                waiting_.push_front(f.of.point);
            }
        }
    }

    std::vector<worker_state> workers_;
    remote_options o_;
    std::span<double> scores_;
    std::vector<state> states_; // of each point
    std::deque<std::size_t> waiting_;
    std::size_t open_ = 0;                     // points without a score
    std::uint64_t next_ticket_, first_ticket_; // the latter: of the batch
    remote_statistics counts_;
};

} // namespace gsub::tune::detail
