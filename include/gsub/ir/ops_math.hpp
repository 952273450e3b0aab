// Elementwise operators and matrix products.
#pragma once

#include <gsub/ir/infer.hpp>
#include <gsub/ir/op.hpp>

#include <limits>

namespace gsub::ops {
struct relu {};         ///< max(x, 0)
struct clip {};         ///< min(max(x, low), high); bounds are attributes, or operands where they are not constant
struct sigmoid {};      ///< 1 / (1 + exp(-x))
struct tanh {};         ///< hyperbolic tangent
struct sqrt {};         ///< square root
struct add {};          ///< a + b
struct sub {};          ///< a - b
struct mul {};          ///< a * b
struct div {};          ///< a / b; integers truncate
struct sum {};          ///< x0 + x1 + ..., any number of operands
struct hard_sigmoid {}; ///< min(max(alpha * x + beta, 0), 1)
struct hard_swish {};   ///< x * hard_sigmoid(x) with alpha 1/6 and beta 1/2
struct cast {};         ///< conversion to another element type
struct mat_mul {};      ///< numpy's matmul: [..., m, k] x [..., k, n] -> [..., m, n]
struct gemm {};         ///< alpha * A' * B' + beta * C, matrices, each of A and B transposed or not
} // namespace gsub::ops

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

template <>
struct op_traits<ops::relu> : detail::unary_traits {
    static constexpr std::string_view name = "Relu";
    static constexpr auto needs = scalar_needs::ordered;
};
template <>
struct op_traits<ops::clip> {
    static constexpr std::string_view name = "Clip";
    static constexpr int min_inputs = 1, max_inputs = 3;
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::ordered;
    struct attributes {
        double min = -std::numeric_limits<double>::infinity();
        double max = std::numeric_limits<double>::infinity();
        static constexpr auto fields = std::tuple{field{"min", &attributes::min}, field{"max", &attributes::max}};
    };
};
template <>
struct op_traits<ops::sigmoid> : detail::unary_traits {
    static constexpr std::string_view name = "Sigmoid";
};
template <>
struct op_traits<ops::tanh> : detail::unary_traits {
    static constexpr std::string_view name = "Tanh";
};
template <>
struct op_traits<ops::sqrt> : detail::unary_traits {
    static constexpr std::string_view name = "Sqrt";
};
template <>
struct op_traits<ops::add> : detail::binary_traits {
    static constexpr std::string_view name = "Add";
    static constexpr bool commutative = true;
};
template <>
struct op_traits<ops::sub> : detail::binary_traits {
    static constexpr std::string_view name = "Sub";
};
template <>
struct op_traits<ops::mul> : detail::binary_traits {
    static constexpr std::string_view name = "Mul";
    static constexpr bool commutative = true;
};
template <>
struct op_traits<ops::div> : detail::binary_traits {
    static constexpr std::string_view name = "Div";
    static constexpr auto needs = scalar_needs::field;
};
template <>
struct op_traits<ops::sum> {
    static constexpr std::string_view name = "Sum";
    static constexpr int min_inputs = 1, max_inputs = variadic;
    static constexpr auto category = op_category::elementwise;
    static constexpr auto needs = scalar_needs::ring;
    static constexpr bool commutative = true, composite = true;
};
template <>
struct op_traits<ops::hard_sigmoid> : detail::unary_traits {
    static constexpr std::string_view name = "HardSigmoid";
    static constexpr auto needs = scalar_needs::ordered;
    static constexpr bool composite = true;
    struct attributes {
        double alpha = 0.2, beta = 0.5;
        static constexpr auto fields = std::tuple{field{"alpha", &attributes::alpha}, field{"beta", &attributes::beta}};
    };
};
template <>
struct op_traits<ops::hard_swish> : detail::unary_traits {
    static constexpr std::string_view name = "HardSwish";
    static constexpr auto needs = scalar_needs::ordered;
    static constexpr bool composite = true;
};
template <>
struct op_traits<ops::cast> : detail::unary_traits {
    static constexpr std::string_view name = "Cast";
    static constexpr auto needs = scalar_needs::ordered; // rounding is not a polynomial
    struct attributes {
        dtype to = dtype::f32;
        static constexpr auto fields = std::tuple{field{"to", &attributes::to}};
    };
};
template <>
struct op_traits<ops::mat_mul> {
    static constexpr std::string_view name = "MatMul";
    static constexpr int min_inputs = 2, max_inputs = 2;
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ring;
};
template <>
struct op_traits<ops::gemm> {
    static constexpr std::string_view name = "Gemm";
    static constexpr int min_inputs = 2, max_inputs = 3;
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ring;
    struct attributes {
        double alpha = 1, beta = 1;
        bool transpose_a = false, transpose_b = false;
        static constexpr auto fields =
            std::tuple{field{"alpha", &attributes::alpha}, field{"beta", &attributes::beta},
                       field{"transA", &attributes::transpose_a}, field{"transB", &attributes::transpose_b}};
    };
};

template <>
struct infer_shape<ops::relu> : same_as_input<0> {};
template <>
struct infer_shape<ops::clip> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::sigmoid> : same_as_input<0> {};
template <>
struct infer_shape<ops::tanh> : same_as_input<0> {};
template <>
struct infer_shape<ops::sqrt> : same_as_input<0> {};
template <>
struct infer_shape<ops::add> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::sub> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::mul> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::div> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::sum> : broadcast_inputs {};
template <>
struct infer_shape<ops::hard_sigmoid> { // real numbers only: its constants are no integers
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::hard_swish> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::cast> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::mat_mul> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::gemm> {
    static void infer(infer_context& cx);
};

template <>
struct decompose<ops::sum> {
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> operands);
};
template <>
struct decompose<ops::hard_sigmoid> {
    static value_id build(node_sink& sink, attributes_of<ops::hard_sigmoid> const& a,
                          std::span<value_id const> operands);
};
template <>
struct decompose<ops::hard_swish> {
    static value_id build(node_sink& sink, no_attributes const&, std::span<value_id const> operands);
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/ops_math.ipp>
#endif
