// Process scorer: scores points in processes of their own, which may crash or hang without harm to the search.
#pragma once

#include <gsub/tune/remote_scorer.hpp>

#include <memory>
#include <utility>

namespace gsub::tune {

/// Makes worker processes, which are copies of this one by `fork` and score points by the objective. A worker that
/// dies, or that does not answer in time and is killed for it, is replaced by a new copy of the calling process; its
/// points go to others. *Requires* a timeout above 0 and attempts >= 1. *Errors* throws `error` (`environment`) where
/// the system gives no process. See `process_scorer`.
GSUB_LAZY [[nodiscard]] std::unique_ptr<remote_workers> fork_workers(remote_objective objective,
                                                                     remote_options const& options = {});

/// Process scorer: a `search::scorer` whose workers are processes. The objective is copied into them as it is when they
/// begin: what it changes on a worker stays there. It must not wait for other threads, nor for locks that they hold:
/// only the thread that forks lives on in a copy, so make the scorer, and search, while no other threads run or none
/// that the objective depends on.
///
/// A point that loses its worker, or keeps it beyond the timeout, is given to another, until all attempts are spent:
/// then its score is +infinity, and it is counted. Workers ignore SIGINT, so that Ctrl-C is for this process alone to
/// answer, and end by themselves when this process does. They are gone when the scorer is destroyed: those that are
/// busy then have a tenth of a second before they are killed. Not for several threads at once. *Errors* as
/// `fork_workers` and `remote_workers::score`. *Complexity* two messages a point, some 20 us. *Example*
/// `examples/16_workers.cpp`
template <byte_point Point>
class process_scorer : public remote_scorer<Point> {
public:
    /// `scored` gets each score as it arrives.
    template <class Objective>
    requires std::is_invocable_r_v<double, Objective const&, Point const&>
    explicit process_scorer(Objective objective, remote_options const& options = {},
                            typename remote_scorer<Point>::score_callback scored = {})
        : remote_scorer<Point>(fork_workers(objective_of_bytes<Point>(std::move(objective)), options),
                               std::move(scored)) {}
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/process_scorer.ipp>
#endif
