// Remote scorer: scores points on workers that share no memory: what processes and ranks of MPI have in common.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/interface.hpp>
#include <gsub/tune/point_bytes.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gsub::tune {

/// Options of remote workers.
struct remote_options {
    /// Processes; 0: as many as the machine has threads. Of no use to MPI, where `mpirun` says it.
    std::size_t workers = 0;
    /// How long a worker may take for a point before it is given to another.
    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
    /// How many workers may be lost by a point, or be late with it, before its score is +infinity; at least 1.
    std::size_t attempts = 3;
};

/// Statistics of remote workers.
struct remote_statistics {
    std::uint64_t scored = 0;    ///< scores that workers gave, each point counted once
    std::uint64_t lost = 0;      ///< workers that died
    std::uint64_t late = 0;      ///< times that a worker did not answer in time
    std::uint64_t given_up = 0;  ///< points whose score is +infinity since all attempts failed
    std::uint64_t discarded = 0; ///< scores that came too late to be of use
    friend bool operator==(remote_statistics const&, remote_statistics const&) = default;
};

/// Remote objective: the score of a point that is given as bytes. Runs on a worker.
using remote_objective = std::function<double(std::span<std::byte const>)>;

/// Remote workers interface: scores points that are given as bytes.
class remote_workers : public interface {
public:
    /// How many points are scored side by side, at least 1.
    [[nodiscard]] virtual std::size_t workers() const noexcept = 0;
    /// As `search::scorer` says. `arrived(i)` is called on the calling thread when the i-th point has got its score.
    /// *Errors* what the objective threw, with its text: the code of an `error`, `usage` of anything else;
    /// `environment` where no worker is left that answers.
    virtual std::size_t score(std::span<std::vector<std::byte> const> points, std::span<double> scores,
                              function_ref<bool()> interrupted, function_ref<void(std::size_t)> arrived) = 0;
    [[nodiscard]] virtual remote_statistics statistics() const noexcept = 0;
};

/// Makes an objective of points one of bytes.
template <byte_point Point, class Objective>
[[nodiscard]] remote_objective objective_of_bytes(Objective objective) {
    return [objective = std::move(objective)](std::span<std::byte const> bytes) {
        return static_cast<double>(objective(point_bytes<Point>::read(bytes)));
    };
}

/// Remote scorer: a `search::scorer` of points that cross to remote workers as bytes. It gives each score to a callback
/// as it arrives, on the calling thread and in no certain order, before the batch is complete: what the callback has
/// written outlives the search, however it ends.
template <byte_point Point>
class remote_scorer {
public:
    using score_callback = std::function<void(Point const&, double)>;
    explicit remote_scorer(std::unique_ptr<remote_workers> workers, score_callback scored = {})
        : workers_(std::move(workers)), scored_(std::move(scored)) {}

    [[nodiscard]] std::size_t workers() const noexcept { return workers_->workers(); }
    [[nodiscard]] remote_statistics statistics() const noexcept { return workers_->statistics(); }
    /// As `search::scorer` says. *Requires* as many scores as points. *Errors* as `remote_workers::score`.
    [[nodiscard]] std::size_t score(std::span<Point const* const> points, std::span<double> scores,
                                    function_ref<bool()> interrupted) {
        std::vector<std::vector<std::byte>> bytes(points.size());
        for (std::size_t i = 0; i < points.size(); ++i) point_bytes<Point>::append(*points[i], bytes[i]);
        return workers_->score(bytes, scores, interrupted, [&](std::size_t i) {
            if (scored_) scored_(*points[i], scores[i]);
        });
    }

private:
    std::unique_ptr<remote_workers> workers_;
    score_callback scored_;
};

} // namespace gsub::tune
