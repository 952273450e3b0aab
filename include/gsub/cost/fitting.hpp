// Fitting: coefficients of a linear score from measured kernels, by non-negative least squares.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/linear_score.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace gsub::cost {

/// Solution of a non-negative least-squares problem.
struct non_negative_solution {
    std::vector<double> x;      ///< of each column, at least 0
    double residual = 0;        ///< Euclidean norm of `a x - b`
    std::size_t iterations = 0; ///< columns that entered
};

/// Non-negative least squares: the x >= 0 for which |a x - b| is least. `a` has b.size() rows of `columns` numbers, row
/// by row. Of columns that depend on each other as few take part as are needed; the solution is the same for the same
/// problem. *Requires* finite numbers, at least one column. *Complexity* O(rows columns^2) an iteration, mostly as many
/// as columns, 10 times as many at most. *Source* Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23:
/// an active set, here with a pivoted QR for its problems without bounds.
[[nodiscard]] non_negative_solution non_negative_least_squares(std::span<double const> a, std::span<double const> b,
                                                               std::size_t columns);

/// Fitted score, and how far it is from what it was fitted to.
struct linear_fit {
    linear_score score;
    double error = 0; ///< root of the mean square of predicted / measured - 1
    std::size_t kernels = 0;
};

/// Fits a linear score: least squares of the relative errors of its cycles. A feature that no sample has keeps the
/// coefficient of `prior`, as that of waking threads where one thread ran all. *Errors* `invalid_input` naming the
/// sample whose time is not above 0 or whose features are negative or not finite; `usage` where there are none.
[[nodiscard]] result<linear_fit> fit_linear_score(std::span<kernel_sample const> samples,
                                                  linear_score const& prior = {});

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/fitting.ipp>
#endif
