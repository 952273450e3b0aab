#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_settings.hpp>
#include <gsub/io/onnx_ops.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::io {

// ---- moving elements ------------------------------------------------------------------------------------------------

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
        cx.invalid(format_text("num_outputs {} for {} results", *wanted, parts));
    if (auto sizes = detail::attribute_or_operand(cx, "split", 1)) {
        a.sizes = *sizes;
        return cx.add<ops::split>(a, {cx.operand(0)});
    }
    if (cx.has(1)) return cx.add<ops::split>(a, cx.all_operands());
    // Equal parts; from operator set 18 on the last one may be smaller.
    auto const& x = cx.type(0);
    auto const axis = x.ranked ? normalized_axis(a.axis, x.rank()) : std::nullopt;
    if (x.ranked && !axis) cx.invalid(format_text("axis {} for operand {}", a.axis, to_string(x)));
    if (parts == 0) cx.invalid("no results");
    if (!axis || !x.dims[*axis].fixed()) cx.unsupported("equal parts of a dimension of unknown size");
    auto const size = x.dims[*axis].size(), part = (size + parts - 1) / parts;
    if (size % parts != 0 && cx.opset() < 18)
        cx.invalid(format_text("{} equal parts of a dimension of size {}", parts, size));
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

namespace detail {
// The operand beside itself, along each axis as often as it has a border: entries that indices name.
GSUB_INLINE value_id wrapped_around(onnx_import_context& cx, ints const& pads) {
    auto y = cx.operand(0);
    auto const& x = cx.type(0);
    auto const rank = x.rank();
    if (pads.size() != 2 * rank) cx.invalid(format_text("{} pads for operand {}", pads.size(), to_string(x)));
    for (std::size_t i = 0; i < rank; ++i) {
        auto const before = pads[i], after = pads[rank + i];
        if (before == 0 && after == 0) continue;
        if (!x.dims[i].fixed()) cx.unsupported(format_text("mode \"wrap\" along dimension {}, which has no size", i));
        auto const size = x.dims[i].size();
        constexpr std::int64_t most = 1 << 24;
        if (size > most || std::max(before, after) > most) cx.unsupported("mode \"wrap\" with more than 2^24 entries");
        if (std::min(before, after) < -most || before + size + after < 0 || (size == 0 && before + after > 0))
            cx.invalid(format_text("pads {} and {} of a dimension of size {}", before, after, size));
        cx.take_constant({before + size + after}, "mode \"wrap\" with more than 2^24 entries");
        auto places = tensor::uninitialized(dtype::i64, ints{before + size + after});
        auto place = -before;
        for (auto& v : places.mutable_data<std::int64_t>()) {
            v = (place % size + size) % size;
            ++place;
        }
        y = cx.builder().add<ops::gather>({.axis = static_cast<std::int64_t>(i)},
                                          {y, cx.builder().constant(std::move(places))});
    }
    return y == cx.operand(0) ? cx.add<ops::identity>({}, {y}) : y;
}
} // namespace detail

GSUB_INLINE value_id onnx_traits<ops::pad>::import(onnx_import_context& cx) {
    attributes_of<ops::pad> a;
    a.mode = cx.text("mode").value_or("constant");
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
    if (!pads || !value || !x.ranked || x.element == dtype::undefined || (cx.has(3) && !cx.known_ints(3))) {
        if (a.mode == "wrap") cx.unsupported("mode \"wrap\" with pads that are no constants");
        return cx.add<ops::pad>(a, cx.all_operands());
    }
    a.value = *value;
    a.pads = *pads;
    if (cx.has(3)) { // pads of some axes become pads of all
        auto const axes = *cx.known_ints(3);
        if (pads->size() != 2 * axes.size()) cx.invalid(format_text("{} pads for {} axes", pads->size(), axes.size()));
        a.pads = ints(2 * x.rank(), 0);
        for (std::size_t i = 0; i < axes.size(); ++i) {
            auto const axis = normalized_axis(axes[i], x.rank());
            if (!axis) cx.invalid(format_text("axis {} for operand {}", axes[i], to_string(x)));
            a.pads[*axis] = (*pads)[i];
            a.pads[*axis + x.rank()] = (*pads)[i + axes.size()];
        }
    }
    return a.mode == "wrap" ? detail::wrapped_around(cx, a.pads) : cx.add<ops::pad>(a, {cx.operand(0)});
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

GSUB_INLINE value_id onnx_traits<ops::transpose>::import(onnx_import_context& cx) {
    if (auto const perm = cx.integer_list("perm")) return cx.add<ops::transpose>({.perm = *perm}, cx.all_operands());
    if (!cx.type(0).ranked) cx.unsupported("reversed dimensions of a tensor of unknown rank");
    ints reversed;
    for (auto i = cx.type(0).rank(); i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
    return cx.add<ops::transpose>({.perm = reversed}, cx.all_operands());
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

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

// ---- places that indices name ---------------------------------------------------------------------------------------

GSUB_INLINE void onnx_traits<ops::gather_nd>::write(onnx_export_context& cx) {
    cx.write("GatherND", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (auto const batch = cx.attributes<ops::gather_nd>().batch_dims; batch != 0) w.integer("batch_dims", batch);
    });
}

GSUB_INLINE std::int64_t detail::opset_of_scatter(std::string_view reduction) {
    return reduction == "none" ? 11 : reduction == "add" || reduction == "mul" ? 16 : 18;
}

GSUB_INLINE void onnx_traits<ops::scatter_elements>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::scatter_elements>();
    cx.write("ScatterElements", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (a.axis != 0) w.integer("axis", a.axis);
        if (a.reduction != "none") w.text("reduction", a.reduction);
    });
}

GSUB_INLINE void onnx_traits<ops::scatter_nd>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::scatter_nd>();
    cx.write("ScatterND", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (a.reduction != "none") w.text("reduction", a.reduction);
    });
}

// From operator set 10 on k is an operand, from 11 on the least elements may be asked for.
GSUB_INLINE value_id onnx_traits<ops::top_k>::import(onnx_import_context& cx) {
    attributes_of<ops::top_k> a;
    a.axis = cx.integer("axis").value_or(-1);
    a.largest = cx.integer("largest").value_or(1) != 0;
    a.sorted = cx.integer("sorted").value_or(1) != 0;
    auto const attribute = cx.integer("k");
    auto const k = attribute ? std::optional{ints{*attribute}} : cx.known_ints(1);
    if (k && k->size() != 1) cx.invalid(format_text("{} numbers k", k->size()));
    if (k) a.k = (*k)[0];
    if (!k && !cx.has(1)) cx.invalid("no k");
    auto& to = cx.builder();
    if (k) return to.add<ops::top_k>(a, std::array{cx.operand(0)}, 2);
    return to.add<ops::top_k>(a, cx.all_operands(), 2);
}
GSUB_INLINE void onnx_traits<ops::top_k>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::top_k>();
    auto inputs = cx.operands();
    if (cx.opset() < 10 && inputs.size() > 1) cx.unsupported("k as an operand needs operator set 10");
    if (cx.opset() >= 10 && inputs.size() == 1) inputs.push_back(cx.initializer(ints{a.k}));
    cx.write("TopK", inputs, cx.results(), [&](onnx_attribute_writer& w) {
        w.integer("axis", a.axis);
        if (cx.opset() < 10) w.integer("k", a.k);
        if (!a.largest) w.integer("largest", 0);
        if (!a.sorted) w.integer("sorted", 0);
    });
}
GSUB_INLINE std::int64_t onnx_traits<ops::top_k>::needed_opset(any_graph const& g, node_id n) {
    auto const& a = g.attributes<ops::top_k>(n);
    auto const element = g.type(g.operand(n, 0)).element;
    if (element == dtype::bf16) return 24;
    if (!a.largest || !a.sorted || is_integer(element)) return 11;
    return g.operand_count(n) > 1 ? 10 : 1;
}

GSUB_INLINE value_id onnx_traits<ops::unique>::import(onnx_import_context& cx) {
    attributes_of<ops::unique> a;
    auto const axis = cx.integer("axis");
    a.flat = !axis, a.axis = axis.value_or(0);
    a.sorted = cx.integer("sorted").value_or(1) != 0;
    return cx.builder().add<ops::unique>(a, cx.all_operands(), 4);
}
GSUB_INLINE void onnx_traits<ops::unique>::write(onnx_export_context& cx) {
    auto const& a = cx.attributes<ops::unique>();
    cx.write("Unique", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (!a.flat) w.integer("axis", a.axis);
        if (!a.sorted) w.integer("sorted", 0);
    });
}

GSUB_INLINE value_id onnx_traits<ops::non_max_suppression>::import(onnx_import_context& cx) {
    auto const center = cx.integer("center_point_box").value_or(0);
    if (center != 0 && center != 1) cx.invalid(format_text("center_point_box {}", center));
    return cx.add<ops::non_max_suppression>({.center = center == 1}, cx.all_operands());
}
GSUB_INLINE void onnx_traits<ops::non_max_suppression>::write(onnx_export_context& cx) {
    auto const center = cx.attributes<ops::non_max_suppression>().center;
    cx.write("NonMaxSuppression", cx.operands(), cx.results(), [&](onnx_attribute_writer& w) {
        if (center) w.integer("center_point_box", 1);
    });
}

// ---- sources --------------------------------------------------------------------------------------------------------

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

GSUB_INLINE value_id onnx_traits<ops::range>::import(onnx_import_context& cx) {
    if (cx.integer("stash_type").value_or(1) != 1) cx.unsupported("steps in another element type than f32");
    auto const start = cx.known_number(0), limit = cx.known_number(1), delta = cx.known_number(2);
    auto const element = cx.type(0).element;
    if (!start || !limit || !delta || !is_floating(element)) return cx.add<ops::range>({}, cx.all_operands());
    // Inference does not read floating numbers.
    constexpr double most = 1 << 16;
    auto const steps = std::ceil((*limit - *start) / *delta);
    if (!(steps <= most)) return cx.add<ops::range>({}, cx.all_operands());
    auto const count = static_cast<std::int64_t>(std::max(steps, 0.0));
    cx.take_constant({count}, format_text("{} numbers", count));
    auto numbers = tensor::uninitialized(dtype::f64, ints{count});
    for (std::int64_t i = 0; i < count; ++i)
        numbers.mutable_data<double>()[static_cast<std::size_t>(i)] = *start + static_cast<double>(i) * *delta;
    return cx.builder().constant(numbers.converted_to(element));
}

} // namespace gsub::io
