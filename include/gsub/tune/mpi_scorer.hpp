// MPI scorer: scores points on the ranks of an MPI job. In the component gsub::mpi alone.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/tune/remote_scorer.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace gsub::tune {

namespace detail {
struct mpi_job; // what needs MPI's header
} // namespace detail

/// MPI session: begins MPI where the program has not, and then ends it with the scope. Rank 0 searches, the others
/// score what it asks. For one thread, one session at a time.
///
/// Sessions of other ranks end after that of rank 0. Where a rank still hangs then, the job is aborted with exit code
/// 5, since MPI has no other end for it: have used by then what the search has found.
class mpi_session {
public:
    /// *Errors* throws `error` (`environment`) where MPI has ended before.
    mpi_session();
    mpi_session(mpi_session const&) = delete;
    mpi_session& operator=(mpi_session const&) = delete;
    ~mpi_session();

    /// Number of this process, from 0.
    [[nodiscard]] int rank() const noexcept { return rank_; }
    /// How many processes the job has.
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Scores points by the objective for the scorer that rank 0 makes, until that is destroyed. *Requires* a rank
    /// other than 0.
    template <byte_point Point, class Objective>
    requires std::is_invocable_r_v<double, Objective const&, Point const&>
    void serve(Objective objective) { serve_bytes(objective_of_bytes<Point>(std::move(objective))); }
    void serve_bytes(remote_objective const& objective);

    /// The ranks as workers: see `mpi_scorer`. *Requires* rank 0, no other workers of this session, a timeout above 0
    /// and attempts >= 1.
    [[nodiscard]] std::unique_ptr<remote_workers> workers(remote_objective objective,
                                                          remote_options const& options = {});

private:
    std::unique_ptr<detail::mpi_job> job_;
    int rank_ = 0, size_ = 1;
};

/// MPI scorer: a `search::scorer` whose workers are the other ranks of a job, each of which serves with the same
/// objective; a job of one rank scores itself. A rank that does not answer in time gets no more points until it does,
/// and what it has is given to others; a point with which all attempts were late gets +infinity, and is counted. A rank
/// that dies ends the job: that is `mpirun`'s doing, and what the callback has written is kept. Not for several threads
/// at once. The session must outlive it; its destructor waits for ranks, no longer than the timeout
/// or, where that is less, a second. *Errors* as
/// `remote_workers::score`: `environment` where all ranks are late, for a point of 2 GiB `usage`. *Example*
/// `examples/16_workers.cpp`
template <byte_point Point>
class mpi_scorer : public remote_scorer<Point> {
public:
    /// `scored` gets each score as it arrives.
    template <class Objective>
    requires std::is_invocable_r_v<double, Objective const&, Point const&>
    explicit mpi_scorer(mpi_session& session, Objective objective, remote_options const& options = {},
                        typename remote_scorer<Point>::score_callback scored = {})
        : remote_scorer<Point>(session.workers(objective_of_bytes<Point>(std::move(objective)), options),
                               std::move(scored)) {}
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/mpi_scorer.ipp>
#endif
