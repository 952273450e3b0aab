// Elementwise operators on truth values, and those that give them: comparisons and tests.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>

namespace gsub::ops {
struct equal {};            ///< a = b
struct less {};             ///< a < b
struct less_or_equal {};    ///< a <= b
struct greater {};          ///< a > b
struct greater_or_equal {}; ///< a >= b
struct logical_not {};      ///< not a
struct logical_and {};      ///< a and b
struct logical_or {};       ///< a or b
struct logical_xor {};      ///< either a or b
struct is_nan {};           ///< whether x is no number
struct is_inf {};           ///< whether x is infinite, of either sign or of one
struct where {};            ///< a where the condition holds, else b
} // namespace gsub::ops

namespace gsub {

namespace detail {
/// Facts shared by comparisons. A comparison with NaN is false.
struct comparison_traits : binary_traits {
    static constexpr auto needs = scalar_needs::ordered;
};
/// Facts shared by binary operators on truth values.
struct logical_traits : commutative_traits {
    static constexpr auto needs = scalar_needs::nothing;
};

/// A comparison: `lower`, `same` and `higher` tell for which order of two numbers it holds.
void infer_comparison(infer_context& cx, bool lower, bool same, bool higher);
/// An operator on truth values whose result for a pair of them is the bit `2 * a + b` of `table`.
void infer_logical(infer_context& cx, unsigned table);

template <bool Lower, bool Same, bool Higher>
struct comparison_shape {
    static constexpr bool lower = Lower, same = Same, higher = Higher;
    static void infer(infer_context& cx) { infer_comparison(cx, Lower, Same, Higher); }
};
template <unsigned Table>
struct logical_shape {
    static constexpr unsigned table = Table;
    static void infer(infer_context& cx) { infer_logical(cx, Table); }
};
} // namespace detail

template <>
struct op_traits<ops::equal> : detail::commutative_traits {
    static constexpr std::string_view name = "Equal";
};
template <>
struct op_traits<ops::less> : detail::comparison_traits {
    static constexpr std::string_view name = "Less";
};
template <>
struct op_traits<ops::less_or_equal> : detail::comparison_traits {
    static constexpr std::string_view name = "LessOrEqual";
};
template <>
struct op_traits<ops::greater> : detail::comparison_traits {
    static constexpr std::string_view name = "Greater";
};
template <>
struct op_traits<ops::greater_or_equal> : detail::comparison_traits {
    static constexpr std::string_view name = "GreaterOrEqual";
};
template <>
struct op_traits<ops::logical_not> : detail::logical_unary_traits {
    static constexpr std::string_view name = "Not";
};
template <>
struct op_traits<ops::logical_and> : detail::logical_traits {
    static constexpr std::string_view name = "And";
};
template <>
struct op_traits<ops::logical_or> : detail::logical_traits {
    static constexpr std::string_view name = "Or";
};
template <>
struct op_traits<ops::logical_xor> : detail::logical_traits {
    static constexpr std::string_view name = "Xor";
};
template <>
struct op_traits<ops::is_nan> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "IsNaN";
};
template <>
struct op_traits<ops::is_inf> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "IsInf";
    struct attributes {
        bool negative = true, positive = true; ///< which of the two counts
        static constexpr field<attributes> fields[] = {{"detect_negative", &attributes::negative},
                                                       {"detect_positive", &attributes::positive}};
    };
};
template <>
struct op_traits<ops::where> {
    static constexpr std::string_view name = "Where";
    static constexpr int min_inputs = 3, max_inputs = 3; ///< condition, a, b
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::nothing;
};

template <>
struct infer_shape<ops::equal> : detail::comparison_shape<false, true, false> {};
template <>
struct infer_shape<ops::less> : detail::comparison_shape<true, false, false> {};
template <>
struct infer_shape<ops::less_or_equal> : detail::comparison_shape<true, true, false> {};
template <>
struct infer_shape<ops::greater> : detail::comparison_shape<false, false, true> {};
template <>
struct infer_shape<ops::greater_or_equal> : detail::comparison_shape<false, true, true> {};
template <>
struct infer_shape<ops::logical_not> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::logical_and> : detail::logical_shape<0b1000> {};
template <>
struct infer_shape<ops::logical_or> : detail::logical_shape<0b1110> {};
template <>
struct infer_shape<ops::logical_xor> : detail::logical_shape<0b0110> {};
template <>
struct infer_shape<ops::is_nan> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::is_inf> : infer_shape<ops::is_nan> {};
template <>
struct infer_shape<ops::where> {
    static void infer(infer_context& cx);
};

/// The operators of this header.
using logic_ops =
    op_set<ops::equal, ops::less, ops::less_or_equal, ops::greater, ops::greater_or_equal, ops::logical_not,
           ops::logical_and, ops::logical_or, ops::logical_xor, ops::is_nan, ops::is_inf, ops::where>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_logic.ipp>
#endif
