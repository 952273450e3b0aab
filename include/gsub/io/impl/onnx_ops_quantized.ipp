#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_window.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace gsub::io {

namespace detail {

GSUB_INLINE std::int64_t opset_of_scaled(any_graph const& g, node_id n, scale_attributes const& a) {
    std::int64_t needed = a.block_size != 0 ? 21 : a.axis != 1 ? 13 : 10;
    for (auto v : g.operands(n)) {
        if (!v.valid()) continue;
        auto const& t = g.type(v);
        if (t.element == dtype::i16 || t.element == dtype::u16) needed = std::max<std::int64_t>(needed, 21);
        if (t.element == dtype::f16 || t.element == dtype::bf16) needed = std::max<std::int64_t>(needed, 19);
    }
    auto const& scale = g.type(g.operand(n, 1));
    // Set 10 has one scale alone.
    return scale.ranked && (scale.rank() == 0 || scale.elements() == 1) ? needed : std::max<std::int64_t>(needed, 13);
}

// Refuses a node that computes in another element type than its scales, or gives another: from operator set 23 on an
// attribute may say so.
GSUB_INLINE void expect_type_of_scale(onnx_import_context& cx, std::string_view attribute) {
    auto const number = cx.integer(attribute).value_or(0);
    if (number != 0 && dtype_of_onnx(number) != cx.type(1).element)
        cx.unsupported(format_text("{} {} with scales {}", attribute, number, to_string(cx.type(1))));
}

GSUB_INLINE scale_attributes read_scaled(onnx_import_context& cx) {
    scale_attributes a;
    a.axis = cx.integer("axis").value_or(1);
    a.block_size = cx.integer("block_size").value_or(0);
    cx.ignore("saturate"); // concerns 8-bit floats only
    for (std::size_t i = 0; i < 3; ++i)
        if (cx.has(i) && cx.type(i).element == dtype::undefined)
            cx.unsupported("an operand of an element type that gsub does not compute with");
    // One scale for all has no axis, and axes of a known rank count from the front.
    if (auto const& s = cx.type(1); s.ranked && (s.rank() == 0 || s.elements() == 1))
        a = {};
    else if (auto const& x = cx.type(0); x.ranked && a.axis < 0 && normalized_axis(a.axis, x.rank()))
        a.axis += static_cast<std::int64_t>(x.rank());
    return a;
}

GSUB_INLINE void write_scaled(onnx_export_context& cx, scale_attributes const& a) {
    cx.write(cx.graph().op(cx.node()).name, cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (a.axis != 1) w.integer("axis", a.axis);
        if (a.block_size != 0) w.integer("block_size", a.block_size);
    });
}

GSUB_INLINE integer_window read_integer_window(onnx_import_context& cx, std::size_t weight) {
    integer_window a{read_window(cx, read_kernel(cx, weight))};
    a.group = cx.integer("group").value_or(1);
    return a;
}

GSUB_INLINE void write_integer_window(onnx_export_context& cx, integer_window const& a) {
    cx.write(cx.graph().op(cx.node()).name, cx.operands(), cx.results(),
             [&](onnx_attribute_writer& w) { write_convolution(w, a, a.group); });
}

} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::quantize>::import(onnx_import_context& cx) {
    auto const a = detail::read_scaled(cx);
    detail::expect_type_of_scale(cx, "precision");
    auto const given = cx.type(0).element, scale = cx.type(1).element;
    if (is_floating(given) && given != scale)
        cx.unsupported(format_text("{} with scales of {}", to_string(given), to_string(scale)));
    auto const number = cx.integer("output_dtype").value_or(0);
    auto const wanted = number == 0 ? std::optional{dtype::undefined} : dtype_of_onnx(number);
    if (!wanted) cx.unsupported(format_text("element type number {}", number));
    if (cx.has(2) || *wanted == dtype::undefined || *wanted == dtype::u8) {
        if (cx.has(2) && *wanted != dtype::undefined && *wanted != cx.type(2).element)
            cx.invalid(format_text("output_dtype {} with a zero point {}", to_string(*wanted), to_string(cx.type(2))));
        return cx.add<ops::quantize>(a, cx.all_operands());
    }
    // A zero point says the type of the result.
    if (!cx.type(1).is_static()) cx.unsupported("output_dtype with scales of unknown size");
    if (!is_integer(*wanted)) cx.unsupported(format_text("output_dtype {}", to_string(*wanted)));
    auto const scales = cx.type(1).elements().value_or(std::numeric_limits<std::int64_t>::max());
    cx.take_constant({scales}, format_text("output_dtype with {} scales", scales));
    auto const zero = cx.builder().constant(tensor::zeros(*wanted, cx.type(1).sizes()));
    return cx.add<ops::quantize>(a, {cx.operand(0), cx.operand(1), zero});
}

GSUB_INLINE value_id onnx_traits<ops::dequantize>::import(onnx_import_context& cx) {
    detail::expect_type_of_scale(cx, "output_dtype");
    return cx.add<ops::dequantize>(detail::read_scaled(cx), cx.all_operands());
}

GSUB_INLINE value_id onnx_traits<ops::qlinear_mat_mul>::import(onnx_import_context& cx) {
    for (std::size_t i : {6u, 7u})
        if (cx.has(i) && cx.type(i).ranked && cx.type(i).elements() != 1) cx.unsupported("scales of the result's rows");
    for (std::size_t i : {1u, 4u, 6u})
        if (cx.has(i) && cx.type(i).element != dtype::f32) cx.unsupported("scales of another element type than f32");
    return cx.add<ops::qlinear_mat_mul>({}, cx.all_operands());
}

} // namespace gsub::io
