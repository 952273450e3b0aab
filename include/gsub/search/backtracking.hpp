// Backtracking search: best-first search with relaxation, which may climb by a factor alpha before it comes down.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/search/concepts.hpp>

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
    using state = typename P::state;
    using key_type = std::remove_cvref_t<decltype(p.key(start))>;
    using clock = std::chrono::steady_clock;
    struct entry {
        double cost;
        std::uint32_t move; // in `moves`: how it was reached; counts up, so that of equal costs the first goes first
        state what;
    };
    struct move {
        std::uint32_t parent;
        std::string label;
        double cost;
    };
    struct deferred_entry {
        entry what;    // `move`: how its parent was reached, where it has not been admitted yet
        bool admitted; // before, under a larger bound
        double bound;
    };
    constexpr std::uint32_t root = 0xffffffffu;
    constexpr bool looks = state_observer<std::remove_cvref_t<Observer>, state>;
    auto const later = [](entry const& a, entry const& b) {
        return a.cost != b.cost ? a.cost > b.cost : a.move > b.move;
    };
    auto const size_of = [&](state const& s) -> std::uint64_t {
        if constexpr (sized_problem<P>)
            return p.bytes(s);
        else
            return sizeof(entry);
    };

    auto const shared_bytes = [&]() -> std::uint64_t {
        if constexpr (sharing_problem<P>)
            return p.shared_bytes();
        else
            return 0;
    };

    auto const begin = clock::now();
    auto const timed = o.budget.time != std::chrono::nanoseconds::max();
    outcome<state> out{start, {}};
    auto& stats = out.stats;
    std::vector<move> moves;
    // Only whether a key is there is asked, never their order.
    std::conditional_t<detail::hashable<key_type>, std::unordered_set<key_type>, std::set<key_type>> seen;
    std::vector<entry> waiting;           // a heap, the cheapest on top
    std::vector<deferred_entry> deferred; // what a larger alpha of the schedule may admit
    std::size_t level = 0;                // of the schedule: what comes next
    auto const takes_first = o.admit == admission::first;
    auto alpha = takes_first ? 1.0 : o.alpha;
    auto const highest = o.schedule.empty() ? o.alpha : o.schedule.back();
    auto const below = [&](double cost, double bound) { return o.plateau ? cost <= bound : cost < bound; };
    std::uint64_t waiting_bytes = size_of(start);
    auto best_move = root;
    stats.start_cost = stats.best_cost = p.cost(start);
    stats.history.push_back({0, stats.best_cost});
    seen.insert(p.key(start));
    waiting.push_back({stats.best_cost, root, std::move(start)});

    auto const wait = [&](entry e) {
        waiting.push_back(std::move(e));
        std::push_heap(waiting.begin(), waiting.end(), later);
    };
    auto const admit = [&](double cost, std::uint32_t parent, state&& next) {
        moves.push_back({parent, p.label(next), cost});
        if constexpr (looks)
            observe.on_admit(cost, moves.back().label, next);
        else
            observe.on_admit(cost, moves.back().label);
        wait({cost, static_cast<std::uint32_t>(moves.size() - 1), std::move(next)});
    };
    // Takes up the next values of alpha until one admits something.
    auto const climb = [&] {
        while (waiting.empty() && level < o.schedule.size()) {
            alpha = o.schedule[level++];
            auto open = std::exchange(deferred, {});
            for (auto& l : open) {
                auto const bound = o.admit == admission::best ? stats.best_cost : l.bound;
                if (l.admitted ? l.what.cost <= alpha * bound : below(l.what.cost, alpha * bound)) {
                    if (l.admitted)
                        wait(std::move(l.what));
                    else
                        admit(l.what.cost, l.what.move, std::move(l.what.what));
                } else if (l.what.cost <= highest * bound && level < o.schedule.size()) {
                    deferred.push_back(std::move(l));
                } else {
                    waiting_bytes -= std::min(waiting_bytes, size_of(l.what.what));
                    stats.refused += !l.admitted;
                }
            }
        }
        return !waiting.empty();
    };
    // The cheaper half of what may wait stays.
    auto const shrink = [&] {
        std::sort(waiting.begin(), waiting.end(), [&](entry const& a, entry const& b) { return later(b, a); });
        for (auto i = o.queue / 2; i < waiting.size(); ++i)
            waiting_bytes -= std::min(waiting_bytes, size_of(waiting[i].what)), ++stats.dropped;
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(o.queue / 2), waiting.end());
        std::make_heap(waiting.begin(), waiting.end(), later);
    };

    stats.why = [&] {
        while (!waiting.empty() || climb()) {
            if (stats.best_cost <= o.target) return stop_reason::target;
            if (o.stop.stop_requested()) return stop_reason::cancelled;
            if (stats.expanded >= o.budget.steps) return stop_reason::steps;
            if (clock::now() - begin >= o.budget.time) return stop_reason::time;
            if (waiting_bytes + shared_bytes() > o.budget.bytes) return stop_reason::memory;
            std::pop_heap(waiting.begin(), waiting.end(), later);
            auto current = std::move(waiting.back());
            waiting.pop_back();
            if (o.admit == admission::best && current.cost > alpha * stats.best_cost) {
                if (level < o.schedule.size() && current.cost <= highest * stats.best_cost)
                    deferred.push_back({std::move(current), true, 0});
                else
                    waiting_bytes -= std::min(waiting_bytes, size_of(current.what));
                continue;
            }
            waiting_bytes -= std::min(waiting_bytes, size_of(current.what));
            if constexpr (looks)
                observe.on_expand(stats.expanded, current.cost, current.what);
            else
                observe.on_expand(stats.expanded, current.cost);
            auto const bound = o.admit == admission::best ? stats.best_cost : current.cost;
            // Successors count once all are there: an expansion that is cut short leaves no trace, so that the same
            // search stopped by the number of steps told is the same.
            std::vector<state> successors;
            auto interrupted = std::optional<stop_reason>{};
            try {
                p.expand(current.what, [&](state next) {
                    successors.push_back(std::move(next));
                    if (takes_first && below(p.cost(successors.back()), current.cost) &&
                        !seen.contains(p.key(successors.back())))
                        return false;
                    if (o.stop.stop_requested())
                        interrupted = stop_reason::cancelled;
                    else if (timed && clock::now() - begin >= o.budget.time)
                        interrupted = stop_reason::time;
                    return !interrupted;
                });
            } catch (failed_move const& f) {
                stats.failure = f.what();
                return stop_reason::failed;
            }
            if (interrupted) return *interrupted;
            ++stats.expanded;
            auto improved = false;
            for (auto& next : successors) {
                ++stats.generated;
                auto const cost = static_cast<double>(p.cost(next));
                auto key = p.key(next);
                if (seen.contains(key)) {
                    ++stats.duplicates;
                    if constexpr (looks) observe.on_known(cost, next);
                    continue;
                }
                // A state refused now may be admitted later, from a parent that costs more; so only states that wait
                // are remembered where the bound depends on the parent.
                auto const admitted = below(cost, alpha * bound);
                auto const postponed = !admitted && level < o.schedule.size() && below(cost, highest * bound);
                if (admitted || postponed || o.admit == admission::best) seen.insert(std::move(key));
                if (!admitted) {
                    if constexpr (looks)
                        observe.on_refuse(cost, next);
                    else if constexpr (!std::is_same_v<std::remove_cvref_t<Observer>, null_observer>)
                        observe.on_refuse(cost, p.label(next));
                    if (postponed) {
                        waiting_bytes += size_of(next);
                        deferred.push_back({{cost, current.move, std::move(next)}, false, bound});
                    } else {
                        ++stats.refused;
                    }
                    continue;
                }
                if (cost < stats.best_cost) {
                    stats.best_cost = cost;
                    best_move = static_cast<std::uint32_t>(moves.size());
                    out.best = next;
                    improved = true;
                }
                waiting_bytes += size_of(next);
                admit(cost, current.move, std::move(next));
            }
            if constexpr (looks) observe.on_expanded(stats.expanded - 1, current.what);
            if (waiting.size() > o.queue) shrink();
            if (improved) {
                stats.history.push_back({stats.expanded, stats.best_cost});
                observe.on_improvement(stats.expanded, stats.best_cost);
            }
        }
        return stats.best_cost <= o.target ? stop_reason::target : stop_reason::exhausted;
    }();
    stats.distinct = seen.size();
    stats.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    for (auto m = best_move; m != root; m = moves[m].parent) stats.path.push_back({moves[m].label, moves[m].cost});
    std::reverse(stats.path.begin(), stats.path.end());
    observe.on_stop(stats.why);
    return out;
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
