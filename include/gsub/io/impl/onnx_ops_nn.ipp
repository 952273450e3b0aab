#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_settings.hpp>
#include <gsub/io/impl/onnx_window.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <algorithm>

namespace gsub::io {

// ---- convolution ----------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::conv>::import(onnx_import_context& cx) {
    attributes_of<ops::conv> a{detail::read_window(cx, detail::read_kernel(cx, 1))};
    a.group = cx.integer("group").value_or(1);
    return cx.add<ops::conv>(a, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::conv>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::conv>();
    auto const fused = a.act != activation::none;
    auto const name = fused ? cx.fresh_name("conv") : cx.result();
    cx.write("Conv", cx.operands(), {&name, 1}, [&](onnx_attribute_writer& w) {
        detail::write_convolution(w, a, a.group);
        if (auto const& t = cx.graph().type(cx.graph().operand(cx.node(), 1)); t.is_static()) {
            auto const sizes = t.sizes();
            w.integer_list("kernel_shape", ints(sizes.begin() + 2, sizes.end()));
        }
    });
    if (!fused) return;
    std::vector<std::string> inputs{name};
    auto const output = cx.result();
    if (a.act == activation::clip) {
        if (cx.opset() < 11)
            return cx.write("Clip", inputs, {&output, 1},
                            [&](onnx_attribute_writer& w) { w.real("min", a.act_min), w.real("max", a.act_max); });
        for (auto bound : {a.act_min, a.act_max}) inputs.push_back(detail::scalar_operand(cx, bound));
    }
    constexpr std::string_view names[] = {"", "Relu", "Clip", "Sigmoid", "Tanh"};
    cx.write(names[static_cast<std::size_t>(a.act)], inputs, {&output, 1});
}

// ---- normalisation --------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::batch_norm>::import(onnx_import_context& cx) {
    attributes_of<ops::batch_norm> a;
    a.epsilon = cx.real("epsilon").value_or(static_cast<double>(1e-5f));
    auto const momentum = cx.real("momentum").value_or(static_cast<double>(0.9f));
    if (cx.integer("spatial").value_or(1) != 1) cx.unsupported("spatial = 0, statistics for every position");
    if (cx.integer("training_mode").value_or(0) != 0)
        return cx.add<ops::batch_norm_training>({.epsilon = a.epsilon, .momentum = momentum}, cx.all_operands());
    if (cx.results() > 1) cx.unsupported("training mode", "export the model for inference");
    return cx.add<ops::batch_norm>(a, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::batch_norm_training>::write(onnx_export_context& cx) {
    cx.write("BatchNormalization", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        auto const& a = cx.attributes<ops::batch_norm_training>();
        w.real("epsilon", a.epsilon);
        w.real("momentum", a.momentum);
        w.integer("training_mode", 1);
    });
}

namespace detail {

// Mean and inverse deviation of a layer normalisation, which its node does not give, as nodes of their own.
GSUB_INLINE void make_statistics(onnx_import_context& cx, attributes_of<ops::layer_norm> const& a) {
    auto& b = cx.builder();
    auto const x = cx.operand(0);
    reduce_attributes over;
    for (auto axis = a.axis; axis < 0; ++axis) over.axes.push_back(axis);
    auto const scalar = [&](double v) { return b.constant(tensor::scalar(static_cast<float>(v))); };
    auto const mean = b.add<ops::reduce_mean>(over, {x});
    auto const centred = b.add<ops::sub>(x, mean);
    auto const variance = b.add<ops::reduce_mean>(over, {b.add<ops::mul>(centred, centred)});
    auto const deviation = b.add<ops::sqrt>(b.add<ops::add>(variance, scalar(a.epsilon)));
    cx.give(1, mean);
    cx.give(2, b.add<ops::div>(scalar(1), deviation));
}

} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::layer_norm>::import(onnx_import_context& cx) {
    attributes_of<ops::layer_norm> a;
    a.axis = cx.integer("axis").value_or(-1);
    a.epsilon = cx.real("epsilon").value_or(static_cast<double>(1e-5f));
    if (cx.integer("stash_type").value_or(1) != 1) cx.unsupported("statistics in another element type than f32");
    if (auto const& x = cx.type(0); x.ranked && a.axis >= 0 && normalized_axis(a.axis, x.rank()))
        a.axis -= static_cast<std::int64_t>(x.rank()); // one form for all
    else if (!x.ranked && a.axis >= 0)
        cx.unsupported(format_text("axis {} of a tensor of unknown rank", a.axis));
    if (cx.results() > 3) cx.invalid(format_text("{} results; it has 3", cx.results()));
    auto const statistics = cx.result_is_read(1) || cx.result_is_read(2);
    if (statistics && cx.type(0).element != dtype::f32)
        cx.unsupported("mean and inverse deviation as results, of another element type than f32");
    cx.keep_results(1);
    auto const y = cx.add<ops::layer_norm>(a, cx.all_operands());
    if (statistics) detail::make_statistics(cx, a);
    return y;
}

// ---- pooling --------------------------------------------------------------------------------------------------------

namespace detail {

template <operation Op>
attributes_of<Op> read_pool(onnx_import_context& cx) {
    auto const kernel = cx.integer_list("kernel_shape").value_or(ints{});
    if (kernel.empty()) cx.invalid("no kernel_shape");
    attributes_of<Op> a{read_window(cx, kernel)};
    a.kernel_shape = kernel;
    a.ceil_mode = cx.integer("ceil_mode").value_or(0) != 0;
    return a;
}

template <class Attributes>
void write_pool(onnx_attribute_writer& w, Attributes const& a) {
    w.integer_list("kernel_shape", a.kernel_shape);
    w.integer_list("strides", a.strides);
    w.integer_list("pads", a.pads);
    if (!all_equal(a.dilations, 1)) w.integer_list("dilations", a.dilations);
    if (a.ceil_mode) w.integer("ceil_mode", 1);
}

} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::max_pool>::import(onnx_import_context& cx) {
    auto a = detail::read_pool<ops::max_pool>(cx);
    a.column_major_indices = cx.integer("storage_order").value_or(0) != 0;
    return cx.add<ops::max_pool>(a, cx.all_operands());
}

GSUB_INLINE std::int64_t onnx_traits<ops::max_pool>::needed_opset(any_graph const& g, node_id n) {
    auto const& a = g.attributes<ops::max_pool>(n);
    if (is_integer(g.type({n, 0}).element)) return 12;
    return a.ceil_mode || !all_equal(a.dilations, 1) ? 10 : 8;
}

GSUB_INLINE void onnx_traits<ops::max_pool>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::max_pool>();
    cx.write("MaxPool", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        detail::write_pool(w, a);
        if (a.column_major_indices) w.integer("storage_order", 1);
    });
}

GSUB_INLINE value_id onnx_traits<ops::average_pool>::import(onnx_import_context& cx) {
    auto a = detail::read_pool<ops::average_pool>(cx);
    a.count_include_pad = cx.integer("count_include_pad").value_or(0) != 0;
    return cx.add<ops::average_pool>(a, cx.all_operands());
}

GSUB_INLINE std::int64_t onnx_traits<ops::average_pool>::needed_opset(attributes_of<ops::average_pool> const& a) {
    return !all_equal(a.dilations, 1) ? 19 : a.ceil_mode ? 10 : 7;
}

GSUB_INLINE void onnx_traits<ops::average_pool>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::average_pool>();
    cx.write("AveragePool", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        detail::write_pool(w, a);
        w.integer("count_include_pad", a.count_include_pad);
    });
}

// ---- softmax --------------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::softmax>::import(onnx_import_context& cx) {
    attributes_of<ops::softmax> a;
    a.flatten = cx.opset() < 13;
    a.axis = cx.integer("axis").value_or(a.flatten ? 1 : -1);
    // Over the last dimension alone both meanings agree; the newer one is the simpler.
    if (auto const& x = cx.type(0); a.flatten && x.ranked && normalized_axis(a.axis, x.rank()) == x.rank() - 1) a = {};
    return cx.add<ops::softmax>(a, cx.all_operands());
}

namespace detail {

GSUB_INLINE void write_softmax(onnx_export_context& cx, attributes_of<ops::softmax> const& a) {
    auto const& x = cx.graph().type(cx.graph().operand(cx.node(), 0));
    auto const axis = x.ranked ? normalized_axis(a.axis, x.rank()) : std::nullopt;
    auto const last = axis && *axis + 1 == x.rank();
    auto const plain = [&](std::string const& input, std::string const& output, std::int64_t along) {
        cx.write("Softmax", {&input, 1}, {&output, 1}, [&](onnx_attribute_writer& w) { w.integer("axis", along); });
    };
    if (cx.opset() < 13) { // the old operator flattens
        if (!a.flatten && !last) cx.unsupported("softmax along an inner axis needs operator set 13");
        return plain(cx.operand(0), cx.result(), last ? static_cast<std::int64_t>(*axis) : a.axis);
    }
    if (!a.flatten || last) return plain(cx.operand(0), cx.result(), a.axis);
    // Of no element all axes are alike, and a shape with zeros is none that a Reshape takes.
    if (x.elements() == 0) return plain(cx.operand(0), cx.result(), -1);
    // Flatten, softmax over the rows, and back to the shape before.
    auto const shape = cx.fresh_name("shape"), rows = cx.fresh_name("rows"), done = cx.fresh_name("softmax");
    auto const input = cx.operand(0), output = cx.result();
    cx.write("Shape", {&input, 1}, {&shape, 1});
    cx.write("Flatten", {&input, 1}, {&rows, 1}, [&](onnx_attribute_writer& w) { w.integer("axis", a.axis); });
    plain(rows, done, -1);
    std::vector<std::string> const back{done, shape};
    cx.write("Reshape", back, {&output, 1});
}

GSUB_INLINE void write_as(onnx_export_context& cx, std::string_view op_type) {
    auto const result = cx.result();
    cx.write(op_type, cx.operands(), {&result, 1});
}

} // namespace detail

GSUB_INLINE void onnx_traits<ops::softmax>::write(onnx_export_context& cx) {
    detail::write_softmax(cx, cx.attributes<ops::softmax>());
}
GSUB_INLINE void onnx_traits<ops::fast_softmax>::write(onnx_export_context& cx) {
    detail::write_softmax(cx, cx.attributes<ops::fast_softmax>());
}

// ---- dropout --------------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::dropout>::import(onnx_import_context& cx) {
    cx.ignore("ratio");
    cx.ignore("seed");
    if (cx.opset() < 10 && cx.results() > 1) {
        if (cx.result_is_read(1)) cx.unsupported("the mask of operator set 7, which is no boolean tensor");
        cx.keep_results(1);
    }
    auto const ratio = cx.has(1) ? cx.known_number(1) : 0.5, training = cx.has(2) ? cx.known_number(2) : 0.0;
    if (training == 0.0 || ratio == 0.0) return cx.add<ops::dropout>({}, {cx.operand(0)});
    if (training && ratio) cx.unsupported("training mode, whose result is random", "export the model for inference");
    return cx.add<ops::dropout>({}, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::dropout>::write(onnx_export_context& cx) {
    auto const inputs = cx.operands();
    if (inputs.size() > 1 && cx.opset() < 12) cx.unsupported("ratio and mode as operands need operator set 12");
    cx.write("Dropout", inputs, cx.results());
}

} // namespace gsub::io
