// Frontier of a relaxed best-first search: states that wait for their expansion, and states that a larger alpha may
// admit.
#pragma once

#include <gsub/search/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::search {

/// Frontier: a heap of waiting states, the cheapest on top, and the list of those that the rest of the schedule of
/// alpha may admit. Of equal costs the state with the smaller move, found first, stands on top. `size(state)` gives the
/// bytes of a state. *Complexity* O(log w) a state for w waiting ones.
template <class State, class Size>
class frontier {
public:
    /// A state that waits, and the number of the move that led to it.
    struct entry {
        double cost;
        std::uint32_t move;
        State what;
    };

    /// `o` outlives it.
    frontier(options const& o, Size size) : o_(&o), size_(std::move(size)), alpha_(first_alpha(o)) {}

    /// The alpha that admits at present; 1 with `admission::first`.
    [[nodiscard]] double alpha() const noexcept { return alpha_; }
    /// Bytes of all states that wait or are deferred.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Whether a cost lies below a bound, or at it with plateau moves.
    [[nodiscard]] bool below(double cost, double bound) const noexcept {
        return o_->plateau ? cost <= bound : cost < bound;
    }
    /// Whether a successor of that cost is admitted now.
    [[nodiscard]] bool admits(double cost, double bound) const noexcept { return below(cost, alpha_ * bound); }
    /// Whether it may be admitted by a larger alpha of the schedule.
    [[nodiscard]] bool may_admit(double cost, double bound) const noexcept {
        return climbs() && below(cost, highest() * bound);
    }

    /// Adds an admitted state.
    void push(entry e) {
        bytes_ += size_(e.what);
        wait(std::move(e));
    }
    /// Keeps a refused successor for a larger alpha; `move` is how its parent was reached.
    void defer(entry successor, double bound) {
        bytes_ += size_(successor.what);
        deferred_.push_back({std::move(successor), false, bound});
    }

    /// Takes the cheapest state. Nothing where it costs more than alpha times `best` by now, with `admission::best`: it
    /// is then deferred where the schedule may admit it, else dropped. *Requires* that a state waits.
    [[nodiscard]] std::optional<entry> pop(double best) {
        std::pop_heap(waiting_.begin(), waiting_.end(), later);
        auto top = std::move(waiting_.back());
        waiting_.pop_back();
        if (o_->admit == admission::best && top.cost > alpha_ * best) {
            if (climbs() && top.cost <= highest() * best)
                deferred_.push_back({std::move(top), true, 0});
            else
                release(top.what);
            return std::nullopt;
        }
        release(top.what);
        return top;
    }

    /// Takes up the next values of alpha until one admits something. `admit(entry)` gives a deferred successor its own
    /// move before it waits. Counts in `refused` the successors that no alpha admits. *Returns* whether a state waits.
    template <class Admit>
    [[nodiscard]] bool climb(double best, Admit&& admit, std::uint64_t& refused) {
        while (waiting_.empty() && climbs()) {
            alpha_ = o_->schedule[level_++];
            for (auto& d : std::exchange(deferred_, {})) {
                auto const bound = o_->admit == admission::best ? best : d.bound;
                if (d.admitted ? d.what.cost <= alpha_ * bound : admits(d.what.cost, bound)) {
                    wait(d.admitted ? std::move(d.what) : admit(std::move(d.what)));
                } else if (climbs() && d.what.cost <= highest() * bound) {
                    deferred_.push_back(std::move(d));
                } else {
                    release(d.what.what);
                    refused += !d.admitted;
                }
            }
        }
        return !waiting_.empty();
    }

    /// Drops all but the cheaper half of `options::queue` where more states wait. *Returns* how many were dropped.
    std::uint64_t shrink() {
        if (waiting_.size() <= o_->queue) return 0;
        std::sort(waiting_.begin(), waiting_.end(), [](entry const& a, entry const& b) { return later(b, a); });
        auto const kept = waiting_.begin() + static_cast<std::ptrdiff_t>(o_->queue / 2);
        auto const dropped = static_cast<std::uint64_t>(waiting_.end() - kept);
        for (auto i = kept; i != waiting_.end(); ++i) release(i->what);
        waiting_.erase(kept, waiting_.end());
        std::make_heap(waiting_.begin(), waiting_.end(), later);
        return dropped;
    }

private:
    struct deferred_entry {
        entry what;
        bool admitted; // before, under a larger bound
        double bound;
    };
    static double first_alpha(options const& o) noexcept { return o.admit == admission::first ? 1.0 : o.alpha; }
    static bool later(entry const& a, entry const& b) noexcept {
        return a.cost != b.cost ? a.cost > b.cost : a.move > b.move;
    }
    [[nodiscard]] bool climbs() const noexcept { return level_ < o_->schedule.size(); }
    [[nodiscard]] double highest() const noexcept { return o_->schedule.empty() ? o_->alpha : o_->schedule.back(); }
    void wait(entry e) {
        waiting_.push_back(std::move(e));
        std::push_heap(waiting_.begin(), waiting_.end(), later);
    }
    void release(State const& s) { bytes_ -= std::min(bytes_, size_(s)); }

    options const* o_;
    Size size_;
    std::vector<entry> waiting_; // a heap
    std::vector<deferred_entry> deferred_;
    std::size_t level_ = 0; // of the schedule: what comes next
    double alpha_;
    std::uint64_t bytes_ = 0;
};

} // namespace gsub::search
