// Elementwise arithmetic over arrays of one size, stored alike.
#pragma once

#include <gsub/codegen/isa.hpp>
#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <span>

namespace gsub::codegen {

/// One operation of a chain. Operands are numbered: arrays first, then the results of earlier operations.
struct elementwise_op {
    loop::scalar_op op = loop::scalar_op::add; ///< add, subtract, multiply, divide, maximum, minimum
    std::int32_t left = 0, right = -1;         ///< right -1: `value`
    double value = 0;
};

/// Buffers: `arrays` inputs of `elements` elements, then the output, the result of the last operation.
/// *Requires* elements > 0, at least one operation, operands that come earlier.
[[nodiscard]] loop::loop_nest elementwise_nest(std::int64_t elements, std::int32_t arrays,
                                               std::span<elementwise_op const> chain, isa const& set);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/elementwise.ipp>
#endif
