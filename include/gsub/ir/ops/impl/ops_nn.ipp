#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/node_sink.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_nn.hpp>
#include <gsub/ir/ops/ops_reduce.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

namespace gsub {

namespace detail {

// Lists of a window operator against the number of spatial dimensions; false after `fail`.
GSUB_INLINE bool check_window(infer_context& cx, window_attributes const& w, std::size_t spatial) {
    if (w.strides.size() != spatial || w.dilations.size() != spatial || w.pads.size() != 2 * spatial) {
        cx.fail(format_text("{} strides, {} dilations and {} pads for {} spatial dimensions; it takes {}, {} and {}",
                            w.strides.size(), w.dilations.size(), w.pads.size(), spatial, spatial, spatial,
                            2 * spatial));
        return false;
    }
    constexpr std::int64_t limit = std::int64_t{1} << 31;
    for (std::size_t i = 0; i < spatial; ++i)
        if (w.strides[i] < 1 || w.dilations[i] < 1 || w.strides[i] > limit || w.dilations[i] > limit) {
            cx.fail(format_text("stride {} and dilation {} in dimension {}; both must be in [1, 2^31]", w.strides[i],
                                w.dilations[i], i));
            return false;
        }
    for (auto p : w.pads)
        if (p < 0 || p > limit) {
            cx.fail(format_text("pad {}; it must be in [0, 2^31]", p));
            return false;
        }
    return true;
}

// Number of windows: floor or ceil of (input + pads - extent) / stride, plus one. A window that would start in the
// trailing pad does not count (ceil mode).
GSUB_INLINE std::optional<dim> windows(infer_context& cx, dim input, std::int64_t kernel, window_attributes const& w,
                                       std::size_t i, bool ceil_mode) {
    if (kernel < 1 || kernel > (std::int64_t{1} << 31)) {
        cx.fail(format_text("kernel size {}; it must be in [1, 2^31]", kernel));
        return std::nullopt;
    }
    if (!input.fixed()) return dim{};
    auto const begin = w.pads[i], end = w.pads[w.strides.size() + i];
    if (input.size() > (std::int64_t{1} << 62)) {
        cx.fail(format_text("dimension {} of size {}; it must be at most 2^62", i, input.size()));
        return std::nullopt;
    }
    // No term is larger than 2^62, and two at most are as large, hence no overflow.
    auto const room = input.size() + begin + end - window_extent(kernel, w.dilations[i]);
    // In ceil mode a window may overhang by less than a stride, the only one too, if it starts before the trailing pad.
    if (room < 0 && !(ceil_mode && -room < w.strides[i])) {
        cx.fail(format_text("a window of extent {} does not fit dimension {} of size {} with pads {} and {}",
                            window_extent(kernel, w.dilations[i]), i, input.size(), begin, end));
        return std::nullopt;
    }
    auto count = room < 0 ? std::int64_t{input.size() + begin > 0} : room / w.strides[i] + 1;
    if (ceil_mode && room > 0 && room % w.strides[i] != 0 && count * w.strides[i] < input.size() + begin) ++count;
    return dim{count};
}

GSUB_INLINE void infer_pool(infer_context& cx, window_attributes const& w, ints const& kernel, bool ceil_mode) {
    auto const& x = cx.type(0);
    auto const spatial = kernel.size();
    if (spatial == 0) return cx.fail("no kernel shape");
    if (!check_window(cx, w, spatial)) return;
    if (!x.ranked) return cx.result(0, x);
    if (x.rank() != spatial + 2)
        return cx.fail(
            format_text("operand {} for {} kernel dimensions; it takes rank {}", to_string(x), spatial, spatial + 2));
    auto out = x;
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const count = windows(cx, x.dims[i + 2], kernel[i], w, i, ceil_mode);
        if (!count) return;
        out.dims[i + 2] = *count;
    }
    cx.result(0, out);
}

GSUB_INLINE std::optional<shape> convolution_shape(infer_context& cx, window_attributes const& a, std::int64_t group,
                                                   tensor_type const& x, tensor_type const& w) {
    auto const fail = [&](std::string reason) -> std::optional<shape> {
        cx.fail(std::move(reason));
        return std::nullopt;
    };
    auto const spatial = a.strides.size();
    if (!check_window(cx, a, spatial)) return std::nullopt;
    if ((x.ranked && x.rank() != spatial + 2) || (w.ranked && w.rank() != spatial + 2))
        return fail(format_text("input {} and weight {} for {} spatial dimensions; both take rank {}", to_string(x),
                                to_string(w), spatial, spatial + 2));
    if (group < 1) return fail(format_text("group {}; it must be at least 1", group));
    shape out(spatial + 2);
    if (x.ranked) out[0] = x.dims[0];
    if (!w.ranked) return out;
    out[1] = w.dims[0];
    if (w.dims[0].fixed() && (w.dims[0].size() % group != 0))
        return fail(format_text("{} output channels; group {} must divide them", w.dims[0].size(), group));
    if (x.ranked && x.dims[1].fixed() && w.dims[1].fixed() &&
        (x.dims[1].size() % group != 0 || x.dims[1].size() / group != w.dims[1].size()))
        return fail(format_text(
            "weight channels {}, input channels {}, group {}; input channels must be weight channels times group",
            w.dims[1].size(), x.dims[1].size(), group));
    for (std::size_t i = 0; i < spatial; ++i) {
        if (!w.dims[i + 2].fixed()) continue;
        auto const count = windows(cx, x.ranked ? x.dims[i + 2] : dim{}, w.dims[i + 2].size(), a, i, false);
        if (!count) return std::nullopt;
        out[i + 2] = *count;
    }
    return out;
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::conv>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::conv>();
    auto const &x = cx.type(0), &w = cx.type(1);
    if (x.element != w.element && x.element != dtype::undefined && w.element != dtype::undefined)
        return cx.fail(format_text("input {} and weight {}; element types must be equal", to_string(x), to_string(w)));
    if (!is_floating(x.element) && x.element != dtype::undefined)
        return cx.fail(format_text("element type {}; it takes floating types", to_string(x.element)));
    auto dims = detail::convolution_shape(cx, a, a.group, x, w);
    if (!dims) return;
    tensor_type out{x.element, std::move(*dims)};
    if (cx.has(2)) {
        auto const& b = cx.type(2);
        if ((b.ranked && (b.rank() != 1 || provably_different(b.dims[0], out.dims[1]))) ||
            (b.element != x.element && b.element != dtype::undefined && x.element != dtype::undefined))
            return cx.fail(
                format_text("bias {}; it takes {}[{}]", to_string(b), to_string(x.element), to_string(out.dims[1])));
    }
    cx.result(0, out);
}

namespace detail {

GSUB_INLINE void infer_normalisation(infer_context& cx) {
    auto const& x = cx.type(0);
    if (x.ranked && x.rank() < 2) return cx.fail(format_text("operand {}; it takes rank 2 and more", to_string(x)));
    auto const channels = x.ranked ? x.dims[1] : dim{};
    for (std::size_t i = 1; i < 5; ++i) {
        auto const& t = cx.type(i);
        if (!is_floating(t.element) && t.element != dtype::undefined)
            return cx.fail(format_text("statistics {}; it takes floating types", to_string(t)));
        if (t.ranked && (t.rank() != 1 || provably_different(t.dims[0], channels)))
            return cx.fail(format_text("statistics {} for {} channels; it takes vectors of one entry a channel",
                                       to_string(t), to_string(channels)));
    }
    cx.result(0, x);
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::batch_norm>::infer(infer_context& cx) {
    detail::infer_normalisation(cx);
}

GSUB_INLINE void infer_shape<ops::batch_norm_training>::infer(infer_context& cx) {
    if (cx.results() != 1 && cx.results() != 3)
        return cx.fail(format_text("{} results asked for, it has 1 or 3", cx.results()));
    detail::infer_normalisation(cx);
    for (std::size_t i = 1; i < cx.results(); ++i) cx.result(i, cx.type(i + 2));
}

GSUB_INLINE void infer_shape<ops::max_pool>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::max_pool>();
    if (cx.results() < 1 || cx.results() > 2)
        return cx.fail(format_text("{} results asked for, it has 1 or 2", cx.results()));
    detail::infer_pool(cx, a, a.kernel_shape, a.ceil_mode);
    if (cx.results() == 2 && !cx.failed()) {
        auto indices = cx.result_type(0);
        indices.element = dtype::i64;
        cx.result(1, indices);
    }
}
GSUB_INLINE void infer_shape<ops::average_pool>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::average_pool>();
    detail::infer_pool(cx, a, a.kernel_shape, a.ceil_mode);
}

GSUB_INLINE void infer_shape<ops::global_average_pool>::infer(infer_context& cx) {
    auto out = cx.type(0);
    if (out.ranked && out.rank() < 2)
        return cx.fail(format_text("operand {}; it takes rank 2 and more", to_string(out)));
    for (std::size_t i = 2; i < out.dims.size(); ++i) {
        if (out.dims[i] == dim{0}) return cx.fail("the mean over a dimension of size 0 is undefined");
        out.dims[i] = dim{1};
    }
    cx.result(0, out);
}

GSUB_INLINE void infer_shape<ops::lrn>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    if (x.ranked && x.rank() < 2) return cx.fail(format_text("operand {}; it takes rank 2 and more", to_string(x)));
    if (cx.attributes<ops::lrn>().size < 1)
        return cx.fail(format_text("size {}; it must be at least 1", cx.attributes<ops::lrn>().size));
    cx.result(0, x);
}

GSUB_INLINE void infer_shape<ops::softmax>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    auto const& a = cx.attributes<ops::softmax>();
    // Flattening before an axis equal to the rank is legal: every element is a row of its own.
    if (x.ranked && !normalized_axis(a.axis, x.rank()) && !(a.flatten && a.axis == static_cast<std::int64_t>(x.rank())))
        return cx.fail(format_text("axis {} for operand {}", a.axis, to_string(x)));
    cx.result(0, x);
}

GSUB_INLINE void infer_shape<ops::layer_norm>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    auto const axis = cx.attributes<ops::layer_norm>().axis;
    if (!is_floating(x.element) && x.element != dtype::undefined)
        return cx.fail(format_text("element type {}; it takes floating types", to_string(x.element)));
    if (!x.ranked && axis >= 0) return cx.fail(format_text("axis {} of an operand of unknown rank", axis));
    if (x.ranked && !normalized_axis(axis, x.rank()))
        return cx.fail(format_text("axis {} for operand {}", axis, to_string(x)));
    for (std::size_t i = 1; i < cx.operands(); ++i) {
        if (!cx.has(i)) continue;
        auto const& t = cx.type(i);
        auto fits = t.element == x.element || t.element == dtype::undefined || x.element == dtype::undefined;
        if (x.ranked && t.ranked) {
            auto const both = broadcast(t.dims, x.dims);
            fits = fits && both && both->size() == x.rank();
            for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = !provably_different((*both)[d], x.dims[d]);
        }
        if (!fits)
            return cx.fail(
                format_text("{}{} does not fit operand {}", i == 1 ? "scale " : "shift ", to_string(t), to_string(x)));
    }
    cx.result(0, x);
}

GSUB_INLINE value_id decompose<ops::layer_norm>::build(node_sink& sink, attributes_of<ops::layer_norm> const& a,
                                                       std::span<value_id const> operands) {
    auto const x = operands[0];
    auto const type = sink.type_of(x);
    reduce_attributes over;
    auto const rank = static_cast<std::int64_t>(type->rank());
    for (auto axis = a.axis < 0 ? a.axis : a.axis - rank; axis < 0; ++axis) over.axes.push_back(axis);
    auto const centred = sink.add<ops::sub>(x, sink.add<ops::reduce_mean>(over, {x}));
    auto const variance = sink.add<ops::reduce_mean>(over, {sink.add<ops::mul>(centred, centred)});
    auto const epsilon = sink.add<ops::fill>({.element = type->element, .value = a.epsilon}, {});
    auto const deviation = sink.add<ops::sqrt>(sink.add<ops::add>(variance, epsilon));
    auto const y = sink.add<ops::mul>(sink.add<ops::div>(centred, deviation), operands[1]);
    return operands.size() > 2 && operands[2].valid() ? sink.add<ops::add>(y, operands[2]) : y;
}

GSUB_INLINE void infer_shape<ops::dropout>::infer(infer_context& cx) {
    if (cx.results() < 1 || cx.results() > 2)
        return cx.fail(format_text("{} results asked for, it has 1 or 2", cx.results()));
    for (std::size_t i = 1; i < 3; ++i)
        if (cx.has(i) && !may_be_one_number(cx.type(i)))
            return cx.fail(
                format_text("{}{}; it takes one number", i == 1 ? "ratio " : "training mode ", to_string(cx.type(i))));
    cx.result(0, cx.type(0));
    if (cx.results() == 2) {
        auto mask = cx.type(0);
        mask.element = dtype::boolean;
        cx.result(1, mask);
    }
}

} // namespace gsub
