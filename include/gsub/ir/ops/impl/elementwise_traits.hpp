// Facts that families of elementwise operators share.
#pragma once

#include <gsub/ir/ops/op.hpp>

namespace gsub {

namespace detail {
/// Facts shared by elementwise operators of one operand.
struct unary_traits {
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
/// Facts shared by elementwise operators of two operands.
struct binary_traits {
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::ring;
};
} // namespace detail

} // namespace gsub
