// Scorer concept: who computes the scores of a batch of points; its model for threads.
#pragma once

#include <gsub/core/executor.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace gsub::search {

/// Scorer: scores batches of points by one objective, on workers that are threads, processes or machines.
/// - `workers()`: how many points are scored side by side, at least 1.
/// - `score(points, scores, interrupted)`: writes the score of the i-th point to `scores[i]`, and returns how many from
///   the front on have one: all, unless `interrupted()`, which any thread may call, has said true. Points are given by
///   address, so that none is copied. What the objective throws goes through.
/// Scores depend on the points alone, so that a search is the same for any scorer and any number of workers.
/// *Models* `thread_scorer`, `tune::process_scorer`, `tune::mpi_scorer`
template <class S, class Point>
concept scorer = requires(S& s, S const& c, std::span<Point const* const> points, std::span<double> scores,
                          function_ref<bool()> interrupted) {
    { c.workers() } -> std::convertible_to<std::size_t>;
    { s.score(points, scores, interrupted) } -> std::same_as<std::size_t>;
};

/// Thread scorer: scores points on the threads of an executor, or on the calling thread where there is none.
template <class Objective>
class thread_scorer {
public:
    /// The executor must outlive it. Its threads call the objective at the same time.
    explicit thread_scorer(Objective objective, executor* threads = nullptr)
        : objective_(std::move(objective)), threads_(threads) {}

    [[nodiscard]] std::size_t workers() const noexcept { return threads_ ? threads_->concurrency() : 1; }
    /// As `scorer` says. *Requires* as many scores as points. *Complexity* a call of the objective for each point.
    template <class Point>
    requires std::is_invocable_r_v<double, Objective const&, Point const&>
    [[nodiscard]] std::size_t score(std::span<Point const* const> points, std::span<double> scores,
                                    function_ref<bool()> interrupted) const {
        std::vector<char> done(points.size(), 0);
        auto const one = [&](std::size_t i) {
            if (interrupted()) return;
            scores[i] = static_cast<double>(objective_(*points[i]));
            done[i] = 1;
        };
        inline_executor here;
        (threads_ ? *threads_ : static_cast<executor&>(here)).parallel_for(points.size(), one);
        return static_cast<std::size_t>(std::find(done.begin(), done.end(), 0) - done.begin());
    }

private:
    Objective objective_;
    executor* threads_;
};

} // namespace gsub::search
