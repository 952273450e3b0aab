// Evaluation of quantization operators.
#pragma once

#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_quantized.hpp>

namespace gsub {

namespace detail {
/// Facts shared by operators that round, which is nothing that a field could do.
struct rounding {
    static constexpr bool uninterpreted_in_field = true;
};
} // namespace detail

/// QuantizeLinear rounds the quotient as f32, whatever the precision, so that a folded constant is what the graph
/// computes. NaN becomes the least integer.
template <>
struct evaluate<ops::quantize> : detail::rounding {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::dequantize> : detail::rounding {
    static void move(op_call_args& args);
};
/// ConvInteger gives exact sums, modulo 2^32.
template <>
struct evaluate<ops::conv_integer> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::mat_mul_integer> {
    static void move(op_call_args& args);
};
/// QLinearConv: the sum as f32, times x's scale * w's scale / y's scale in f32, rounded with ties to even, saturated.
template <>
struct evaluate<ops::qlinear_conv> : detail::rounding {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::qlinear_mat_mul> : detail::rounding {
    static void move(op_call_args& args);
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/evaluate_quantized.ipp>
#endif
