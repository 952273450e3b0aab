// Elementwise ONNX functions.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <cmath>
#include <numbers>

namespace gsub::io::detail {

GSUB_INLINE value_id import_selu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const alpha = cx.real("alpha").value_or(1.67326319217681884765625);
    auto const gamma = cx.real("gamma").value_or(1.05070102214813232421875);
    auto const x = to.floating(0);
    return to.mul(to.make<ops::elu>({.alpha = alpha}, {x}), to.number(gamma, x));
}

GSUB_INLINE value_id import_celu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const alpha = cx.real("alpha").value_or(1);
    if (alpha == 0) cx.invalid("alpha is 0");
    auto const x = to.floating(0), a = to.number(alpha, x);
    auto const below = to.mul(a, to.sub(to.make<ops::exp>(to.div(x, a)), to.number(1, x)));
    return to.add(to.make<ops::relu>(x), to.make<ops::clip>({.max = 0}, {below}));
}

GSUB_INLINE value_id import_thresholded_relu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    auto const above = to.make<ops::greater>(x, to.number(cx.real("alpha").value_or(1), x));
    return to.select(above, x, to.number(0, x));
}

GSUB_INLINE value_id import_mish(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    return to.mul(x, to.make<ops::tanh>(to.make<ops::softplus>(x)));
}

GSUB_INLINE value_id gated(function_writer const& to, value_id x, double alpha) {
    return to.mul(x, to.make<ops::sigmoid>(alpha == 1 ? x : to.mul(x, to.number(alpha, x))));
}

GSUB_INLINE value_id import_swish(onnx_import_context& cx) {
    function_writer const to{cx};
    return gated(to, to.floating(0), cx.real("alpha").value_or(1));
}

GSUB_INLINE value_id import_swiglu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const gate = to.floating(0), x = to.floating(1);
    auto const &a = cx.type(0), &b = cx.type(1);
    if (a.is_static() && b.is_static() && a.sizes() != b.sizes())
        cx.invalid(format_text("{} and {}; shapes must be equal", to_string(a), to_string(b)));
    return to.mul(gated(to, gate, cx.real("alpha").value_or(1)), x);
}

GSUB_INLINE value_id import_prelu(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0), slope = to.operand(1);
    auto const y = to.select(to.make<ops::less>(x, to.number(0, x)), to.mul(x, slope), x);
    auto const &from = cx.type(0), &made = *cx.builder().type_of(y);
    if (from.is_static() && made.is_static() && from.sizes() != made.sizes())
        cx.invalid(format_text("slope {} does not broadcast to {}", to_string(cx.type(1)), to_string(from)));
    return y;
}

GSUB_INLINE value_id import_shrink(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const threshold = cx.real("lambd").value_or(0.5), bias = cx.real("bias").value_or(0);
    auto const x = to.floating(0), b = to.number(bias, x);
    auto const above = to.select(to.make<ops::greater>(x, to.number(threshold, x)), to.sub(x, b), to.number(0, x));
    return to.select(to.make<ops::less>(x, to.number(-threshold, x)), to.add(x, b), above);
}

GSUB_INLINE value_id import_sign(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0), zero = to.number(0, x);
    auto const e = to.element(x);
    if (!is_floating(e) && !is_integer(e)) cx.unsupported(format_text("element type {}", to_string(e)));
    auto const signs = is_floating(e) || info(e).is_signed;
    auto const below = signs ? to.select(to.make<ops::less>(x, zero), to.number(-1, x), x) : x; // NaN stays
    return to.select(to.make<ops::greater>(x, zero), to.number(1, x), below);
}

// The greatest or least of each element's operands; NaN where one is NaN.
GSUB_INLINE value_id import_extreme(onnx_import_context& cx, bool greatest) {
    function_writer const to{cx};
    auto const of_two = [&](value_id x, std::size_t i) {
        auto const y = to.typed(i);
        auto const &all = *cx.builder().type_of(x), &one = cx.type(i);
        constexpr double exact = 1LL << 53; // beyond it integers have no place in a double
        if (auto const bound = cx.known_number(i); bound && std::isfinite(*bound) && std::abs(*bound) <= exact &&
                                                   all.ranked && one.ranked && one.rank() <= all.rank() &&
                                                   all.element == one.element)
            return greatest ? to.make<ops::clip>({.min = *bound}, {x}) : to.make<ops::clip>({.max = *bound}, {x});
        auto takes_x = greatest ? to.make<ops::greater>(x, y) : to.make<ops::less>(x, y);
        if (to.is_floating_value(x)) takes_x = to.make<ops::logical_or>(takes_x, to.make<ops::is_nan>(x));
        return to.select(takes_x, x, y);
    };
    auto y = to.typed(0);
    for (std::size_t i = 1; i < cx.operands(); ++i) y = of_two(y, i);
    return cx.operands() == 1 ? to.make<ops::identity>(y) : y;
}
GSUB_INLINE value_id import_max(onnx_import_context& cx) {
    return import_extreme(cx, true);
}
GSUB_INLINE value_id import_min(onnx_import_context& cx) {
    return import_extreme(cx, false);
}

GSUB_INLINE value_id import_mean(onnx_import_context& cx) {
    function_writer const to{cx};
    auto y = to.floating(0);
    for (std::size_t i = 1; i < cx.operands(); ++i) y = to.add(y, to.operand(i));
    return to.div(y, to.number(static_cast<double>(cx.operands()), y));
}

// Two to the power of an integer, a bit of it after the other; 0 where it is below 0 or as wide as the type.
GSUB_INLINE value_id power_of_two(function_writer const& to, value_id by) {
    auto const type = to.element(by);
    auto const width = 8 * static_cast<std::int64_t>(byte_size(type));
    auto const number = [&](std::int64_t v) { return to.integer(v, type); };
    auto rest = by;
    value_id power{};
    for (auto bit = width / 2; bit > 0; bit /= 2) {
        auto const small = to.make<ops::less>(rest, number(bit));
        auto const factor = to.select(small, number(1), number(std::int64_t{1} << bit));
        power = power.valid() ? to.mul(power, factor) : factor;
        if (bit > 1) rest = to.sub(rest, to.select(small, number(0), number(bit)));
    }
    auto within = to.make<ops::less>(by, number(width));
    if (info(type).is_signed) within = to.make<ops::logical_and>(within, to.make<ops::less>(number(-1), by));
    return to.select(within, power, number(0));
}
// By powers of two, which are 0 where a shift is as wide as the type.
GSUB_INLINE value_id import_bit_shift(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const direction = cx.text("direction").value_or("");
    if (direction != "LEFT" && direction != "RIGHT") cx.invalid(format_text("direction {}", quoted{direction}));
    auto const x = to.typed(0), by = to.typed(1);
    if (!is_integer(to.element(x))) cx.unsupported(format_text("element type {}", to_string(to.element(x))));
    auto const power = power_of_two(to, by);
    if (direction == "LEFT") return to.mul(x, power);
    if (!info(to.element(x)).is_signed) return to.div(x, power);
    // Numbers below 0 round down: they are shifted as what they are one short of.
    auto const below = to.reversed(to.div(to.reversed(x), power));
    return to.select(to.make<ops::less>(x, to.number(0, x)), below, to.div(x, power));
}

GSUB_INLINE value_id import_bitwise_not(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0);
    if (!is_integer(to.element(x))) cx.unsupported(format_text("element type {}", to_string(to.element(x))));
    return to.reversed(x);
}

// x in 8 bits without a sign, with the scale and zero point that take all of it in.
GSUB_INLINE value_id import_dynamic_quantize(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    auto const zero = to.number(0, x);
    auto const most = to.make<ops::clip>({.min = 0}, {to.reduced<ops::reduce_max>(x, {}, false)});
    auto const least = to.make<ops::clip>(
        {.max = 0}, {to.make<ops::neg>(to.reduced<ops::reduce_max>(to.make<ops::neg>(x), {}, false))});
    auto const range = to.div(to.sub(most, least), to.number(255, x));
    auto const scale = to.select(to.make<ops::equal>(range, zero), to.number(1, x), range);
    auto const start = to.make<ops::round>(to.div(to.make<ops::neg>(least), scale));
    auto const point = to.cast(to.make<ops::clip>({.min = 0, .max = 255}, {start}), dtype::u8);
    if (cx.results() > 1) cx.give(1, scale);
    if (cx.results() > 2) cx.give(2, point);
    return to.make<ops::quantize>(x, scale, point);
}

GSUB_INLINE value_id import_cast_like(onnx_import_context& cx) {
    function_writer const to{cx};
    cx.ignore("saturate"); // concerns 8-bit floats only
    cx.ignore("round_mode");
    auto const x = to.typed(0);
    return to.make<ops::cast>({.to = to.element(to.typed(1))}, {x});
}

// A window of known size: a sum of cosines.
GSUB_INLINE value_id import_window(onnx_import_context& cx, std::initializer_list<double> factors) {
    auto const number = cx.integer("output_datatype").value_or(1);
    auto const element = dtype_of_onnx(number);
    if (!element) cx.unsupported(format_text("element type number {}", number));
    auto const periodic = cx.integer("periodic").value_or(1) != 0;
    auto const size = cx.known_ints(0);
    auto const no_constant = "a window whose size is no small constant";
    if (!size || size->size() != 1) cx.unsupported(no_constant);
    if ((*size)[0] < 0) cx.invalid(format_text("size {}", (*size)[0]));
    cx.take_constant({(*size)[0]}, no_constant);
    auto t = tensor::uninitialized(dtype::f64, *size);
    auto const length = static_cast<double>((*size)[0] - (periodic ? 0 : 1));
    for (std::int64_t i = 0; i < (*size)[0]; ++i) {
        double sum = 0, order = 0;
        for (auto const f : factors)
            sum += f * std::cos(order++ * 2 * std::numbers::pi * static_cast<double>(i) / std::max(length, 1.0));
        t.mutable_data<double>()[static_cast<std::size_t>(i)] = sum;
    }
    return cx.builder().constant(t.converted_to(*element));
}
GSUB_INLINE value_id import_hann_window(onnx_import_context& cx) {
    return import_window(cx, {0.5, -0.5});
}
GSUB_INLINE value_id import_hamming_window(onnx_import_context& cx) {
    return import_window(cx, {25.0 / 46, -21.0 / 46});
}
GSUB_INLINE value_id import_blackman_window(onnx_import_context& cx) {
    return import_window(cx, {0.42, -0.5, 0.08});
}

} // namespace gsub::io::detail
