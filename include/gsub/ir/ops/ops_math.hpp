// Elementwise operators on numbers.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>
#include <gsub/ir/ops/ops_logic.hpp>

#include <limits>

namespace gsub::ops {
struct relu {};         ///< max(x, 0)
struct clip {};         ///< min(max(x, low), high); bounds are attributes, or operands where they are not constant
struct sigmoid {};      ///< 1 / (1 + exp(-x))
struct tanh {};         ///< hyperbolic tangent
struct sqrt {};         ///< square root
struct exp {};          ///< e to the power of x
struct log {};          ///< natural logarithm
struct erf {};          ///< 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x
struct sin {};          ///< sine, of radians
struct cos {};          ///< cosine, of radians
struct tan {};          ///< tangent, of radians
struct asin {};         ///< the angle of a sine, -pi/2 to pi/2; NaN beyond -1 and 1
struct acos {};         ///< the angle of a cosine, 0 to pi; NaN beyond -1 and 1
struct atan {};         ///< the angle of a tangent, -pi/2 to pi/2
struct sinh {};         ///< hyperbolic sine
struct cosh {};         ///< hyperbolic cosine
struct asinh {};        ///< inverse hyperbolic sine
struct acosh {};        ///< inverse hyperbolic cosine; NaN below 1
struct atanh {};        ///< inverse hyperbolic tangent; NaN beyond -1 and 1
struct neg {};          ///< -x
struct abs {};          ///< |x|
struct reciprocal {};   ///< 1 / x
struct floor {};        ///< the greatest whole number that is not above x
struct ceil {};         ///< the least whole number that is not below x
struct round {};        ///< the nearest whole number, of two the even one
struct softplus {};     ///< log(1 + exp(x))
struct softsign {};     ///< x / (1 + |x|)
struct add {};          ///< a + b
struct sub {};          ///< a - b
struct mul {};          ///< a * b
struct div {};          ///< a / b; integers truncate
struct pow {};          ///< a to the power of b; among integers 1 / a^n truncates
struct sum {};          ///< x0 + x1 + ..., any number of operands
struct hard_sigmoid {}; ///< min(max(alpha * x + beta, 0), 1)
struct hard_swish {};   ///< x * hard_sigmoid(x) with alpha 1/6 and beta 1/2
struct leaky_relu {};   ///< max(x, 0) + alpha * min(x, 0)
struct elu {};          ///< max(x, 0) + alpha * (exp(min(x, 0)) - 1)
struct gelu {};         ///< x times the normal distribution's function at x, or the approximation of that by tanh
struct remainder {};    ///< a - b * trunc(a / b) of real numbers, exactly: it has the sign of a
struct bitwise_and {};  ///< bits that both integers have
struct bitwise_or {};   ///< bits that either integer has
struct bitwise_xor {};  ///< bits that one integer has and the other has not
struct cast {};         ///< conversion to another element type
struct round_to {};     ///< x rounded to the numbers of a narrower floating type, in its own
struct bit_cast {};     ///< the same bits as elements of another type of equal width
} // namespace gsub::ops

namespace gsub {

template <>
struct op_traits<ops::relu> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "Relu";
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
        static constexpr field<attributes> fields[] = {{"min", &attributes::min}, {"max", &attributes::max}};
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
struct op_traits<ops::exp> : detail::unary_traits {
    static constexpr std::string_view name = "Exp";
};
template <>
struct op_traits<ops::log> : detail::unary_traits {
    static constexpr std::string_view name = "Log";
};
template <>
struct op_traits<ops::erf> : detail::unary_traits {
    static constexpr std::string_view name = "Erf";
};
template <>
struct op_traits<ops::sin> : detail::unary_traits {
    static constexpr std::string_view name = "Sin";
};
template <>
struct op_traits<ops::cos> : detail::unary_traits {
    static constexpr std::string_view name = "Cos";
};
template <>
struct op_traits<ops::tan> : detail::unary_traits {
    static constexpr std::string_view name = "Tan";
};
template <>
struct op_traits<ops::asin> : detail::unary_traits {
    static constexpr std::string_view name = "Asin";
};
template <>
struct op_traits<ops::acos> : detail::unary_traits {
    static constexpr std::string_view name = "Acos";
};
template <>
struct op_traits<ops::atan> : detail::unary_traits {
    static constexpr std::string_view name = "Atan";
};
template <>
struct op_traits<ops::sinh> : detail::unary_traits {
    static constexpr std::string_view name = "Sinh";
};
template <>
struct op_traits<ops::cosh> : detail::unary_traits {
    static constexpr std::string_view name = "Cosh";
};
template <>
struct op_traits<ops::asinh> : detail::unary_traits {
    static constexpr std::string_view name = "Asinh";
};
template <>
struct op_traits<ops::acosh> : detail::unary_traits {
    static constexpr std::string_view name = "Acosh";
};
template <>
struct op_traits<ops::atanh> : detail::unary_traits {
    static constexpr std::string_view name = "Atanh";
};
template <>
struct op_traits<ops::neg> : detail::ring_unary_traits {
    static constexpr std::string_view name = "Neg";
};
template <>
struct op_traits<ops::abs> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "Abs";
};
template <>
struct op_traits<ops::reciprocal> : detail::field_unary_traits {
    static constexpr std::string_view name = "Reciprocal";
};
template <>
struct op_traits<ops::floor> : detail::unary_traits {
    static constexpr std::string_view name = "Floor";
};
template <>
struct op_traits<ops::ceil> : detail::unary_traits {
    static constexpr std::string_view name = "Ceil";
};
template <>
struct op_traits<ops::round> : detail::unary_traits {
    static constexpr std::string_view name = "Round";
};
template <>
struct op_traits<ops::softplus> : detail::unary_traits {
    static constexpr std::string_view name = "Softplus";
};
template <>
struct op_traits<ops::softsign> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "Softsign";
};
template <>
struct op_traits<ops::add> : detail::commutative_traits {
    static constexpr std::string_view name = "Add";
};
template <>
struct op_traits<ops::sub> : detail::binary_traits {
    static constexpr std::string_view name = "Sub";
};
template <>
struct op_traits<ops::mul> : detail::commutative_traits {
    static constexpr std::string_view name = "Mul";
};
template <>
struct op_traits<ops::div> : detail::quotient_traits {
    static constexpr std::string_view name = "Div";
};
template <>
struct op_traits<ops::pow> : detail::binary_traits {
    static constexpr std::string_view name = "Pow";
    static constexpr auto needs = scalar_needs::transcendental;
};
template <>
struct op_traits<ops::remainder> : detail::binary_traits {
    static constexpr std::string_view name = "Mod";
    static constexpr auto needs = scalar_needs::transcendental;
};
namespace detail {
/// Facts shared by operators on the bits of two integers.
struct bitwise_traits : commutative_traits {
    static constexpr auto needs = scalar_needs::transcendental;
};
} // namespace detail
template <>
struct op_traits<ops::bitwise_and> : detail::bitwise_traits {
    static constexpr std::string_view name = "BitwiseAnd";
};
template <>
struct op_traits<ops::bitwise_or> : detail::bitwise_traits {
    static constexpr std::string_view name = "BitwiseOr";
};
template <>
struct op_traits<ops::bitwise_xor> : detail::bitwise_traits {
    static constexpr std::string_view name = "BitwiseXor";
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
struct op_traits<ops::hard_sigmoid> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "HardSigmoid";
    static constexpr bool composite = true;
    struct attributes {
        double alpha = 0.2, beta = 0.5;
        static constexpr field<attributes> fields[] = {{"alpha", &attributes::alpha}, {"beta", &attributes::beta}};
    };
};
template <>
struct op_traits<ops::hard_swish> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "HardSwish";
    static constexpr bool composite = true;
};
template <>
struct op_traits<ops::leaky_relu> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "LeakyRelu";
    static constexpr bool composite = true;
    struct attributes {
        double alpha = 0.01;
        static constexpr field<attributes> fields[] = {{"alpha", &attributes::alpha}};
    };
};
template <>
struct op_traits<ops::elu> : detail::unary_traits {
    static constexpr std::string_view name = "Elu";
    static constexpr bool composite = true;
    struct attributes {
        double alpha = 1;
        static constexpr field<attributes> fields[] = {{"alpha", &attributes::alpha}};
    };
};
template <>
struct op_traits<ops::gelu> : detail::unary_traits {
    static constexpr std::string_view name = "Gelu";
    static constexpr bool composite = true;
    struct attributes {
        std::string approximate = "none"; ///< or `tanh`
        static constexpr field<attributes> fields[] = {{"approximate", &attributes::approximate}};
    };
};
template <>
struct op_traits<ops::cast> : detail::unary_traits {
    static constexpr std::string_view name = "Cast";
    static constexpr auto needs = scalar_needs::ordered; // rounding is not a polynomial
    struct attributes {
        dtype to = dtype::f32;
        static constexpr field<attributes> fields[] = {{"to", &attributes::to}};
    };
};
/// What lowering makes of arithmetic on halves that goes on in f32; no file has it.
template <>
struct op_traits<ops::round_to> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "RoundTo", domain = "gsub";
    static constexpr bool composite = true;
    using attributes = op_traits<ops::cast>::attributes;
};
template <>
struct op_traits<ops::bit_cast> : detail::unary_traits {
    static constexpr std::string_view name = "BitCast";
    struct attributes {
        dtype to = dtype::i32;
        static constexpr field<attributes> fields[] = {{"to", &attributes::to}};
    };
};

template <>
struct infer_shape<ops::relu> : same_as_input<0> {};
template <>
struct infer_shape<ops::sigmoid> : same_as_input<0> {};
template <>
struct infer_shape<ops::tanh> : same_as_input<0> {};
template <>
struct infer_shape<ops::sqrt> : same_as_input<0> {};
template <>
struct infer_shape<ops::exp> : same_as_input<0> {};
template <>
struct infer_shape<ops::log> : same_as_input<0> {};
template <>
struct infer_shape<ops::erf> : same_as_input<0> {};
template <>
struct infer_shape<ops::sin> : same_as_input<0> {};
template <>
struct infer_shape<ops::cos> : same_as_input<0> {};
template <>
struct infer_shape<ops::tan> : same_as_input<0> {};
template <>
struct infer_shape<ops::asin> : same_as_input<0> {};
template <>
struct infer_shape<ops::acos> : same_as_input<0> {};
template <>
struct infer_shape<ops::atan> : same_as_input<0> {};
template <>
struct infer_shape<ops::sinh> : same_as_input<0> {};
template <>
struct infer_shape<ops::cosh> : same_as_input<0> {};
template <>
struct infer_shape<ops::asinh> : same_as_input<0> {};
template <>
struct infer_shape<ops::acosh> : same_as_input<0> {};
template <>
struct infer_shape<ops::atanh> : same_as_input<0> {};
template <>
struct infer_shape<ops::neg> : same_as_input<0> {};
template <>
struct infer_shape<ops::abs> : same_as_input<0> {};
template <>
struct infer_shape<ops::clip> {
    static void infer(infer_context& cx);
};
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
struct infer_shape<ops::gelu> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::cast> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::hard_sigmoid> { // real numbers only: its constants are no integers
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::hard_swish> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::leaky_relu> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::elu> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::reciprocal> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::floor> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::ceil> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::round> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::softplus> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::softsign> : infer_shape<ops::hard_sigmoid> {};
template <>
struct infer_shape<ops::pow> : broadcast_inputs {};
template <>
struct infer_shape<ops::remainder> { // real numbers only
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::bitwise_and> { // integers only
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::bitwise_or> : infer_shape<ops::bitwise_and> {};
template <>
struct infer_shape<ops::bitwise_xor> : infer_shape<ops::bitwise_and> {};
template <>
struct infer_shape<ops::bit_cast> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::sum> : broadcast_inputs {};

template <>
struct decompose<ops::round_to> {
    static value_id build(node_sink& sink, attributes_of<ops::round_to> const& a, std::span<value_id const> operands);
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
template <>
struct decompose<ops::leaky_relu> {
    static value_id build(node_sink& sink, attributes_of<ops::leaky_relu> const& a, std::span<value_id const> operands);
};
template <>
struct decompose<ops::elu> {
    static value_id build(node_sink& sink, attributes_of<ops::elu> const& a, std::span<value_id const> operands);
};
template <>
struct decompose<ops::gelu> {
    static value_id build(node_sink& sink, attributes_of<ops::gelu> const& a, std::span<value_id const> operands);
};

/// The operators of this header, and those of logic.
using math_ops =
    joined_ops<op_set<ops::relu, ops::clip, ops::sigmoid, ops::tanh, ops::sqrt, ops::exp, ops::log, ops::erf, ops::sin,
                      ops::cos, ops::tan, ops::asin, ops::acos, ops::atan, ops::sinh, ops::cosh, ops::asinh, ops::acosh,
                      ops::atanh, ops::neg, ops::abs, ops::reciprocal, ops::floor, ops::ceil, ops::round, ops::softplus,
                      ops::softsign, ops::add, ops::sub, ops::mul, ops::div, ops::pow, ops::sum, ops::hard_sigmoid,
                      ops::hard_swish, ops::leaky_relu, ops::elu, ops::gelu, ops::remainder, ops::bitwise_and,
                      ops::bitwise_or, ops::bitwise_xor, ops::cast, ops::round_to, ops::bit_cast>,
               logic_ops>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_math.ipp>
#endif
