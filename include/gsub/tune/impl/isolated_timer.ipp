// Definition of isolated_timer: the parent of a worker that times kernels, and the search for the one that ended it.
#pragma once

#include <gsub/tune/impl/timing_worker.hpp>
#include <gsub/tune/isolated_timer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>

namespace gsub::tune {

namespace detail {

template <class>
class timing_process {
    using clock = std::chrono::steady_clock;

public:
    timing_process(tuning_task const& task, isa const& on, timing_options const& options, isolation_options const& o)
        : task_(task),
          on_(on),
          options_(options),
          o_(o),
          threads_(options.threads ? options.threads->concurrency() : 1) {
        static_cast<void>(ready());
    }
    timing_process(timing_process const&) = delete;
    timing_process& operator=(timing_process const&) = delete;
    // The worker has nothing to do, and nothing to tidy up.
    ~timing_process() = default;

    [[nodiscard]] isolation_statistics statistics() const noexcept { return statistics_; }

    [[nodiscard]] std::vector<measurement> measure(std::span<candidate const> all, std::size_t longer) {
        std::vector<measurement> out(all.size());
        for (std::size_t first = 0; first < all.size(); first += most_candidates) {
            auto const count = std::min(most_candidates, all.size() - first);
            measure_some(all.subspan(first, count), longer, std::span{out}.subspan(first, count));
        }
        return out;
    }

private:
    // Of a worker that was lost.
    struct loss {
        measure_error error = measure_error::unknown;
        std::optional<std::size_t> candidate{}; // that it had in hand
        double seconds = 0;
    };
    struct outcome {
        std::vector<measurement> measured{};
        std::optional<loss> lost{};
    };

    // Whoever takes a worker with it fails, if it does so again alone; the others are measured together again.
    void measure_some(std::span<candidate const> all, std::size_t longer, std::span<measurement> out) {
        std::vector<std::size_t> left(all.size());
        std::iota(left.begin(), left.end(), std::size_t{0});
        for (int unexplained = 0; !left.empty() && unexplained < 2;) {
            std::vector<candidate> together;
            for (auto const i : left) together.push_back(all[i]);
            auto const got = ask(together, longer);
            if (!got.lost) {
                for (std::size_t k = 0; k < left.size(); ++k) out[left[k]] = got.measured[k];
                return;
            }
            auto const suspect = left.size() == 1 ? std::optional<std::size_t>{0} : got.lost->candidate;
            if (!suspect || *suspect >= left.size()) {
                ++unexplained;
                continue;
            }
            auto const i = left[*suspect];
            auto const alone = ask({&all[i], 1}, longer);
            out[i] = alone.lost ? failed(*alone.lost) : alone.measured.front();
            if (left.size() == 1) return;
            if (out[i].error != measure_error::none)
                left.erase(left.begin() + static_cast<std::ptrdiff_t>(*suspect));
            else
                ++unexplained;
        }
        for (auto const i : left) out[i] = measure_alone(all[i], longer);
    }
    [[nodiscard]] measurement measure_alone(candidate const& c, std::size_t longer) {
        auto got = ask({&c, 1}, longer);
        if (got.lost) got = ask({&c, 1}, longer);
        return got.lost ? failed(*got.lost) : got.measured.front();
    }
    [[nodiscard]] static measurement failed(loss const& lost) {
        measurement m;
        m.error = lost.error, m.all_cost = lost.seconds;
        m.timestamp = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
        return m;
    }

    // Has a worker measure candidates.
    [[nodiscard]] outcome ask(std::span<candidate const> all, std::size_t longer) {
        outcome out;
        if (!ready()) { // there is nothing to compare them with
            for (auto const& c : all)
                out.measured.push_back(failed({c == task_.untuned ? *no_reference_ : measure_error::unknown, {}, 0}));
            return out;
        }
        std::vector<std::byte> request;
        append_bytes(request, static_cast<std::uint64_t>(longer));
        for (auto const& c : all) append_bytes(request, c);
        worker_.queue(message_of(request_head{++ticket_, request.size()}, request));
        worker_.send();
        std::vector<std::byte> bytes;
        out.lost = wait(all.size(), bytes);
        if (out.lost) return out;
        if (auto measured = measurements_of(bytes, all.size()))
            out.measured = std::move(*measured);
        else
            out.lost = lose(board_.read(), statistics_.crashed, measure_error::runtime_device, 0);
        return out;
    }
    // Whether a worker has run the untuned kernel and waits for requests. It is given two chances.
    [[nodiscard]] bool ready() {
        std::optional<loss> lost;
        for (int chance = 0; chance < 2 && !no_reference_ && !worker_.alive(); ++chance) {
            board_.clear();
            worker_.begin({}, [this](int socket, pid_t parent) { work(socket, parent); });
            ++statistics_.begun;
            ticket_ = 0;
            std::vector<std::byte> bytes;
            lost = wait(1, bytes);
        }
        if (lost) no_reference_ = lost->error;
        return !no_reference_;
    }
    // In the worker.
    [[noreturn]] void work(int socket, pid_t parent) noexcept {
        try {
            expect_crashes(parent);
            timing_worker<>{socket, parent, board_}.run(task_, on_, options_, threads_);
        } catch (...) {} // where there is no memory for an answer
        ::_exit(0);
    }

    // Waits for the answer to the last request. A worker that is lost has ended.
    std::optional<loss> wait(std::size_t count, std::vector<std::byte>& to) {
        auto const begin = clock::now();
        auto since = begin;
        auto step = board_.read();
        for (;;) {
            pollfd polled{worker_.socket(), static_cast<short>(worker_.has_more_to_send() ? POLLIN | POLLOUT : POLLIN),
                          0};
            ::poll(&polled, 1, static_cast<int>(std::clamp(o_.timeout_seconds * 250, 1.0, 100.0)));
            auto const now = clock::now();
            if (polled.revents != 0) {
                worker_.send();
                auto const alive = worker_.receive();
                bool answered = false;
                while (worker_.take([&](answer_head const& head, std::span<std::byte const> text) {
                    if (head.ticket != ticket_) return; // some kernel has written over it
                    if (head.code != 0) refuse(head, text);
                    answered = true;
                    to.assign(text.begin(), text.end());
                })) {}
                if (answered) return std::nullopt;
                if (!alive) {
                    auto const last = board_.read();
                    return lose(last, statistics_.crashed, error_of(last, true), seconds_between(begin, now));
                }
            }
            if (auto const next = board_.read(); next != step)
                step = next, since = now;
            else if (seconds_between(since, now) > seconds_for(step, count))
                return lose(step, statistics_.late, error_of(step, false), seconds_between(begin, now));
        }
    }
    [[nodiscard]] loss lose(timing_step const& at, std::size_t& counter, measure_error error, double seconds) {
        worker_.end();
        ++counter;
        return {error, at.candidate, seconds};
    }
    [[noreturn]] void refuse(answer_head const& head, std::span<std::byte const> text) {
        worker_.end();
        throw error{id_of(head.code), "the worker that times kernels: " +
                                          std::string{reinterpret_cast<char const*>(text.data()), text.size()}};
    }

    [[nodiscard]] static double seconds_between(clock::time_point begin, clock::time_point end) {
        return std::chrono::duration<double>(end - begin).count();
    }
    [[nodiscard]] static measure_error error_of(timing_step const& at, bool crashed) noexcept {
        if (!at.phase) return measure_error::unknown;
        if (*at.phase == timing_phase::run) return crashed ? measure_error::runtime_device : measure_error::run_timeout;
        return crashed ? measure_error::compile_host : measure_error::build_timeout;
    }
    // How long a step of a request of so many candidates may take.
    [[nodiscard]] double seconds_for(timing_step const& at, std::size_t count) const noexcept {
        auto const kernels = at.candidate ? 1.0 : static_cast<double>(count);
        if (at.phase == timing_phase::lower) return o_.timeout_seconds * kernels;
        if (at.phase == timing_phase::compile) return o_.timeout_seconds + options_.jit.timeout_s * kernels;
        return o_.timeout_seconds;
    }

    tuning_task const& task_;
    isa const& on_;
    timing_options options_;
    isolation_options o_;
    std::size_t threads_; // of a worker
    timing_board<> board_;
    worker_process<> worker_;
    std::uint64_t ticket_ = 0;
    std::optional<measure_error> no_reference_{}; // what the untuned kernel fails by
    isolation_statistics statistics_{};
};

} // namespace detail

GSUB_LAZY_BODY isolated_timer::isolated_timer(tuning_task const& task, isa const& isa, timing_options const& options,
                                              isolation_options const& isolation) {
    GSUB_ASSERT(isolation.timeout_seconds > 0, "a worker has some time for a step");
    GSUB_ASSERT(options.rounds >= 1, "a kernel is timed once at least");
    process_ = std::make_shared<detail::timing_process<>>(task, isa, options, isolation);
}
GSUB_LAZY_BODY std::vector<measurement> isolated_timer::measure(std::span<candidate const> candidates,
                                                                std::size_t longer) const {
    return process_->measure(candidates, longer);
}
GSUB_LAZY_BODY isolation_statistics isolated_timer::statistics() const noexcept {
    return process_->statistics();
}

} // namespace gsub::tune
