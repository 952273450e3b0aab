#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_settings.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <algorithm>
#include <vector>

namespace gsub::io::detail {

GSUB_INLINE std::optional<reduce_attributes> read_reduction(onnx_import_context& cx) {
    reduce_attributes a;
    a.keepdims = cx.integer("keepdims").value_or(1) != 0;
    auto const noop = cx.integer("noop_with_empty_axes").value_or(0) != 0;
    if (auto axes = attribute_or_operand(cx, "axes", 1))
        a.axes = std::move(*axes);
    else if (cx.has(1))
        a.noop_with_empty_axes = noop;
    auto const open = cx.has(1) && !cx.known_ints(1);
    if (noop && a.axes.empty() && !open) return std::nullopt;
    return a;
}

GSUB_INLINE std::span<value_id const> reduction_operands(onnx_import_context const& cx) {
    auto const open = cx.has(1) && !cx.known_ints(1);
    return cx.all_operands().first(open ? 2 : std::min<std::size_t>(cx.operands(), 1));
}

GSUB_INLINE void write_reduction(onnx_export_context& cx, reduce_attributes const& a, std::int64_t since) {
    auto inputs = cx.operands();
    auto const as_attribute = cx.opset()<since, open = inputs.size()> 1;
    if (as_attribute && open) cx.unsupported(format_text("axes as an operand need operator set {}", since));
    if (!as_attribute && !open && !a.axes.empty()) inputs.push_back(cx.initializer(a.axes));
    cx.write(cx.graph().op(cx.node()).name, inputs, cx.results(), [&](onnx_attribute_writer& w) {
        if (as_attribute && !a.axes.empty()) w.integer_list("axes", a.axes);
        w.integer("keepdims", a.keepdims);
        if (open && a.noop_with_empty_axes) w.integer("noop_with_empty_axes", 1);
    });
}

} // namespace gsub::io::detail

namespace gsub::io {

// Of truth values it is their disjunction; they are compared as numbers.
GSUB_INLINE value_id onnx_traits<ops::reduce_max>::import(onnx_import_context& cx) {
    if (cx.type(0).element != dtype::boolean) return detail::onnx_reduction<ops::reduce_max, 18>::import(cx);
    auto const a = detail::read_reduction(cx);
    if (!a) return cx.add<ops::identity>({}, {cx.operand(0)});
    auto& to = cx.builder();
    auto const given = detail::reduction_operands(cx);
    std::vector<value_id> operands(given.begin(), given.end());
    operands[0] = to.add<ops::cast>({.to = dtype::u8}, {operands[0]});
    auto const most = to.add<ops::reduce_max>(*a, std::span<value_id const>{operands});
    return to.add<ops::cast>({.to = dtype::boolean}, {most});
}

} // namespace gsub::io
