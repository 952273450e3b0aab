#pragma once

#include <gsub/io/onnx_ops.hpp>

namespace gsub::io {

// Before version 11 both branches have to give the same shapes.
GSUB_INLINE std::int64_t onnx_traits<ops::if_else>::needed_opset(any_graph const& g, node_id n) {
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (!g.type({n, port}).is_static()) return 11;
    return 1;
}

GSUB_INLINE value_id onnx_traits<ops::constant>::import(onnx_import_context& cx) {
    if (auto t = cx.tensor_value("value")) return cx.builder().constant(std::move(*t));
    if (auto const v = cx.real("value_float")) return cx.builder().constant(tensor::scalar(static_cast<float>(*v)));
    if (auto const v = cx.integer("value_int")) return cx.builder().constant(tensor::scalar(*v));
    if (auto const v = cx.integer_list("value_ints"))
        return cx.builder().constant(tensor::from<std::int64_t>(ints{static_cast<std::int64_t>(v->size())}, *v));
    if (auto const v = cx.real_list("value_floats"))
        return cx.builder().constant(
            tensor::from<double>(ints{static_cast<std::int64_t>(v->size())}, *v).converted_to(dtype::f32));
    if (!cx.unread_attribute()) cx.invalid("it has no value");
    cx.unsupported("a constant that is neither a dense tensor nor a number");
}

} // namespace gsub::io
