// Legalization of quantization: arithmetic on elements, and products of bytes in f32 as long as these are exact.
#pragma once

#include <gsub/lower/impl/legal_writer.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::detail {

// A scale or zero point as it broadcasts to the elements of `x`.
GSUB_LAZY [[nodiscard]] value_id over_elements(legal_writer& w, value_id scale, value_id x, scale_attributes const& a) {
    auto const dims = w.sizes(x);
    if (w.elements(scale) == 1) return w.sizes(scale).size() > dims.size() ? w.reshaped(scale, {}) : scale;
    auto const axis = *normalized_axis(a.axis, dims.size());
    if (a.block_size == 0) return w.along_axis(scale, axis, dims.size());
    auto apart = w.sizes(scale), joined = apart;
    apart.insert(axis + 1, 1);
    auto const rows = w.reshaped(scale, apart);
    apart[axis + 1] = a.block_size;
    joined[axis] *= a.block_size;
    auto const repeated = w.reshaped(w.make<ops::expand>({.shape = apart}, {rows}), joined);
    return w.sliced(repeated, axis, 0, dims[axis]);
}

// Numbers of f32, rounded to an integer type with a zero point of it: to even, then to the ends of its range; NaN to
// the lower.
GSUB_LAZY [[nodiscard]] value_id quantized(legal_writer& w, value_id x, value_id zero, dtype to) {
    auto v = w.make<ops::round>(x);
    if (zero.valid()) v = w.add(v, w.cast(zero, dtype::f32));
    auto const end = std::ldexp(1.0, integer_digits(to)), low = info(to).is_signed ? -end : 0.0;
    return w.cast(w.make<ops::saturate>({.low = low, .high = end - 1}, {v}), to);
}

// Whether numbers are integers in the range of a type, as `quantized` makes them.
GSUB_LAZY [[nodiscard]] bool is_quantized(any_graph const& g, value_id v, dtype to) {
    if (!g.is<ops::saturate>(v.node)) return false;
    auto const& a = g.attributes<ops::saturate>(v.node);
    auto const end = std::ldexp(1.0, integer_digits(to));
    if (a.low != (info(to).is_signed ? -end : 0.0) || a.high != end - 1) return false;
    auto const from = g.operand(v.node, 0);
    if (g.is<ops::round>(from.node)) return true;
    if (!g.is<ops::add>(from.node) || !g.is<ops::round>(g.operand(from.node, 0).node)) return false;
    auto const zero = g.operand(from.node, 1);
    return g.is<ops::cast>(zero.node) && is_integer(g.type(g.operand(zero.node, 0)).element);
}

GSUB_LAZY_BODY legal_values legalize_quantize(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const& a = w.attributes<ops::quantize>();
    auto const x = w.operand(0), scale = over_elements(w, w.operand(1), x, a);
    // Integers of 32 bits are more than f32 tells apart.
    auto const type = w.element(x) == dtype::i32 ? dtype::f64 : dtype::f32;
    auto const parts = w.cast(w.div(w.cast(x, type), w.cast(scale, type)), dtype::f32);
    auto const zero = w.has(2) ? over_elements(w, w.operand(2), x, a) : value_id{};
    return {quantized(w, parts, zero, w.result_type().element)};
}

GSUB_LAZY_BODY legal_values legalize_dequantize(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const& a = w.attributes<ops::dequantize>();
    auto const x = w.operand(0), scale = w.cast(over_elements(w, w.operand(1), x, a), dtype::f32);
    auto const type = w.element(x) == dtype::i32 && w.has(2) ? dtype::f64 : dtype::f32;
    // What was quantized just before is read as the numbers that it was rounded to.
    auto const before = g.is<ops::cast>(x.node) ? g.operand(x.node, 0) : value_id{};
    auto v = before.valid() && is_quantized(g, before, w.element(x)) ? before : w.cast(x, type);
    if (w.has(2)) v = w.sub(v, w.cast(over_elements(w, w.operand(2), x, a), type));
    return {w.cast(w.mul(w.cast(v, dtype::f32), scale), w.result_type().element)};
}

// ---- products of matrices of bytes

// A matrix of bytes less its zero points, in a type.
GSUB_LAZY [[nodiscard]] value_id less_zero(legal_writer& w, value_id x, value_id zero, bool rows, dtype type) {
    auto const v = w.cast(x, type);
    if (!zero.valid()) return v;
    auto const rank = w.sizes(x).size();
    if (w.sizes(zero).size() <= 1) zero = w.along_axis(zero, rank > 1 && rows ? rank - 2 : rank - 1, rank);
    return w.sub(v, w.cast(zero, type));
}
// The greatest magnitude that its elements may have.
GSUB_LAZY [[nodiscard]] std::int64_t greatest_byte(legal_writer const& w, value_id x, value_id zero) {
    return !zero.valid() && info(w.element(x)).is_signed ? 128 : 255;
}
// Sums of products of bytes less their zero points, i32. Sums of so few products that none is more than 2^24 are exact
// in f32, whose kernels are the fastest: operands are cut along the dimension that is summed.
GSUB_LAZY [[nodiscard]] value_id byte_product(legal_writer& w, value_id x, value_id x_zero, value_id y,
                                              value_id y_zero) {
    constexpr std::int64_t exact = 1 << 24, most_pieces = 64;
    auto const left = w.sizes(x), right = w.sizes(y);
    auto const x_axis = left.size() - 1, y_axis = right.size() > 1 ? right.size() - 2 : 0;
    auto const inner = left[x_axis], step = exact / (greatest_byte(w, x, x_zero) * greatest_byte(w, y, y_zero));
    auto const in_pieces = inner <= most_pieces * step;
    auto const type = in_pieces ? dtype::f32 : dtype::i32;
    auto const a = less_zero(w, x, x_zero, true, type), b = less_zero(w, y, y_zero, false, type);
    if (!in_pieces) return w.make<ops::mat_mul>(a, b);
    value_id sum{};
    for (std::int64_t first = 0; first == 0 || first < inner; first += step) {
        auto const end = std::min(first + step, inner);
        auto const part =
            w.cast(w.make<ops::mat_mul>(w.sliced(a, x_axis, first, end), w.sliced(b, y_axis, first, end)), dtype::i32);
        sum = sum.valid() ? w.add(sum, part) : part;
    }
    return sum;
}

GSUB_LAZY_BODY legal_values legalize_mat_mul_integer(any_graph& g, node_id n) {
    legal_writer w{g, n};
    return {byte_product(w, w.operand(0), w.operand(2), w.operand(1), w.operand(3))};
}

GSUB_LAZY_BODY legal_values legalize_qlinear_mat_mul(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const sums = byte_product(w, w.operand(0), w.operand(2), w.operand(3), w.operand(5));
    auto const rank = w.sizes(sums).size();
    auto const scale = [&](std::size_t i, std::size_t behind) {
        auto const v = w.cast(w.operand(i), dtype::f32);
        return w.sizes(v).size() <= 1 ? w.along_axis(v, rank > behind ? rank - 1 - behind : 0, rank) : v;
    };
    auto const one = [&](std::size_t i) { return w.reshaped(w.operand(i), {}); };
    auto const factor = w.div(w.mul(scale(1, 1), scale(4, 0)), w.cast(one(6), dtype::f32));
    return {quantized(w, w.mul(w.cast(sums, dtype::f32), factor), one(7), w.result_type().element)};
}

} // namespace gsub::detail
