// Elementwise arithmetic: a kernel over arrays of one size, stored alike, or a part of other kernels.
#pragma once

#include <gsub/loop/schedule.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub::kernels {

/// Strided view of an array: a position of the result reads the element at `offset` plus each index times its stride.
struct array_view {
    std::int64_t elements = 0;               ///< of the array
    std::int64_t offset = 0;                 ///< in elements
    small_vector<std::int64_t, 6> strides{}; ///< one for each dimension of the result; 0: repeated along it
    dtype element = dtype::f32;

    /// A whole array of the result's dimensions, row-major.
    GSUB_LAZY [[nodiscard]] static array_view contiguous(std::span<std::int64_t const> dims);
};

/// Gather indices: integers that choose an entry of an array for each position; negative ones count from the end.
struct chosen_entries {
    dtype integers = dtype::i64; ///< or i32
    array_view at{};             ///< the integers, over the dimensions of the kernel
    std::int64_t entries = 1;    ///< at least one
    std::int64_t stride = 1;     ///< between entries, in elements
};

/// Elementwise operation of a chain. Operands are numbered: arrays first, then the results of earlier operations.
struct elementwise_op {
    loop::scalar_op op = loop::scalar_op::add;
    std::int32_t left = 0, right = -1; ///< operands; -1: the number
    double value = 0;                  ///< the number, of a floating type
    std::int32_t third = -1;           ///< of a select: `left ? right : third`
    dtype type = dtype::f32;           ///< of the number; of a cast, what it gives
    std::int64_t integer = 0;          ///< the number, of other types
};

/// Applies an operation in an expression under construction; `value_of` gives earlier values.
template <class ValueOf>
[[nodiscard]] loop::value apply(loop::expression_builder& e, elementwise_op const& step, ValueOf&& value_of) {
    auto const operand = [&](std::int32_t v) {
        return v < 0 ? e.number(step.value, step.integer, step.type) : value_of(static_cast<std::size_t>(v));
    };
    if (step.op == loop::scalar_op::cast) return cast(operand(step.left), step.type);
    if (loop::info(step.op).operands == 1) return apply(step.op, operand(step.left));
    // In the order of the operands: terms are numbered as they are made.
    auto const left = operand(step.left);
    auto const right = operand(step.right);
    if (step.op == loop::scalar_op::select) return select(left, right, operand(step.third));
    return apply(step.op, left, right);
}
/// Result type of an operation on operands of a type.
[[nodiscard]] constexpr dtype result_type(elementwise_op const& step, dtype operand) noexcept {
    return step.op == loop::scalar_op::cast ? step.type : loop::info(step.op).truth ? dtype::boolean : operand;
}

/// Applies an epilogue: appends the results of a chain to its operands.
GSUB_LAZY void apply_epilogue(loop::expression_builder& e, std::vector<loop::value>& values,
                              std::span<elementwise_op const> ops);

/// Builds the loop nest of an elementwise kernel. Buffers: `arrays` inputs of `elements` elements, then the output, the
/// result of the last operation. *Requires* elements > 0, at least one operation, operands that come earlier.
GSUB_LAZY [[nodiscard]] loop::loop_nest elementwise_nest(std::int64_t elements, std::int32_t arrays,
                                                         std::span<elementwise_op const> ops, isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/elementwise.ipp>
#endif
