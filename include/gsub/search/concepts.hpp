// What the search algorithms ask of a problem, what they are limited by, and what they tell.
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

/// Thrown by a problem's `expand` where a move itself fails: the search ends with the best state so far. Other
/// exceptions go through to the caller.
class failed_move : public std::runtime_error {
    using runtime_error::runtime_error;
};

/// What a search may spend. A search stopped by steps is the same in every run; one stopped by time or memory tells its
/// number of steps, with which it can be repeated exactly.
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

/// Against what a new state's cost is held.
enum class admission {
    best,   ///< alpha times the best cost so far
    parent, ///< alpha times the cost of the state that it comes from
    first,  ///< that cost itself, and no more successors are made once one is admitted: the search goes on from there
};

/// How a relaxed search goes.
struct options {
    double alpha = 1.05; ///< how much worse than the yardstick a state may be, at least 1; of no use to `first`
    /// Further values of alpha, each above the one before: each is taken up when nothing is left that those before it
    /// admit. So a search may go downhill first (alpha = 1) and climb later, without doing anything twice.
    std::vector<double> schedule{};
    admission admit = admission::best;
    bool plateau = false; ///< admit states of a cost equal to the bound too
    search::budget budget{};
    /// States that wait at most, at least 2; when there are more, all but the cheaper half of that number are dropped.
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

/// What a search did.
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
/// - `expand(s, emit)`: calls `emit(successor)` for each, and returns early where that says false. The order of
///   successors decides ties, so it should follow from the state alone.
/// - `label(s)`: what the move that led to the state is called.
template <class P>
concept problem = requires(P& p, typename P::state const& s) {
    { p.cost(s) } -> std::convertible_to<double>;
    { p.key(s) } -> std::totally_ordered;
    { p.label(s) } -> std::convertible_to<std::string>;
    p.expand(s, [](typename P::state) { return true; });
};

/// A problem that tells how much memory a waiting state takes.
template <class P>
concept sized_problem = problem<P> && requires(P& p, typename P::state const& s) {
    { p.bytes(s) } -> std::convertible_to<std::uint64_t>;
};

/// A problem whose states share memory: `shared_bytes()` tells how much that is by now, beside `bytes(s)` of each.
template <class P>
concept sharing_problem = sized_problem<P> && requires(P& p) {
    { p.shared_bytes() } -> std::convertible_to<std::uint64_t>;
};

/// Hears of a search's events; derive and override by name. All do nothing here, and cost nothing.
struct null_observer {
    void on_expand(std::uint64_t, double) {}      ///< number of the expansion, cost of the state
    void on_admit(double, std::string_view) {}    ///< cost and label of a successor that will wait
    void on_refuse(double, std::string_view) {}   ///< of one beyond the bound
    void on_improvement(std::uint64_t, double) {} ///< expansions so far, new best cost
    void on_stop(stop_reason) {}
};

/// An observer that looks at states: instead of the events of that name it hears `on_expand(number, cost, state)`,
/// `on_admit(cost, label, state)` and `on_refuse(cost, state)`; and `on_known(cost, state)` of a successor seen before,
/// `on_expanded(number, state)` when all successors were told. A state that waited for a larger alpha is admitted after
/// that, outside of any expansion.
template <class O, class State>
concept state_observer = requires(O& o, State const& s, std::uint64_t number, double cost, std::string_view label) {
    o.on_expand(number, cost, s);
    o.on_admit(cost, label, s);
    o.on_refuse(cost, s);
    o.on_known(cost, s);
    o.on_expanded(number, s);
};

} // namespace gsub::search
