// Elementwise arithmetic, by itself over arrays of one size, stored alike, or as a part of other kernels.
#pragma once

#include <gsub/loop/schedule.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub::kernels {

/// How an array is read at the positions of a result: the element at `offset` plus each index times its stride.
struct array_view {
    std::int64_t elements = 0;               ///< of the array
    std::int64_t offset = 0;                 ///< in elements
    small_vector<std::int64_t, 6> strides{}; ///< one for each dimension of the result; 0: repeated along it

    /// A whole array of the result's dimensions, row-major.
    GSUB_LAZY [[nodiscard]] static array_view contiguous(std::span<std::int64_t const> dims);
};

/// One operation of a chain. Operands are numbered: arrays first, then the results of earlier operations.
struct elementwise_op {
    loop::scalar_op op = loop::scalar_op::add; ///< of two operands, or a function of `left` alone
    std::int32_t left = 0, right = -1;         ///< of two operands, the one that is -1 is `value`
    double value = 0;
};

/// Adds the results of a chain to its operands.
GSUB_LAZY void apply_chain(loop::expression_builder& e, std::vector<loop::value>& values,
                           std::span<elementwise_op const> chain);

/// Buffers: `arrays` inputs of `elements` elements, then the output, the result of the last operation.
/// *Requires* elements > 0, at least one operation, operands that come earlier.
GSUB_LAZY [[nodiscard]] loop::loop_nest elementwise_nest(std::int64_t elements, std::int32_t arrays,
                                                         std::span<elementwise_op const> chain, isa const& set);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/elementwise.ipp>
#endif
