#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::io {

namespace detail {

// Pads of ONNX's SAME modes, which depend on the input's size unless the stride is one.
GSUB_INLINE ints same_pads(onnx_import_context& cx, ints const& kernel, window_attributes const& w, bool upper) {
    auto const spatial = kernel.size();
    ints pads(2 * spatial, 0);
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const extent = window_extent(kernel[i], w.dilations[i]);
        auto total = extent - 1;
        if (w.strides[i] != 1) {
            if (!cx.type(0).ranked || cx.type(0).rank() != spatial + 2 || !cx.type(0).dims[i + 2].fixed())
                cx.unsupported("auto_pad SAME with a stride and an unknown size",
                               "give the model fixed spatial dimensions");
            auto const size = cx.type(0).dims[i + 2].size();
            auto const outputs = (size + w.strides[i] - 1) / w.strides[i];
            total = std::max<std::int64_t>((outputs - 1) * w.strides[i] + extent - size, 0);
        }
        pads[i] = upper ? total / 2 : total - total / 2;
        pads[i + spatial] = total - pads[i];
    }
    return pads;
}

// Strides, pads and dilations of a node, with ONNX's defaults and SAME modes made explicit.
GSUB_INLINE window_attributes read_window(onnx_import_context& cx, ints const& kernel) {
    auto const spatial = kernel.size();
    window_attributes w;
    w.strides = cx.integer_list("strides").value_or(ints(spatial, 1));
    w.dilations = cx.integer_list("dilations").value_or(ints(spatial, 1));
    w.pads = cx.integer_list("pads").value_or(ints(2 * spatial, 0));
    auto const mode = cx.text("auto_pad").value_or("NOTSET");
    if (mode == "NOTSET") return w;
    if (mode == "VALID")
        w.pads = ints(2 * spatial, 0);
    else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
        if (w.strides.size() != spatial || w.dilations.size() != spatial)
            cx.invalid("strides or dilations of another length than the kernel");
        for (std::size_t i = 0; i < spatial; ++i)
            if (kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 || kernel[i] > (1 << 30) ||
                w.dilations[i] > (1 << 30) || w.strides[i] > (1 << 30))
                cx.invalid("kernel, strides and dilations must be in [1, 2^30]");
        w.pads = same_pads(cx, kernel, w, mode == "SAME_UPPER");
    } else {
        cx.invalid(fmt::format("auto_pad \"{}\"", mode));
    }
    return w;
}

// Spatial sizes of the weight, operand `i`.
GSUB_INLINE ints read_kernel(onnx_import_context& cx, std::size_t i) {
    auto const declared = cx.integer_list("kernel_shape");
    if (!cx.has(i)) cx.invalid("no weight");
    auto const& w = cx.type(i);
    // The file need not say the kernel's size, and without it no pads or strides have a meaning.
    if (!w.ranked) cx.unsupported("a weight of unknown shape");
    if (w.rank() < 3) cx.invalid(fmt::format("weight {}; it takes rank 3 and more", to_string(w)));
    ints kernel;
    for (std::size_t d = 2; d < w.rank(); ++d) {
        if (!w.dims[d].fixed()) cx.unsupported("a kernel of unknown size");
        kernel.push_back(w.dims[d].size());
    }
    if (declared && *declared != kernel)
        cx.invalid(
            fmt::format("kernel_shape {} with a weight {}", to_string(attribute_value{*declared}), to_string(w)));
    return kernel;
}

template <class Attributes>
void assign_window(Attributes& a, window_attributes&& w) {
    a.strides = std::move(w.strides);
    a.pads = std::move(w.pads);
    a.dilations = std::move(w.dilations);
}

// A list that is an attribute in old files and an operand in new ones: known, or left to the operand.
GSUB_INLINE std::optional<ints> attribute_or_operand(onnx_import_context& cx, std::string_view attribute,
                                                     std::size_t operand) {
    if (auto list = cx.integer_list(attribute)) return list;
    return cx.known_ints(operand);
}

// A constant operand as a number, if it has the element type of the first operand: so it goes back into a file.
GSUB_INLINE std::optional<double> known_setting(onnx_import_context const& cx, std::size_t i) {
    if (cx.type(0).element == dtype::undefined || cx.type(i).element != cx.type(0).element) return std::nullopt;
    return cx.known_number(i);
}

// A number as an operand of the node's element type.
GSUB_INLINE std::string scalar_operand(onnx_export_context& cx, double value) {
    auto const element = cx.graph().type({cx.node(), 0}).element;
    if (element == dtype::undefined) cx.unsupported("an operand of unknown element type");
    return cx.initializer(tensor::scalar(value).converted_to(element));
}

} // namespace detail

// ---- neural networks
// -----------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::conv>::import(onnx_import_context& cx) {
    attributes_of<ops::conv> a;
    auto const kernel = detail::read_kernel(cx, 1);
    detail::assign_window(a, detail::read_window(cx, kernel));
    a.group = cx.integer("group").value_or(1);
    return cx.add<ops::conv>(a, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::conv>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::conv>();
    auto const fused = a.act != activation::none;
    auto const name = fused ? cx.fresh_name("conv") : cx.result();
    cx.write("Conv", cx.operands(), {&name, 1}, [&](onnx_attribute_writer& w) {
        w.integer_list("strides", a.strides);
        w.integer_list("pads", a.pads);
        w.integer_list("dilations", a.dilations);
        w.integer("group", a.group);
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

// ---- quantized numbers
// ----------------------------------------------------------------------------------------------------

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

template <operation Op>
value_id import_integer_convolution(onnx_import_context& cx, std::size_t weight) {
    integer_window a;
    assign_window(a, read_window(cx, read_kernel(cx, weight)));
    a.group = cx.integer("group").value_or(1);
    return cx.add<Op>(a, cx.all_operands());
}

GSUB_INLINE void write_integer_convolution(onnx_export_context& cx, integer_window const& a) {
    cx.write(cx.graph().op(cx.node()).name, cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        w.integer_list("strides", a.strides);
        w.integer_list("pads", a.pads);
        w.integer_list("dilations", a.dilations);
        w.integer("group", a.group);
    });
}

} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::quantize>::import(onnx_import_context& cx) {
    auto const a = detail::read_scaled(cx);
    auto const number = cx.integer("output_dtype").value_or(0);
    auto const wanted = number == 0 ? std::optional{dtype::undefined} : dtype_of_onnx(number);
    if (!wanted) cx.unsupported(fmt::format("element type number {}", number));
    if (cx.has(2) || *wanted == dtype::undefined || *wanted == dtype::u8) {
        if (cx.has(2) && *wanted != dtype::undefined && *wanted != cx.type(2).element)
            cx.invalid(fmt::format("output_dtype {} with a zero point {}", to_string(*wanted), to_string(cx.type(2))));
        return cx.add<ops::quantize>(a, cx.all_operands());
    }
    // A zero point says the type of the result.
    if (!cx.type(1).is_static()) cx.unsupported("output_dtype with scales of unknown size");
    if (!is_integer(*wanted)) cx.unsupported(fmt::format("output_dtype {}", to_string(*wanted)));
    auto const zero = cx.builder().constant(tensor::zeros(*wanted, cx.type(1).sizes()));
    return cx.add<ops::quantize>(a, {cx.operand(0), cx.operand(1), zero});
}
GSUB_INLINE value_id onnx_traits<ops::dequantize>::import(onnx_import_context& cx) {
    return cx.add<ops::dequantize>(detail::read_scaled(cx), cx.all_operands());
}
GSUB_INLINE void onnx_traits<ops::quantize>::write(onnx_export_context& cx) {
    detail::write_scaled(cx, cx.attributes<ops::quantize>());
}
GSUB_INLINE void onnx_traits<ops::dequantize>::write(onnx_export_context& cx) {
    detail::write_scaled(cx, cx.attributes<ops::dequantize>());
}
GSUB_INLINE std::int64_t onnx_traits<ops::quantize>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_of_scaled(g, n, g.attributes<ops::quantize>(n));
}
GSUB_INLINE std::int64_t onnx_traits<ops::dequantize>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_of_scaled(g, n, g.attributes<ops::dequantize>(n));
}

GSUB_INLINE value_id onnx_traits<ops::conv_integer>::import(onnx_import_context& cx) {
    return detail::import_integer_convolution<ops::conv_integer>(cx, 1);
}
GSUB_INLINE void onnx_traits<ops::conv_integer>::write(onnx_export_context& cx) {
    detail::write_integer_convolution(cx, cx.attributes<ops::conv_integer>());
}
GSUB_INLINE value_id onnx_traits<ops::qlinear_conv>::import(onnx_import_context& cx) {
    return detail::import_integer_convolution<ops::qlinear_conv>(cx, 3);
}
GSUB_INLINE void onnx_traits<ops::qlinear_conv>::write(onnx_export_context& cx) {
    detail::write_integer_convolution(cx, cx.attributes<ops::qlinear_conv>());
}
GSUB_INLINE value_id onnx_traits<ops::qlinear_mat_mul>::import(onnx_import_context& cx) {
    for (std::size_t i : {6u, 7u})
        if (cx.has(i) && cx.type(i).ranked && cx.type(i).elements() != 1) cx.unsupported("scales of the result's rows");
    for (std::size_t i : {1u, 4u, 6u})
        if (cx.has(i) && cx.type(i).element != dtype::f32) cx.unsupported("scales of another element type than f32");
    return cx.add<ops::qlinear_mat_mul>({}, cx.all_operands());
}

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

GSUB_INLINE value_id onnx_traits<ops::max_pool>::import(onnx_import_context& cx) {
    attributes_of<ops::max_pool> a;
    a.kernel_shape = cx.integer_list("kernel_shape").value_or(ints{});
    if (a.kernel_shape.empty()) cx.invalid("no kernel_shape");
    detail::assign_window(a, detail::read_window(cx, a.kernel_shape));
    a.ceil_mode = cx.integer("ceil_mode").value_or(0) != 0;
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
        w.integer_list("kernel_shape", a.kernel_shape);
        w.integer_list("strides", a.strides);
        w.integer_list("pads", a.pads);
        if (!all_equal(a.dilations, 1)) w.integer_list("dilations", a.dilations);
        if (a.ceil_mode) w.integer("ceil_mode", 1);
        if (a.column_major_indices) w.integer("storage_order", 1);
    });
}

GSUB_INLINE value_id onnx_traits<ops::average_pool>::import(onnx_import_context& cx) {
    attributes_of<ops::average_pool> a;
    a.kernel_shape = cx.integer_list("kernel_shape").value_or(ints{});
    if (a.kernel_shape.empty()) cx.invalid("no kernel_shape");
    detail::assign_window(a, detail::read_window(cx, a.kernel_shape));
    a.ceil_mode = cx.integer("ceil_mode").value_or(0) != 0;
    a.count_include_pad = cx.integer("count_include_pad").value_or(0) != 0;
    return cx.add<ops::average_pool>(a, cx.all_operands());
}

GSUB_INLINE std::int64_t onnx_traits<ops::average_pool>::needed_opset(attributes_of<ops::average_pool> const& a) {
    return !all_equal(a.dilations, 1) ? 19 : a.ceil_mode ? 10 : 7;
}

GSUB_INLINE void onnx_traits<ops::average_pool>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::average_pool>();
    cx.write("AveragePool", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        w.integer_list("kernel_shape", a.kernel_shape);
        w.integer_list("strides", a.strides);
        w.integer_list("pads", a.pads);
        if (!all_equal(a.dilations, 1)) w.integer_list("dilations", a.dilations);
        if (a.ceil_mode) w.integer("ceil_mode", 1);
        w.integer("count_include_pad", a.count_include_pad);
    });
}

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
GSUB_INLINE void onnx_traits<ops::fast_exp>::write(onnx_export_context& cx) {
    detail::write_as(cx, op_traits<ops::exp>::name);
}
GSUB_INLINE void onnx_traits<ops::fast_tanh>::write(onnx_export_context& cx) {
    detail::write_as(cx, op_traits<ops::tanh>::name);
}
GSUB_INLINE void onnx_traits<ops::fast_erf>::write(onnx_export_context& cx) {
    detail::write_as(cx, op_traits<ops::erf>::name);
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
        cx.unsupported(fmt::format("axis {} of a tensor of unknown rank", a.axis));
    auto const statistics = cx.result_is_read(1) || cx.result_is_read(2);
    if (statistics && cx.type(0).element != dtype::f32)
        cx.unsupported("mean and inverse deviation as results, of another element type than f32");
    cx.keep_results(1);
    auto const y = cx.add<ops::layer_norm>(a, cx.all_operands());
    if (statistics) detail::make_statistics(cx, a);
    return y;
}

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

// ---- elementwise
// ---------------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::clip>::import(onnx_import_context& cx) {
    attributes_of<ops::clip> a;
    if (cx.opset() < 11) {
        if (cx.type(0).element == dtype::undefined) cx.unsupported("an operand of unknown element type");
        a.min = cx.real("min").value_or(a.min);
        a.max = cx.real("max").value_or(a.max);
        return cx.add<ops::clip>(a, {cx.operand(0)});
    }
    auto const low = detail::known_setting(cx, 1), high = detail::known_setting(cx, 2);
    if ((cx.has(1) && !low) || (cx.has(2) && !high)) return cx.add<ops::clip>(a, cx.all_operands());
    a.min = low.value_or(a.min);
    a.max = high.value_or(a.max);
    return cx.add<ops::clip>(a, {cx.operand(0)});
}

GSUB_INLINE std::int64_t onnx_traits<ops::clip>::needed_opset(any_graph const& g, node_id n) {
    return is_integer(g.type({n, 0}).element) ? 12 : 6;
}

GSUB_INLINE void onnx_traits<ops::clip>::write(onnx_export_context& cx) {
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    auto const& a = cx.attributes<ops::clip>();
    auto inputs = cx.operands();
    auto const output = cx.result();
    if (cx.opset() < 11) {
        if (inputs.size() > 1) cx.unsupported("bounds as operands need operator set 11");
        return cx.write("Clip", inputs, {&output, 1}, [&](onnx_attribute_writer& w) {
            if (a.min != -infinity) w.real("min", a.min);
            if (a.max != infinity) w.real("max", a.max);
        });
    }
    if (inputs.size() == 1) {
        for (auto bound : {a.min, a.max})
            inputs.push_back(bound == (inputs.size() == 1 ? -infinity : infinity) ? std::string{}
                                                                                  : detail::scalar_operand(cx, bound));
    }
    cx.write("Clip", inputs, {&output, 1});
}

GSUB_INLINE value_id onnx_traits<ops::sum>::import(onnx_import_context& cx) {
    if (cx.operands() == 1) return cx.add<ops::identity>({}, cx.all_operands());
    if (cx.operands() == 2) return cx.add<ops::add>({}, cx.all_operands());
    return cx.add<ops::sum>({}, cx.all_operands());
}

GSUB_INLINE value_id onnx_traits<ops::pow>::import(onnx_import_context& cx) {
    auto const base = cx.type(0).element, exponent = cx.type(1).element;
    if (base == exponent || base == dtype::undefined || exponent == dtype::undefined)
        return cx.add<ops::pow>({}, cx.all_operands());
    // The result has the type of the base, and nothing of the exponent may be lost before.
    if (is_floating(base))
        return cx.add<ops::pow>({}, {cx.operand(0), cx.builder().add<ops::cast>({.to = base}, {cx.operand(1)})});
    auto const both = is_floating(exponent) ? exponent : widest_of_kind(exponent); // powers wrap alike in both
    auto const wide = [&](std::size_t i, dtype from) {
        return from == both ? cx.operand(i) : cx.builder().add<ops::cast>({.to = both}, {cx.operand(i)});
    };
    return cx.add<ops::cast>({.to = base}, {cx.builder().add<ops::pow>(wide(0, base), wide(1, exponent))});
}

namespace detail {

// Attributes of a reduction; nothing where it reduces nothing. Unknown axes stay an operand.
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

template <operation Op>
value_id import_reduction(onnx_import_context& cx) {
    auto const a = read_reduction(cx);
    if (!a) return cx.add<ops::identity>({}, {cx.operand(0)});
    auto const open = cx.has(1) && !cx.known_ints(1);
    return cx.add<Op>(*a, cx.all_operands().first(open ? 2 : std::min<std::size_t>(cx.operands(), 1)));
}

// `since` is the operator set from which on the axes are an operand.
GSUB_INLINE void write_reduction(onnx_export_context& cx, reduce_attributes const& a, std::int64_t since) {
    auto inputs = cx.operands();
    auto const as_attribute = cx.opset()<since, open = inputs.size()> 1;
    if (as_attribute && open) cx.unsupported(fmt::format("axes as an operand need operator set {}", since));
    if (!as_attribute && !open && !a.axes.empty()) inputs.push_back(cx.initializer(a.axes));
    cx.write(cx.graph().op(cx.node()).name, inputs, cx.results(), [&](onnx_attribute_writer& w) {
        if (as_attribute && !a.axes.empty()) w.integer_list("axes", a.axes);
        w.integer("keepdims", a.keepdims);
        if (open && a.noop_with_empty_axes) w.integer("noop_with_empty_axes", 1);
    });
}

} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::reduce_sum>::import(onnx_import_context& cx) {
    return detail::import_reduction<ops::reduce_sum>(cx);
}
GSUB_INLINE value_id onnx_traits<ops::reduce_mean>::import(onnx_import_context& cx) {
    return detail::import_reduction<ops::reduce_mean>(cx);
}
GSUB_INLINE value_id onnx_traits<ops::reduce_max>::import(onnx_import_context& cx) {
    return detail::import_reduction<ops::reduce_max>(cx);
}
GSUB_INLINE void onnx_traits<ops::reduce_sum>::write(onnx_export_context& cx) {
    detail::write_reduction(cx, cx.attributes<ops::reduce_sum>(), 13);
}
GSUB_INLINE void onnx_traits<ops::reduce_mean>::write(onnx_export_context& cx) {
    detail::write_reduction(cx, cx.attributes<ops::reduce_mean>(), 18);
}
GSUB_INLINE void onnx_traits<ops::reduce_max>::write(onnx_export_context& cx) {
    detail::write_reduction(cx, cx.attributes<ops::reduce_max>(), 18);
}

GSUB_INLINE value_id onnx_traits<ops::cast>::import(onnx_import_context& cx) {
    auto const number = cx.integer("to");
    if (!number) cx.invalid("no target type");
    cx.ignore("saturate"); // concerns 8-bit floats only
    auto const to = dtype_of_onnx(*number);
    if (!to) cx.unsupported(fmt::format("element type number {}", *number));
    if (cx.type(0).element == dtype::undefined)
        cx.unsupported("an operand of an element type that gsub does not compute with");
    return cx.add<ops::cast>({.to = *to}, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::cast>::write(onnx_export_context& cx) {
    cx.write("Cast", cx.operands(), cx.results(),
             [&](onnx_attribute_writer& w) { w.integer("to", info(cx.attributes<ops::cast>().to).onnx); });
}

// ---- moving elements
// -----------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::concat>::import(onnx_import_context& cx) {
    auto const axis = cx.integer("axis");
    if (!axis) cx.invalid("no axis");
    return cx.add<ops::concat>({.axis = *axis}, cx.all_operands());
}

GSUB_INLINE value_id onnx_traits<ops::split>::import(onnx_import_context& cx) {
    attributes_of<ops::split> a;
    a.axis = cx.integer("axis").value_or(0);
    auto const parts = static_cast<std::int64_t>(cx.results());
    if (auto const wanted = cx.integer("num_outputs"); wanted && *wanted != parts)
        cx.invalid(fmt::format("num_outputs {} for {} results", *wanted, parts));
    if (auto sizes = detail::attribute_or_operand(cx, "split", 1)) {
        a.sizes = *sizes;
        return cx.add<ops::split>(a, {cx.operand(0)});
    }
    if (cx.has(1)) return cx.add<ops::split>(a, cx.all_operands());
    // Equal parts; from operator set 18 on the last one may be smaller.
    auto const& x = cx.type(0);
    auto const axis = x.ranked ? normalized_axis(a.axis, x.rank()) : std::nullopt;
    if (x.ranked && !axis) cx.invalid(fmt::format("axis {} for operand {}", a.axis, to_string(x)));
    if (parts == 0) cx.invalid("no results");
    if (!axis || !x.dims[*axis].fixed()) cx.unsupported("equal parts of a dimension of unknown size");
    auto const size = x.dims[*axis].size(), part = (size + parts - 1) / parts;
    if (size % parts != 0 && cx.opset() < 18)
        cx.invalid(fmt::format("{} equal parts of a dimension of size {}", parts, size));
    for (std::int64_t i = 0; i < parts; ++i)
        a.sizes.push_back(std::max<std::int64_t>(0, std::min(part, size - i * part)));
    return cx.add<ops::split>(a, {cx.operand(0)});
}

GSUB_INLINE void onnx_traits<ops::split>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::split>();
    auto inputs = cx.operands();
    if (cx.opset() < 13 && inputs.size() > 1) cx.unsupported("sizes as an operand need operator set 13");
    if (cx.opset() >= 13 && inputs.size() == 1) inputs.push_back(cx.initializer(a.sizes));
    cx.write("Split", inputs, cx.results(), [&](onnx_attribute_writer& w) {
        w.integer("axis", a.axis);
        if (cx.opset() < 13) w.integer_list("split", a.sizes);
    });
}

GSUB_INLINE value_id onnx_traits<ops::slice>::import(onnx_import_context& cx) {
    auto const starts = detail::attribute_or_operand(cx, "starts", 1),
               ends = detail::attribute_or_operand(cx, "ends", 2);
    ints every_axis, unit_steps;
    if (starts)
        for (std::size_t i = 0; i < starts->size(); ++i)
            every_axis.push_back(static_cast<std::int64_t>(i)), unit_steps.push_back(1);
    auto const axes =
        cx.has(3) || cx.has_attribute("axes") ? detail::attribute_or_operand(cx, "axes", 3) : std::optional{every_axis};
    auto const steps = cx.has(4) ? cx.known_ints(4) : std::optional{unit_steps};
    if (!starts || !ends || !axes || !steps) return cx.add<ops::slice>({}, cx.all_operands());
    return cx.add<ops::slice>({.starts = *starts, .ends = *ends, .axes = *axes, .steps = *steps}, {cx.operand(0)});
}

GSUB_INLINE void onnx_traits<ops::slice>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::slice>();
    auto inputs = cx.operands();
    if (cx.opset() < 10) {
        if (inputs.size() > 1 || !all_equal(a.steps, 1))
            cx.unsupported("steps and bounds as operands need operator set 10");
        return cx.write("Slice", inputs, cx.results(), [&](onnx_attribute_writer& w) {
            w.integer_list("starts", a.starts), w.integer_list("ends", a.ends), w.integer_list("axes", a.axes);
        });
    }
    if (inputs.size() == 1)
        for (auto const* list : {&a.starts, &a.ends, &a.axes, &a.steps}) inputs.push_back(cx.initializer(*list));
    cx.write("Slice", inputs, cx.results());
}

GSUB_INLINE value_id onnx_traits<ops::pad>::import(onnx_import_context& cx) {
    attributes_of<ops::pad> a;
    a.mode = cx.text("mode").value_or("constant");
    if (a.mode == "wrap") cx.unsupported("mode \"wrap\"");
    if (cx.opset() < 11) {
        auto const pads = cx.integer_list("pads");
        if (!pads) cx.invalid("no pads");
        if (cx.type(0).element == dtype::undefined) cx.unsupported("an operand of unknown element type");
        a.pads = *pads;
        a.value = cx.real("value").value_or(0);
        return cx.add<ops::pad>(a, {cx.operand(0)});
    }
    auto const pads = cx.known_ints(1);
    auto const value = cx.has(2) ? detail::known_setting(cx, 2) : std::optional{0.0};
    auto const& x = cx.type(0);
    if (!pads || !value || !x.ranked || x.element == dtype::undefined || (cx.has(3) && !cx.known_ints(3)))
        return cx.add<ops::pad>(a, cx.all_operands());
    a.value = *value;
    a.pads = *pads;
    if (cx.has(3)) { // pads of some axes become pads of all
        auto const axes = *cx.known_ints(3);
        if (pads->size() != 2 * axes.size()) cx.invalid(fmt::format("{} pads for {} axes", pads->size(), axes.size()));
        a.pads = ints(2 * x.rank(), 0);
        for (std::size_t i = 0; i < axes.size(); ++i) {
            auto const axis = normalized_axis(axes[i], x.rank());
            if (!axis) cx.invalid(fmt::format("axis {} for operand {}", axes[i], to_string(x)));
            a.pads[*axis] = (*pads)[i];
            a.pads[*axis + x.rank()] = (*pads)[i + axes.size()];
        }
    }
    return cx.add<ops::pad>(a, {cx.operand(0)});
}

GSUB_INLINE void onnx_traits<ops::pad>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::pad>();
    auto inputs = cx.operands();
    if (cx.opset() < 11) {
        if (inputs.size() > 1) cx.unsupported("pads as an operand need operator set 11");
        return cx.write("Pad", inputs, cx.results(), [&](onnx_attribute_writer& w) {
            w.text("mode", a.mode), w.integer_list("pads", a.pads), w.real("value", a.value);
        });
    }
    if (inputs.size() == 1) {
        inputs.push_back(cx.initializer(a.pads));
        if (a.mode == "constant") inputs.push_back(detail::scalar_operand(cx, a.value));
    }
    cx.write("Pad", inputs, cx.results(), [&](onnx_attribute_writer& w) { w.text("mode", a.mode); });
}

GSUB_INLINE value_id onnx_traits<ops::reshape>::import(onnx_import_context& cx) {
    attributes_of<ops::reshape> a;
    a.allow_zero = cx.integer("allowzero").value_or(0) != 0;
    if (!cx.has(1)) cx.invalid("no shape");
    if (auto const target = cx.known_ints(1)) {
        a.shape = *target;
        return cx.add<ops::reshape>(a, {cx.operand(0)});
    }
    // All but one size known, and the operand's own sizes fix the rest: the unknown one is what is left over.
    if (auto const* k = cx.builder().known(cx.operand(1))) {
        std::size_t unknown = 0;
        bool plain = !a.allow_zero;
        for (auto const& e : *k) {
            unknown += !e.fixed;
            plain = plain && (!e.fixed || e.value > 0);
            a.shape.push_back(e.fixed ? e.value : -1);
        }
        if (unknown == 1 && plain) return cx.add<ops::reshape>(a, {cx.operand(0)});
        a.shape.clear();
    }
    return cx.add<ops::reshape>(a, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::reshape>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::reshape>();
    auto inputs = cx.operands();
    if (inputs.size() == 1) inputs.push_back(cx.initializer(a.shape));
    cx.write("Reshape", inputs, cx.results(), [&](onnx_attribute_writer& w) {
        if (a.allow_zero) w.integer("allowzero", 1);
    });
}

// ---- truth values
// ---------------------------------------------------------------------------------------------------------

namespace detail {
// The version of a definition that takes the element type of operand `i`.
GSUB_INLINE std::int64_t opset_by_type(any_graph const& g, node_id n, std::size_t i, std::int64_t floats,
                                       std::int64_t halves, std::int64_t bf16, std::int64_t integers,
                                       std::int64_t other_integers) {
    switch (g.type(g.operand(n, i)).element) {
    case dtype::bf16:
        return bf16;
    case dtype::f16:
        return halves;
    case dtype::f32:
    case dtype::f64:
        return floats;
    case dtype::undefined:
    case dtype::boolean:
    case dtype::i32:
    case dtype::i64:
        return integers;
    default:
        return other_integers;
    }
}
} // namespace detail

GSUB_INLINE std::int64_t onnx_traits<ops::equal>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 11, 11, 13, 7, 11);
}
GSUB_INLINE std::int64_t onnx_traits<ops::less>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 7, 7, 13, 9, 9);
}
GSUB_INLINE std::int64_t onnx_traits<ops::greater>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 7, 7, 13, 9, 9);
}
GSUB_INLINE std::int64_t onnx_traits<ops::less_or_equal>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 12, 12, 16, 12, 12);
}
GSUB_INLINE std::int64_t onnx_traits<ops::greater_or_equal>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 12, 12, 16, 12, 12);
}
GSUB_INLINE std::int64_t onnx_traits<ops::is_nan>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 9, 9, 13, 9, 9);
}
GSUB_INLINE std::int64_t onnx_traits<ops::is_inf>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 10, 20, 20, 10, 10);
}
GSUB_INLINE std::int64_t onnx_traits<ops::where>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 1, 9, 9, 16, 9, 9);
}

// ---- sizes
// ----------------------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::expand>::import(onnx_import_context& cx) {
    if (!cx.has(1)) cx.invalid("no shape");
    if (auto const target = cx.known_ints(1)) return cx.add<ops::expand>({.shape = *target}, {cx.operand(0)});
    return cx.add<ops::expand>({}, cx.all_operands());
}
GSUB_INLINE void onnx_traits<ops::expand>::write(onnx_export_context& cx) {
    auto inputs = cx.operands();
    if (inputs.size() == 1) inputs.push_back(cx.initializer(cx.attributes<ops::expand>().shape));
    cx.write("Expand", inputs, cx.results());
}
GSUB_INLINE std::int64_t onnx_traits<ops::expand>::needed_opset(any_graph const& g, node_id n) {
    return detail::opset_by_type(g, n, 0, 8, 8, 13, 8, 8);
}

GSUB_INLINE value_id onnx_traits<ops::range>::import(onnx_import_context& cx) {
    auto const start = cx.known_number(0), limit = cx.known_number(1), delta = cx.known_number(2);
    auto const element = cx.type(0).element;
    if (!start || !limit || !delta || !is_floating(element)) return cx.add<ops::range>({}, cx.all_operands());
    // Inference does not read floating numbers.
    constexpr double most = 1 << 16;
    auto const steps = std::ceil((*limit - *start) / *delta);
    if (!(steps <= most)) return cx.add<ops::range>({}, cx.all_operands());
    auto const count = static_cast<std::int64_t>(std::max(steps, 0.0));
    auto numbers = tensor::uninitialized(dtype::f64, ints{count});
    for (std::int64_t i = 0; i < count; ++i)
        numbers.mutable_data<double>()[static_cast<std::size_t>(i)] = *start + static_cast<double>(i) * *delta;
    return cx.builder().constant(numbers.converted_to(element));
}

GSUB_INLINE value_id onnx_traits<ops::transpose>::import(onnx_import_context& cx) {
    if (auto const perm = cx.integer_list("perm")) return cx.add<ops::transpose>({.perm = *perm}, cx.all_operands());
    if (!cx.type(0).ranked) cx.unsupported("reversed dimensions of a tensor of unknown rank");
    ints reversed;
    for (auto i = cx.type(0).rank(); i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
    return cx.add<ops::transpose>({.perm = reversed}, cx.all_operands());
}

GSUB_INLINE value_id onnx_traits<ops::squeeze>::import(onnx_import_context& cx) {
    if (auto const axes = detail::attribute_or_operand(cx, "axes", 1))
        return cx.add<ops::squeeze>({.axes = *axes}, {cx.operand(0)});
    return cx.add<ops::squeeze>({}, cx.all_operands());
}

GSUB_INLINE value_id onnx_traits<ops::unsqueeze>::import(onnx_import_context& cx) {
    if (auto const axes = detail::attribute_or_operand(cx, "axes", 1))
        return cx.add<ops::unsqueeze>({.axes = *axes}, {cx.operand(0)});
    if (!cx.has(1)) cx.invalid("no axes");
    return cx.add<ops::unsqueeze>({}, cx.all_operands());
}

namespace detail {

// Axes as an attribute before operator set 13, as an operand from then on. None may mean to leave them out.
GSUB_INLINE void write_with_axes(onnx_export_context& cx, std::string_view op_type, ints const& axes, bool required) {
    auto inputs = cx.operands();
    auto const as_attribute = cx.opset() < 13;
    if (as_attribute && inputs.size() > 1) cx.unsupported("axes as an operand need operator set 13");
    auto const given = inputs.size() == 1 && (required || !axes.empty());
    if (!as_attribute && given) inputs.push_back(cx.initializer(axes));
    cx.write(op_type, inputs, cx.results(), [&](onnx_attribute_writer& w) {
        if (as_attribute && given) w.integer_list("axes", axes);
    });
}

} // namespace detail

GSUB_INLINE void onnx_traits<ops::squeeze>::write(onnx_export_context& cx) {
    detail::write_with_axes(cx, "Squeeze", cx.attributes<ops::squeeze>().axes, false);
}
GSUB_INLINE void onnx_traits<ops::unsqueeze>::write(onnx_export_context& cx) {
    detail::write_with_axes(cx, "Unsqueeze", cx.attributes<ops::unsqueeze>().axes, true);
}

GSUB_INLINE void onnx_traits<ops::shape>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::shape>();
    cx.write("Shape", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (a.start != 0) w.integer("start", a.start);
        if (a.end != std::numeric_limits<std::int64_t>::max()) w.integer("end", a.end);
    });
}

// Before version 11 both branches have to give the same shapes.
GSUB_INLINE std::int64_t onnx_traits<ops::if_else>::needed_opset(any_graph const& g, node_id n) {
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (!g.type({n, port}).is_static()) return 11;
    return 1;
}

// ---- sources
// -------------------------------------------------------------------------------------------------------------

GSUB_INLINE value_id onnx_traits<ops::fill>::import(onnx_import_context& cx) {
    attributes_of<ops::fill> a;
    if (auto const value = cx.tensor_value("value")) {
        if (value->elements() != 1) cx.invalid("the value must have one element");
        a.element = value->element();
        if (is_floating(a.element))
            a.value = value->converted_to(dtype::f64).data<double>()[0];
        else
            a.integer = value->converted_to(dtype::i64).data<std::int64_t>()[0];
    }
    if (auto const shape = cx.known_ints(0)) {
        a.shape = *shape;
        return cx.add<ops::fill>(a, std::initializer_list<value_id>{});
    }
    return cx.add<ops::fill>(a, cx.all_operands());
}

GSUB_INLINE void onnx_traits<ops::fill>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::fill>();
    auto inputs = cx.operands();
    if (inputs.empty()) inputs.push_back(cx.initializer(a.shape));
    auto const one =
        is_floating(a.element) ? tensor::from<double>({1}, {a.value}) : tensor::from<std::int64_t>({1}, {a.integer});
    cx.write("ConstantOfShape", inputs, cx.results(),
             [&](onnx_attribute_writer& w) { w.tensor_value("value", one.converted_to(a.element)); });
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
    cx.unsupported("a constant that is neither a dense tensor nor a number");
}

} // namespace gsub::io
