// Row reduction: elementwise arithmetic and reductions along rows in one kernel: softmax, normalisations, means,
// broadcasts, transposed or strided operands.
#pragma once

#include <gsub/kernels/elementwise.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <vector>

namespace gsub::kernels {

/// Step of a row reduction: an elementwise operation on earlier values, or a reduction of one along the row.
enum class reduction_step : std::uint8_t { elementwise, sum, maximum };

struct row_reduction_op {
    reduction_step step = reduction_step::elementwise;
    elementwise_op what{}; ///< of a reduction: `left` alone
};

/// Result of a row reduction that is stored, row-major: rows, or one element a row.
struct row_reduction_result {
    std::int32_t value = 0;
    bool whole = true; ///< false: one element a row, of a reduction or what depends on one
    /// Strides of rows that are stored in another order, one for each dimension.
    small_vector<std::int64_t, 6> strides{};
};

/// Rows that integers choose: an array of which each row is read in an entry of its own; its view shows the first one.
struct chosen_rows {
    std::int32_t array = 0; ///< its number
    chosen_entries by{};    ///< one integer a row
};

/// Shape of a row reduction. Values are numbered: arrays first, then the results of the operations. A reduction has one
/// element a row, as has what depends on such values and numbers alone. Vectors lie along the row, or along the
/// dimension before it where arrays and results are contiguous there: each lane is a row (softmax along channels).
struct row_reduction_shape {
    std::vector<std::int64_t> dims{}; ///< of the result, at least one; the last is the row
    std::vector<array_view> arrays{};
    std::vector<row_reduction_op> ops{};
    std::vector<row_reduction_result> results{};
    std::vector<chosen_rows> chosen{};
};

/// Builds the loop nest of a row reduction. Buffers: the arrays, flat; the integers of each choice; the results; with
/// choices, an i32 that becomes 1 where an integer is out of range. Rows that cost more to compute twice than to read
/// again are kept in the workspace. *Requires* positive dims, a stride for each, operands that come earlier, at least
/// one result, and all results contiguous along the same one of the last two dimensions, which without a reduction is
/// the last, as it is where rows are chosen.
GSUB_LAZY [[nodiscard]] loop::fused_nest row_reduction_nest(row_reduction_shape p, isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/row_reduction.ipp>
#include <gsub/kernels/impl/row_values.ipp>
#endif
