// Facts that families of operators share.
#pragma once

#include <gsub/ir/ops/op.hpp>

namespace gsub {

namespace detail {
/// Facts shared by elementwise operators of one operand.
struct unary_traits {
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::elementwise;
};
/// Facts shared by unary operators on truth values, and by those on numbers that need a ring, a field or an order.
struct logical_unary_traits : unary_traits {
    static constexpr auto needs = scalar_needs::nothing;
};
struct ring_unary_traits : unary_traits {
    static constexpr auto needs = scalar_needs::ring;
};
struct field_unary_traits : unary_traits {
    static constexpr auto needs = scalar_needs::field;
};
struct ordered_unary_traits : unary_traits {
    static constexpr auto needs = scalar_needs::ordered;
};
/// Facts shared by elementwise operators of two operands.
struct binary_traits {
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::ring;
};
/// Facts shared by quotients.
struct quotient_traits : binary_traits {
    static constexpr auto needs = scalar_needs::field;
};
/// Facts shared by binary operators whose operands may change places.
struct commutative_traits : binary_traits {
    static constexpr bool commutative = true;
};
/// Facts shared by products of matrices and tensors.
struct product_traits {
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ring;
};
/// Facts shared by operators that move elements; those whose settings may be operands take more of them.
struct injective_traits {
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = op_category::injective;
};
/// Facts shared by operators whose result is their operand's memory.
struct view_traits : injective_traits {
    static constexpr bool aliasing_view = true;
};
/// Facts shared by operators that stand for their operand.
struct identity_traits : view_traits {
    static constexpr auto layouts = layout_policy::propagates_first;
};
} // namespace detail

} // namespace gsub
