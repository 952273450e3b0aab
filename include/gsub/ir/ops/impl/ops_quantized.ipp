#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/impl/ops_math.ipp>
#include <gsub/ir/ops/ops_logic.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>
#include <gsub/ir/ops/ops_quantized.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

#include <limits>

namespace gsub {

namespace detail {

GSUB_INLINE bool has_one_element(tensor_type const& t) {
    return t.ranked && (t.rank() == 0 || (t.rank() == 1 && t.dims[0] == dim{1}));
}

// Whether an operand has one of some element types, as far as that is known; false after `fail`.
GSUB_INLINE bool check_element(infer_context& cx, std::size_t i, std::initializer_list<dtype> allowed) {
    auto const element = cx.type(i).element;
    if (element == dtype::undefined) return true;
    for (auto t : allowed)
        if (t == element) return true;
    std::string names;
    for (auto t : allowed) names += format_text("{}{}", names.empty() ? "" : ", ", to_string(t));
    cx.fail(format_text("operand {} is {}; it takes {}", i, to_string(cx.type(i)), names));
    return false;
}

GSUB_INLINE bool check_equal_elements(infer_context& cx, std::size_t a, std::size_t b) {
    auto const x = cx.type(a).element, y = cx.type(b).element;
    if (x == y || x == dtype::undefined || y == dtype::undefined) return true;
    cx.fail(format_text("zero point {} of {}; they must be equal", to_string(cx.type(b)), to_string(cx.type(a))));
    return false;
}

// The dimensions of operand `i`, a scale or zero point, against those of operand 0.
GSUB_INLINE bool check_scale_shape(infer_context& cx, scale_attributes const& a, std::size_t i) {
    auto const &x = cx.type(0), &s = cx.type(i);
    auto const fail = [&] {
        cx.fail(format_text("scale or zero point {} of operand {} with axis {} and block size {}", to_string(s),
                            to_string(x), a.axis, a.block_size));
        return false;
    };
    if (a.block_size < 0) return fail();
    if (!s.ranked || has_one_element(s) || !x.ranked) return true;
    auto const axis = normalized_axis(a.axis, x.rank());
    if (!axis) return fail();
    if (a.block_size == 0) return s.rank() == 1 && !provably_different(s.dims[0], x.dims[*axis]) ? true : fail();
    if (s.rank() != x.rank()) return fail();
    for (std::size_t d = 0; d < x.rank(); ++d) {
        auto expected = x.dims[d];
        if (d == *axis)
            expected = expected.fixed()
                           ? dim{expected.size() / a.block_size + std::int64_t{expected.size() % a.block_size != 0}}
                           : dim{};
        if (provably_different(s.dims[d], expected)) return fail();
    }
    return true;
}

GSUB_INLINE bool check_scales(infer_context& cx, scale_attributes const& a) {
    if (!check_scale_shape(cx, a, 1)) return false;
    if (!cx.has(2)) return true;
    if (!check_scale_shape(cx, a, 2)) return false;
    auto const &s = cx.type(1), &z = cx.type(2);
    if (!s.ranked || !z.ranked || (has_one_element(s) && has_one_element(z))) return true;
    bool same = s.rank() == z.rank();
    for (std::size_t d = 0; same && d < s.rank(); ++d) same = !provably_different(s.dims[d], z.dims[d]);
    if (!same) cx.fail(format_text("scale {} and zero point {} of different shapes", to_string(s), to_string(z)));
    return same;
}

// Operand `i`: one element, or as many as `channels`.
GSUB_INLINE bool check_vector(infer_context& cx, std::size_t i, dim channels) {
    auto const& t = cx.type(i);
    if (!t.ranked || has_one_element(t) || (t.rank() == 1 && !provably_different(t.dims[0], channels))) return true;
    cx.fail(format_text("operand {} is {}; it takes one element or {}", i, to_string(t), to_string(channels)));
    return false;
}

constexpr std::initializer_list<dtype> quantized_bytes{dtype::u8, dtype::i8};

GSUB_INLINE void infer_convolution(infer_context& cx, std::size_t w, integer_window const& a, dtype element,
                                   std::initializer_list<std::size_t> of_channels,
                                   std::initializer_list<std::size_t> of_all) {
    if (!check_element(cx, 0, quantized_bytes) || !check_element(cx, w, quantized_bytes)) return;
    auto const dims = convolution_shape(cx, a, a.group, cx.type(0), cx.type(w));
    if (!dims) return;
    for (auto i : of_channels)
        if (cx.has(i) && !check_vector(cx, i, (*dims)[1])) return;
    for (auto i : of_all)
        if (cx.has(i) && !check_vector(cx, i, dim{1})) return;
    cx.result(0, {element, *dims});
}

// A zero point or scale of a matrix: one element, one a row or column, or such a vector for every matrix of a stack.
GSUB_INLINE bool check_of_matrix(infer_context& cx, std::size_t of, std::size_t i, bool rows) {
    auto const &x = cx.type(of), &z = cx.type(i);
    if (!x.ranked || !z.ranked || has_one_element(z)) return true;
    auto fits = x.rank() >= 2;
    auto const along = rows ? 2u : 1u;
    if (fits && z.rank() == 1) {
        fits = !provably_different(z.dims[0], x.dims[x.rank() - along]);
    } else if (fits) {
        fits = z.rank() == x.rank();
        for (std::size_t d = 0; fits && d < x.rank(); ++d)
            fits = !provably_different(z.dims[d], d == x.rank() - (3 - along) ? dim{1} : x.dims[d]);
    }
    if (!fits)
        cx.fail(format_text("operand {} is {} for matrices {}; it takes one element or one {}", i, to_string(z),
                            to_string(x), rows ? "a row" : "a column"));
    return fits;
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::quantize>::infer(infer_context& cx) {
    if (!detail::check_element(cx, 0, {dtype::f32, dtype::f16, dtype::bf16, dtype::i32}) ||
        !detail::check_element(cx, 1, {dtype::f32, dtype::f16, dtype::bf16}) ||
        !detail::check_scales(cx, cx.attributes<ops::quantize>()))
        return;
    if (cx.has(2) && !detail::check_element(cx, 2, {dtype::u8, dtype::i8, dtype::u16, dtype::i16})) return;
    auto out = cx.type(0);
    out.element = cx.has(2) ? cx.type(2).element : dtype::u8;
    cx.result(0, std::move(out));
}

GSUB_INLINE void infer_shape<ops::dequantize>::infer(infer_context& cx) {
    if (!detail::check_element(cx, 0, {dtype::u8, dtype::i8, dtype::u16, dtype::i16, dtype::i32}) ||
        !detail::check_element(cx, 1, {dtype::f32, dtype::f16, dtype::bf16}) ||
        !detail::check_scales(cx, cx.attributes<ops::dequantize>()))
        return;
    if (cx.has(2) && !detail::check_equal_elements(cx, 0, 2)) return;
    auto out = cx.type(0);
    out.element = cx.type(1).element;
    cx.result(0, std::move(out));
}

GSUB_INLINE void infer_shape<ops::conv_integer>::infer(infer_context& cx) {
    for (std::size_t i = 0; i < 2; ++i)
        if (cx.has(i + 2) && !detail::check_equal_elements(cx, i, i + 2)) return;
    detail::infer_convolution(cx, 1, cx.attributes<ops::conv_integer>(), dtype::i32, {3}, {2});
}

GSUB_INLINE void infer_shape<ops::mat_mul_integer>::infer(infer_context& cx) {
    for (std::size_t i = 0; i < 2; ++i)
        if (!detail::check_element(cx, i, detail::quantized_bytes) ||
            (cx.has(i + 2) &&
             (!detail::check_equal_elements(cx, i, i + 2) || !detail::check_of_matrix(cx, i, i + 2, i == 0))))
            return;
    detail::infer_product(cx, cx.type(0), cx.type(1), dtype::i32);
}

GSUB_INLINE void infer_shape<ops::qlinear_conv>::infer(infer_context& cx) {
    if (!detail::check_equal_elements(cx, 0, 2) || !detail::check_equal_elements(cx, 3, 5)) return;
    for (std::size_t i : {1u, 4u, 6u})
        if (!detail::check_element(cx, i, {dtype::f32})) return;
    if (!detail::check_element(cx, 7, detail::quantized_bytes) ||
        (cx.has(8) && !detail::check_element(cx, 8, {dtype::i32})))
        return;
    detail::infer_convolution(cx, 3, cx.attributes<ops::qlinear_conv>(), cx.type(7).element, {4, 5, 8}, {1, 2, 6, 7});
}

GSUB_INLINE void infer_shape<ops::qlinear_mat_mul>::infer(infer_context& cx) {
    if (!detail::check_equal_elements(cx, 0, 2) || !detail::check_equal_elements(cx, 3, 5)) return;
    for (std::size_t i : {0u, 3u, 7u})
        if (!detail::check_element(cx, i, detail::quantized_bytes)) return;
    for (std::size_t i : {1u, 4u, 6u})
        if (!detail::check_element(cx, i, {dtype::f32})) return;
    for (std::size_t i : {1u, 2u})
        if (!detail::check_of_matrix(cx, 0, i, true) || !detail::check_of_matrix(cx, 3, i + 3, false)) return;
    if (!detail::check_vector(cx, 6, dim{1}) || !detail::check_vector(cx, 7, dim{1})) return;
    detail::infer_product(cx, cx.type(0), cx.type(3), cx.type(7).element);
}

GSUB_INLINE value_id decompose<ops::saturate>::build(node_sink& sink, saturation_bounds const& a,
                                                     std::span<value_id const> operands) {
    auto const x = operands[0];
    auto const low = detail::scalar_like(sink, x, a.low);
    auto const below = sink.add<ops::clip>({.min = -std::numeric_limits<double>::infinity(), .max = a.high}, {x});
    return sink.add<ops::where>(sink.add<ops::greater>(x, low), below, low);
}

} // namespace gsub
