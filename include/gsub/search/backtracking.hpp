// Backtracking search: best-first search with relaxation, which may climb by a factor alpha before it comes down.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/search/concepts.hpp>
#include <gsub/search/frontier.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gsub::search {

/// Result of a search: the best state and the statistics.
template <class State>
struct outcome {
    State best;
    statistics stats;
};

namespace detail {
template <class Key>
concept hashable = requires(Key const& k) {
    { std::hash<Key>{}(k) } -> std::convertible_to<std::size_t>;
};

/// Whether each value is above the one before.
[[nodiscard]] inline bool rises(double from, std::vector<double> const& values) noexcept {
    for (auto v : values)
        if (v > from)
            from = v;
        else
            return false;
    return true;
}

// One search: the frontier, the states seen, the moves made.
template <class P, class Observer>
class backtracking_run {
public:
    using state = typename P::state;

    backtracking_run(P& p, state start, options const& o, Observer& observe)
        : p_(p), o_(o), observe_(observe), frontier_(o, size_of{&p}), out_{start, {}} {
        stats().start_cost = stats().best_cost = p.cost(start);
        stats().history.push_back({0, stats().best_cost});
        seen_.insert(p.key(start));
        frontier_.push({stats().best_cost, root, std::move(start)});
    }

    outcome<state> run() {
        stats().why = search();
        stats().distinct = seen_.size();
        stats().seconds = std::chrono::duration<double>(clock::now() - begin_).count();
        for (auto m = best_move_; m != root; m = moves_[m].parent)
            stats().path.push_back({moves_[m].label, moves_[m].cost});
        std::reverse(stats().path.begin(), stats().path.end());
        observe_.on_stop(stats().why);
        return std::move(out_);
    }

private:
    using clock = std::chrono::steady_clock;
    using key_type = std::remove_cvref_t<decltype(std::declval<P&>().key(std::declval<state const&>()))>;
    struct size_of {
        P* problem;
        std::uint64_t operator()(state const& s) const {
            if constexpr (sized_problem<P>)
                return problem->bytes(s);
            else
                return sizeof(state) + 2 * sizeof(double);
        }
    };
    using waiting = frontier<state, size_of>;
    using entry = typename waiting::entry;
    struct move {
        std::uint32_t parent;
        std::string label;
        double cost;
    };
    static constexpr std::uint32_t root = 0xffffffffu;
    static constexpr bool looks = state_observer<Observer, state>; // the observer sees states

    [[nodiscard]] statistics& stats() noexcept { return out_.stats; }

    // The algorithm of the paper: expand the cheapest state, and admit successors that cost less than alpha times the
    // bound, until nothing waits that may be expanded.
    stop_reason search() {
        auto const admit = [&](entry e) { return admitted(e.cost, e.move, std::move(e.what)); };
        while (!frontier_.empty() || frontier_.climb(stats().best_cost, admit, stats().refused)) {
            if (auto const limit = reached_limit()) return *limit;
            auto const current = frontier_.pop(stats().best_cost);
            if (!current) continue;
            if constexpr (looks)
                observe_.on_expand(stats().expanded, current->cost, current->what);
            else
                observe_.on_expand(stats().expanded, current->cost);
            auto const bound = o_.admit == admission::best ? stats().best_cost : current->cost;
            std::vector<state> successors;
            if (auto const why = expand(*current, successors)) return *why;
            ++stats().expanded;
            auto const best_before = stats().best_cost;
            for (auto& next : successors) take(std::move(next), current->move, bound);
            if constexpr (looks) observe_.on_expanded(stats().expanded - 1, current->what);
            stats().dropped += frontier_.shrink();
            if (stats().best_cost < best_before) {
                stats().history.push_back({stats().expanded, stats().best_cost});
                observe_.on_improvement(stats().expanded, stats().best_cost);
            }
        }
        return stats().best_cost <= o_.target ? stop_reason::target : stop_reason::exhausted;
    }

    std::optional<stop_reason> reached_limit() {
        if (stats().best_cost <= o_.target) return stop_reason::target;
        if (o_.stop.stop_requested()) return stop_reason::cancelled;
        if (stats().expanded >= o_.budget.steps) return stop_reason::steps;
        if (out_of_time()) return stop_reason::time;
        std::uint64_t shared = 0;
        if constexpr (sharing_problem<P>) shared = p_.shared_bytes();
        if (frontier_.bytes() + shared > o_.budget.bytes) return stop_reason::memory;
        return std::nullopt;
    }
    [[nodiscard]] bool out_of_time() const { return clock::now() - begin_ >= o_.budget.time; }

    // Successors count once all are there: an expansion that is cut short leaves no trace, so that the same search
    // stopped by the number of steps told is the same.
    std::optional<stop_reason> expand(entry const& current, std::vector<state>& successors) {
        std::optional<stop_reason> interrupted;
        auto const timed = o_.budget.time != std::chrono::nanoseconds::max();
        try {
            p_.expand(current.what, [&](state next) {
                successors.push_back(std::move(next));
                if (o_.admit == admission::first && frontier_.below(p_.cost(successors.back()), current.cost) &&
                    !seen_.contains(p_.key(successors.back())))
                    return false;
                if (o_.stop.stop_requested())
                    interrupted = stop_reason::cancelled;
                else if (timed && out_of_time())
                    interrupted = stop_reason::time;
                return !interrupted;
            });
        } catch (failed_move const& f) {
            stats().failure = f.what();
            return stop_reason::failed;
        }
        return interrupted;
    }

    // A successor waits, is deferred to a larger alpha, or is refused.
    void take(state next, std::uint32_t parent, double bound) {
        ++stats().generated;
        auto const cost = static_cast<double>(p_.cost(next));
        auto key = p_.key(next);
        if (seen_.contains(key)) {
            ++stats().duplicates;
            if constexpr (looks) observe_.on_known(cost, next);
            return;
        }
        // A state refused now may be admitted later, from a parent that costs more; so only states that wait are
        // remembered where the bound depends on the parent.
        auto const now = frontier_.admits(cost, bound), later = !now && frontier_.may_admit(cost, bound);
        if (now || later || o_.admit == admission::best) seen_.insert(std::move(key));
        if (!now) return refuse(std::move(next), cost, parent, bound, later);
        if (cost < stats().best_cost) {
            stats().best_cost = cost;
            best_move_ = static_cast<std::uint32_t>(moves_.size());
            out_.best = next;
        }
        frontier_.push(admitted(cost, parent, std::move(next)));
    }
    void refuse(state next, double cost, std::uint32_t parent, double bound, bool later) {
        if constexpr (looks)
            observe_.on_refuse(cost, next);
        else if constexpr (!std::is_same_v<Observer, null_observer>)
            observe_.on_refuse(cost, p_.label(next));
        if (later)
            frontier_.defer({cost, parent, std::move(next)}, bound);
        else
            ++stats().refused;
    }
    // A state with a move of its own. Moves count up, so that of equal costs the state found first goes first.
    entry admitted(double cost, std::uint32_t parent, state next) {
        moves_.push_back({parent, p_.label(next), cost});
        if constexpr (looks)
            observe_.on_admit(cost, moves_.back().label, next);
        else
            observe_.on_admit(cost, moves_.back().label);
        return {cost, static_cast<std::uint32_t>(moves_.size() - 1), std::move(next)};
    }

    P& p_;
    options const& o_;
    Observer& observe_;
    clock::time_point const begin_ = clock::now();
    waiting frontier_;
    outcome<state> out_;
    std::vector<move> moves_;
    // Only whether a key is there is asked, never their order.
    std::conditional_t<hashable<key_type>, std::unordered_set<key_type>, std::set<key_type>> seen_;
    std::uint32_t best_move_ = root;
};

} // namespace detail

/// Backtracking search: expands waiting states, the cheapest first. A successor waits if it is new and its cost lies
/// below alpha times the bound (at most there, with plateau moves). The bound is the best cost, or the parent's, when
/// the parent's expansion begins. With `admission::best`, a state whose cost exceeds alpha times the best by its turn
/// is dropped. Of equal costs the state found first goes first, which keeps symmetric choices in step
/// (docs/decisions/0005-ties.md).
/// With a schedule, a state that one alpha refuses waits for the next that admits it.
/// With `admission::first` the first successor that costs less than its parent takes the parent's place.
/// *Requires* alpha >= 1, a schedule that rises from there, none with `first`, a queue of at least 2. *Complexity*
/// O(log w) a successor for w waiting states, beside the problem's own work. *Source* Jia et al., "Optimizing DNN
/// computation with relaxed graph substitutions", SysML 2019, algorithm 1.
template <problem P, class Observer = null_observer>
[[nodiscard]] auto backtracking(P& p, typename P::state start, options const& o, Observer&& observe = {})
    -> outcome<typename P::state> {
    GSUB_ASSERT(o.alpha >= 1 && o.queue >= 2, "backtracking needs alpha >= 1 and a queue of at least 2");
    GSUB_ASSERT(detail::rises(o.alpha, o.schedule), "a schedule of alpha rises");
    GSUB_ASSERT(o.admit != admission::first || o.schedule.empty(), "the first cheaper state is taken without alpha");
    return detail::backtracking_run<P, std::remove_reference_t<Observer>>{p, std::move(start), o, observe}.run();
}

namespace detail {

/// A problem made of two functions.
template <class State, class Moves, class Value>
struct function_problem {
    using state = State;
    Moves const& moves;
    Value const& value;
    double cost(State const& s) const { return static_cast<double>(value(s)); }
    State const& key(State const& s) const { return s; }
    std::string label(State const&) const { return {}; }
    template <class Emit>
    void expand(State const& s, Emit&& emit) const {
        for (auto&& next : moves(s))
            if (!emit(static_cast<State>(next))) return;
    }
};

} // namespace detail

/// Backtracking search on states that are their own keys: `backtracking(7, moves, value, {.alpha = 8})`. `moves(s)`
/// gives a range of states, `value(s)` a number >= 0. The result's `best` is a state. *Example*
/// `examples/06_search.cpp`
template <std::totally_ordered State, class Moves, class Value>
requires requires(Moves const& moves, Value const& value, State const& s) {
    moves(s).begin();
    { value(s) } -> std::convertible_to<double>;
}
[[nodiscard]] outcome<State> backtracking(State start, Moves const& moves, Value const& value, options const& o = {}) {
    detail::function_problem<State, Moves, Value> p{moves, value};
    return backtracking(p, std::move(start), o);
}

} // namespace gsub::search
