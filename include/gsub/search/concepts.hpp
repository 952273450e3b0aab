// Search concepts: what algorithms require of a problem, their options, statistics and observers.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::search {

/// Why a search ended.
enum class stop_reason {
    exhausted, ///< nothing was left that the bound admits
    steps,     ///< the budget of expansions was spent
    time,      ///< the budget of time was spent
    memory,    ///< the budget of memory was spent
    target,    ///< a cost was found that is good enough
    cancelled, ///< the caller asked it to stop
    failed,    ///< a move threw, see `failed_move`
};

[[nodiscard]] constexpr std::string_view to_string(stop_reason r) noexcept {
    constexpr std::string_view names[] = {"exhausted", "steps", "time", "memory", "target", "cancelled", "failed"};
    return names[static_cast<std::size_t>(r)];
}

/// Exception that a problem's `expand` throws where a move itself fails: the search ends with the best state so far.
/// Other exceptions pass through to the caller.
class failed_move : public std::runtime_error {
    using runtime_error::runtime_error;
};

/// Search budget: limits of steps, time and memory. A search stopped by steps is the same in every run; one stopped by
/// time or memory reports its number of steps, with which it can be repeated exactly.
struct budget {
    std::uint64_t steps = 1000;                                      ///< states expanded
    std::chrono::nanoseconds time = std::chrono::nanoseconds::max(); ///< wall clock
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max(); ///< of states that wait, and what they share

    constexpr budget() = default;
    constexpr budget(std::uint64_t max_steps, std::chrono::nanoseconds max_time = std::chrono::nanoseconds::max(),
                     std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max())
        : steps(max_steps), time(max_time), bytes(max_bytes) {}
    /// Time alone: `{.budget = 30s}`.
    template <class Rep, class Period>
    constexpr budget(std::chrono::duration<Rep, Period> max_time)
        : steps(std::numeric_limits<std::uint64_t>::max()),
          time(std::chrono::duration_cast<std::chrono::nanoseconds>(max_time)) {}
};

/// Admission: the bound that a new state's cost must stay below.
enum class admission {
    best,   ///< alpha times the best cost so far
    parent, ///< alpha times the cost of the state that it comes from
    first,  ///< the parent's cost itself; the first successor admitted ends the expansion: the search goes on from it
};

/// Options of a relaxed search.
struct options {
    double alpha = 1.05; ///< how much worse than the bound a state may be, at least 1; of no use to `first`
    /// Further values of alpha, in ascending order: the search takes up the next when nothing is left that the earlier
    /// ones admit. So it may go downhill first (alpha = 1) and climb later, without doing anything twice.
    std::vector<double> schedule{};
    admission admit = admission::best;
    bool plateau = false; ///< admit states of a cost equal to the bound too
    search::budget budget{};
    /// Capacity of the queue of waiting states, at least 2; beyond it, all but the cheapest `queue / 2` are dropped.
    std::size_t queue = std::numeric_limits<std::size_t>::max();
    double target = -std::numeric_limits<double>::infinity(); ///< stop when a cost at or below it is found
    std::stop_token stop{};
};

/// A move on the way to the best state.
struct step {
    std::string label; ///< what the problem calls the move
    double cost = 0;   ///< of the state that it leads to
    friend bool operator==(step const&, step const&) = default;
};

/// The best cost at a point of the search.
struct improvement {
    std::uint64_t steps = 0; ///< states expanded until then
    double cost = 0;
    friend bool operator==(improvement const&, improvement const&) = default;
};

/// Statistics of a search.
struct statistics {
    double start_cost = 0, best_cost = 0;
    std::uint64_t expanded = 0;   ///< states whose successors were made
    std::uint64_t generated = 0;  ///< successors made
    std::uint64_t duplicates = 0; ///< of these, seen before
    std::uint64_t refused = 0;    ///< of these, beyond the bound, that of the last alpha
    std::uint64_t dropped = 0;  ///< states that no longer fitted in the queue; with any, the search was not exhaustive
    std::uint64_t distinct = 0; ///< different states seen
    stop_reason why = stop_reason::exhausted;
    std::string failure; ///< of `failed`: what the move threw
    double seconds = 0;
    std::vector<step> path;           ///< moves from the start to the best state
    std::vector<improvement> history; ///< the best cost over time
};

/// A search problem.
/// - `state`: a state that waits for its expansion; may be a mere recipe for it.
/// - `cost(s)`: a number >= 0, the less the better. `key(s)`: equal for states that are the same.
/// - `expand(s, emit)`: calls `emit(successor)` for each successor, and returns early where that gives false. The order
///   of successors decides ties, so it should follow from the state alone.
/// - `label(s)`: the name of the move that led to the state.
template <class P>
concept problem = requires(P& p, typename P::state const& s) {
    { p.cost(s) } -> std::convertible_to<double>;
    { p.key(s) } -> std::totally_ordered;
    { p.label(s) } -> std::convertible_to<std::string>;
    p.expand(s, [](typename P::state) { return true; });
};

/// A problem that reports the memory of a waiting state.
template <class P>
concept sized_problem = problem<P> && requires(P& p, typename P::state const& s) {
    { p.bytes(s) } -> std::convertible_to<std::uint64_t>;
};

/// A problem whose states share memory: `shared_bytes()` gives the present amount, beside `bytes(s)` of each.
template <class P>
concept sharing_problem = sized_problem<P> && requires(P& p) {
    { p.shared_bytes() } -> std::convertible_to<std::uint64_t>;
};

/// Search observer that ignores every event, at no cost; derive from it and hide members by name.
struct null_observer {
    void on_expand(std::uint64_t, double) {}      ///< number of the expansion, cost of the state
    void on_admit(double, std::string_view) {}    ///< cost and label of a successor that will wait
    void on_refuse(double, std::string_view) {}   ///< the same of one beyond the bound
    void on_improvement(std::uint64_t, double) {} ///< expansions so far, new best cost
    void on_stop(stop_reason) {}
};

/// Search observer that sees states: `on_expand(number, cost, state)`, `on_admit(cost, label, state)` and
/// `on_refuse(cost, state)` replace the events of these names; `on_known(cost, state)` tells of a successor seen
/// before, `on_expanded(number, state)` comes after all successors. A state that waited for a larger alpha is admitted
/// later, outside of any expansion.
template <class O, class State>
concept state_observer = requires(O& o, State const& s, std::uint64_t number, double cost, std::string_view label) {
    o.on_expand(number, cost, s);
    o.on_admit(cost, label, s);
    o.on_refuse(cost, s);
    o.on_known(cost, s);
    o.on_expanded(number, s);
};

} // namespace gsub::search
