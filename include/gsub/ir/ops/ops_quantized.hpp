// Quantization operators, between numbers and the integers that stand for them: (q - zero point) * scale.
#pragma once

#include <gsub/ir/ops/impl/family_traits.hpp>
#include <gsub/ir/ops/infer.hpp>
#include <gsub/ir/ops/op.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

namespace gsub::ops {
struct quantize {};        ///< round(x / scale) + zero point, ties to even, saturated; u8 where no zero point is given
struct dequantize {};      ///< (q - zero point) * scale, in the element type of the scale
struct conv_integer {};    ///< convolution of integers less their zero points, in i32
struct mat_mul_integer {}; ///< matrix product of integers less their zero points, in i32
struct qlinear_conv {};    ///< convolution of quantized operands, quantized
struct qlinear_mat_mul {}; ///< matrix product of quantized operands, quantized
struct saturate {};        ///< x held between two bounds; NaN becomes the lower one, as in `quantize`
} // namespace gsub::ops

namespace gsub {

/// Quantization granularity: which scale and zero point belong to an element. One for all where they have one element;
/// entry i of a vector for slice i of `axis`; with a block size, an entry for so many slices of `axis` and every place
/// of the other dimensions.
struct scale_attributes {
    std::int64_t axis = 1;
    std::int64_t block_size = 0; ///< 0: no blocks
    static constexpr field<scale_attributes> fields[] = {{"axis", &scale_attributes::axis},
                                                         {"block_size", &scale_attributes::block_size}};
};
/// Attributes of an integer convolution.
struct integer_window : window_attributes {
    std::int64_t group = 1;
    static constexpr field<integer_window> fields[] = {{"strides", &integer_window::strides},
                                                       {"pads", &integer_window::pads},
                                                       {"dilations", &integer_window::dilations},
                                                       {"group", &integer_window::group}};
};

/// Saturation bounds: the range of an integer type.
struct saturation_bounds {
    double low = 0, high = 255;
    static constexpr field<saturation_bounds> fields[] = {{"low", &saturation_bounds::low},
                                                          {"high", &saturation_bounds::high}};
};

namespace detail {
/// Facts shared by sums of products of quantized operands.
struct integer_product_traits {
    static constexpr auto category = op_category::contraction;
    static constexpr auto needs = scalar_needs::ordered;
};
} // namespace detail

template <>
struct op_traits<ops::quantize> {
    static constexpr std::string_view name = "QuantizeLinear";
    static constexpr int min_inputs = 2, max_inputs = 3;     ///< x, scale, zero point
    static constexpr auto category = op_category::reduction; ///< not elementwise: a scale does not broadcast
    static constexpr auto layouts = layout_policy::row_major;
    static constexpr auto needs = scalar_needs::ordered;
    using attributes = scale_attributes;
};
template <>
struct op_traits<ops::dequantize> : op_traits<ops::quantize> {
    static constexpr std::string_view name = "DequantizeLinear";
};
template <>
struct op_traits<ops::conv_integer> : detail::integer_product_traits {
    static constexpr std::string_view name = "ConvInteger";
    static constexpr int min_inputs = 2, max_inputs = 4; ///< x, w, their zero points; that of w may be one a channel
    using attributes = integer_window;
};
template <>
struct op_traits<ops::mat_mul_integer> : detail::integer_product_traits {
    static constexpr std::string_view name = "MatMulInteger";
    static constexpr int min_inputs = 2, max_inputs = 4; ///< a, b, their zero points: one, a row of a, a column of b
};
template <>
struct op_traits<ops::qlinear_conv> : detail::integer_product_traits {
    static constexpr std::string_view name = "QLinearConv";
    static constexpr int min_inputs = 8, max_inputs = 9; ///< x, w and y, each with scale and zero point, w before y's
    using attributes = integer_window;
};
template <>
struct op_traits<ops::qlinear_mat_mul> : detail::integer_product_traits {
    static constexpr std::string_view name = "QLinearMatMul";
    static constexpr int min_inputs = 8,
                         max_inputs = 8; ///< a, b with scales and zero points, scale and zero point of y
};

/// What lowering makes of `quantize`; no file has it.
template <>
struct op_traits<ops::saturate> : detail::ordered_unary_traits {
    static constexpr std::string_view name = "Saturate", domain = "gsub";
    static constexpr bool composite = true;
    using attributes = saturation_bounds;
};
template <>
struct decompose<ops::saturate> {
    static value_id build(node_sink& sink, saturation_bounds const& a, std::span<value_id const> operands);
};

template <>
struct infer_shape<ops::quantize> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::dequantize> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::conv_integer> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::mat_mul_integer> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::qlinear_conv> {
    static void infer(infer_context& cx);
};
template <>
struct infer_shape<ops::qlinear_mat_mul> {
    static void infer(infer_context& cx);
};

/// The operators of this header.
using quantized_ops = op_set<ops::quantize, ops::dequantize, ops::conv_integer, ops::mat_mul_integer, ops::qlinear_conv,
                             ops::qlinear_mat_mul, ops::saturate>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/ops_quantized.ipp>
#endif
