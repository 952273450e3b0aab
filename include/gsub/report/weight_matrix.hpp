// Weight matrices: weights as people read them, a convolution's as a matrix of its kernels.
#pragma once

#include <gsub/ir/types/tensor.hpp>
#include <gsub/optimize/rewrite_weights.hpp>

#include <cstddef>
#include <string>

namespace gsub::report {

/// Most rows and columns that are printed; of longer ones the first and the last half are, with `...` between them.
struct matrix_limits {
    std::size_t kernels = 4;  ///< of a matrix of kernels
    std::size_t taps = 7;     ///< of one kernel
    std::size_t elements = 8; ///< of a matrix of numbers
};

/// Prints a weight with one indented line a row. That of a convolution, `[O, I, taps...]`, is a matrix of kernels: a
/// row for each output channel, a column for each input channel. Others are matrices or rows of numbers.
[[nodiscard]] std::string weight_matrix(tensor const& weight, matrix_limits const& limits = {});

/// Kernels of a convolution's weight by kind.
struct kernel_counts {
    std::size_t all = 0;      ///< 0 for a weight with less than three dimensions
    std::size_t zero = 0;     ///< zero everywhere
    std::size_t identity = 0; ///< 1 in the middle of odd sizes, else 0: gives the channel as it is
};
[[nodiscard]] kernel_counts count_kernels(tensor const& weight);

/// Text of a rewrite's weights: what was read, what was built, each with its formula and its matrix.
[[nodiscard]] std::string to_text(rewrite_weights const& weights, matrix_limits const& limits = {});

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/weight_matrix.ipp>
#endif
