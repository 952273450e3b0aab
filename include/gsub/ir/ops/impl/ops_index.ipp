#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/impl/tensor_inference.hpp>
#include <gsub/ir/ops/ops_index.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE std::optional<scatter_mode> scatter_mode_named(std::string_view name) noexcept {
    constexpr std::string_view names[] = {"none", "add", "mul", "max", "min"};
    auto const found = std::ranges::find(names, name);
    if (found == std::end(names)) return std::nullopt;
    return static_cast<scatter_mode>(found - std::begin(names));
}

namespace detail {

GSUB_INLINE bool are_indices(infer_context& cx, std::size_t operand, bool narrow_too) {
    auto const& t = cx.type(operand);
    if (t.element == dtype::i64 || t.element == dtype::undefined || (narrow_too && t.element == dtype::i32))
        return true;
    cx.fail(format_text("indices {}; it takes {}", to_string(t), narrow_too ? "i32 or i64" : "i64"));
    return false;
}

// An axis of x along which indices of the same rank count; nothing where it is not known, or after `fail`.
GSUB_INLINE std::optional<std::size_t> indexed_axis(infer_context& cx, std::int64_t given) {
    auto const &x = cx.type(0), &indices = cx.type(1);
    if (!x.ranked || !indices.ranked) return std::nullopt;
    auto const axis = normalized_axis(given, x.rank());
    if (!axis) {
        cx.fail(format_text("axis {} for operand {}", given, to_string(x)));
        return std::nullopt;
    }
    if (x.rank() != indices.rank()) {
        cx.fail(format_text("indices {} for operand {}; ranks must be equal", to_string(indices), to_string(x)));
        return std::nullopt;
    }
    for (std::size_t i = 0; i < x.rank(); ++i)
        if (i != *axis && x.dims[i].fixed() && indices.dims[i].fixed() && indices.dims[i].size() > x.dims[i].size()) {
            cx.fail(format_text("indices {} for operand {}; only along the axis they may be more", to_string(indices),
                                to_string(x)));
            return std::nullopt;
        }
    return axis;
}

// How many dimensions of x a row of indices names, behind `batch` others; nothing where it is not known, or after
// `fail`.
GSUB_INLINE std::optional<std::size_t> named_dims(infer_context& cx, std::size_t batch) {
    auto const &x = cx.type(0), &indices = cx.type(1);
    if (!indices.ranked) return std::nullopt;
    if (indices.rank() <= batch || (x.ranked && x.rank() <= batch)) {
        cx.fail(format_text("indices {} for operand {}; each needs more than {} dimensions", to_string(indices),
                            to_string(x), batch));
        return std::nullopt;
    }
    auto const& last = indices.dims.back();
    if (!last.fixed()) return std::nullopt;
    if (last.size() < 1 || (x.ranked && static_cast<std::size_t>(last.size()) > x.rank() - batch)) {
        cx.fail(format_text("indices {} for operand {}; a row names 1 to {} dimensions", to_string(indices),
                            to_string(x), x.ranked ? x.rank() - batch : 0));
        return std::nullopt;
    }
    return static_cast<std::size_t>(last.size());
}

GSUB_INLINE bool is_scatter(infer_context& cx, std::string const& reduction) {
    auto const &x = cx.type(0), &updates = cx.type(2);
    if (!scatter_mode_named(reduction)) {
        cx.fail(format_text("reduction {}; none, add, mul, max and min are supported", quoted{reduction}));
        return false;
    }
    if (x.element != updates.element && x.element != dtype::undefined && updates.element != dtype::undefined) {
        cx.fail(format_text("updates {} of operand {}; element types must be equal", to_string(updates), to_string(x)));
        return false;
    }
    if (reduction != "none" && x.element == dtype::boolean) {
        cx.fail(format_text("reduction {} of truth values", quoted{reduction}));
        return false;
    }
    return true;
}

// Whether updates have these dimensions, as far as both are known.
GSUB_INLINE bool have_dims(infer_context& cx, shape const& wanted) {
    auto const& updates = cx.type(2);
    if (!updates.ranked) return true;
    auto same = updates.rank() == wanted.size();
    for (std::size_t i = 0; same && i < wanted.size(); ++i)
        same = !updates.dims[i].fixed() || !wanted[i].fixed() || updates.dims[i] == wanted[i];
    if (!same)
        cx.fail(format_text("updates {}; as many are expected as in {}", to_string(updates),
                            to_string(tensor_type{updates.element, wanted})));
    return same;
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::gather_elements>::infer(infer_context& cx) {
    if (!detail::are_indices(cx, 1, true)) return;
    static_cast<void>(detail::indexed_axis(cx, cx.attributes<ops::gather_elements>().axis));
    auto made = cx.type(1);
    made.element = cx.type(0).element;
    if (!cx.failed()) cx.result(0, made);
}

GSUB_INLINE void infer_shape<ops::gather_nd>::infer(infer_context& cx) {
    auto const batch = cx.attributes<ops::gather_nd>().batch_dims;
    if (batch < 0) return cx.fail(format_text("batch_dims {}", batch));
    if (!detail::are_indices(cx, 1, false)) return;
    auto const &x = cx.type(0), &indices = cx.type(1);
    auto const named = detail::named_dims(cx, static_cast<std::size_t>(batch));
    if (cx.failed()) return;
    if (!named || !x.ranked) return cx.result(0, detail::unranked(x.element));
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i)
        if (x.dims[i].fixed() && indices.dims[i].fixed() && !(x.dims[i] == indices.dims[i]))
            return cx.fail(format_text("indices {} for operand {}; the first {} dimensions must be equal",
                                       to_string(indices), to_string(x), batch));
    shape dims(indices.dims.begin(), indices.dims.end() - 1);
    dims.append(as_span(x.dims).subspan(static_cast<std::size_t>(batch) + *named));
    cx.result(0, {x.element, dims});
}

GSUB_INLINE void infer_shape<ops::scatter_elements>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::scatter_elements>();
    if (!detail::are_indices(cx, 1, true) || !detail::is_scatter(cx, a.reduction)) return;
    static_cast<void>(detail::indexed_axis(cx, a.axis));
    if (cx.failed()) return;
    if (auto const& indices = cx.type(1); indices.ranked && !detail::have_dims(cx, indices.dims)) return;
    cx.result(0, cx.type(0));
}

GSUB_INLINE void infer_shape<ops::scatter_nd>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::scatter_nd>();
    if (!detail::are_indices(cx, 1, false) || !detail::is_scatter(cx, a.reduction)) return;
    auto const named = detail::named_dims(cx, 0);
    if (cx.failed()) return;
    if (auto const& x = cx.type(0), &indices = cx.type(1); named && x.ranked) {
        shape dims(indices.dims.begin(), indices.dims.end() - 1);
        dims.append(as_span(x.dims).subspan(*named));
        if (!detail::have_dims(cx, dims)) return;
    }
    cx.result(0, cx.type(0));
}

GSUB_INLINE void infer_shape<ops::top_k>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::top_k>();
    auto const& x = cx.type(0);
    if (x.element == dtype::boolean)
        return cx.fail(format_text("operand {}; truth values have no order", to_string(x)));
    auto const k = detail::setting(cx, 1, {a.k});
    if (cx.failed()) return;
    if (k && (k->size() != 1 || (*k)[0] < 0)) return cx.fail(format_text("k is {}", to_string(attribute_value{*k})));
    auto made = x;
    if (x.ranked) {
        auto const axis = normalized_axis(a.axis, x.rank());
        if (!axis) return cx.fail(format_text("axis {} for operand {}", a.axis, to_string(x)));
        auto& d = made.dims[*axis];
        if (k && d.fixed() && (*k)[0] > d.size())
            return cx.fail(format_text("{} elements of a dimension of size {}", (*k)[0], d.size()));
        d = k ? dim{(*k)[0]} : dim{};
    }
    cx.result(0, made);
    made.element = dtype::i64;
    cx.result(1, made);
}

GSUB_INLINE void infer_shape<ops::non_zero>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    cx.result(0, {dtype::i64, shape{x.ranked ? dim{static_cast<std::int64_t>(x.rank())} : dim{}, dim{}}});
}

GSUB_INLINE void infer_shape<ops::unique>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::unique>();
    auto const& x = cx.type(0);
    auto const places = detail::of_rank(dtype::i64, 1);
    auto each = places; // an element or slice of x
    auto made = detail::of_rank(x.element, 1);
    if (a.flat) {
        if (auto const count = x.elements(); x.is_static() && count) each.dims[0] = dim{*count};
    } else if (x.ranked) {
        auto const axis = normalized_axis(a.axis, x.rank());
        if (!axis) return cx.fail(format_text("axis {} for operand {}", a.axis, to_string(x)));
        made.dims = x.dims;
        made.dims[*axis] = dim{};
        each.dims[0] = x.dims[*axis];
    } else {
        made = detail::unranked(x.element);
    }
    tensor_type const types[] = {made, places, each, places};
    for (std::size_t i = 0; i < std::min(cx.results(), std::size(types)); ++i) cx.result(i, types[i]);
}

GSUB_INLINE void infer_shape<ops::non_max_suppression>::infer(infer_context& cx) {
    auto const &boxes = cx.type(0), &scores = cx.type(1);
    auto const wrong = [&](std::string_view what, tensor_type const& t) {
        cx.fail(format_text("{} {}; boxes are [batch, boxes, 4], scores [batch, classes, boxes], both floating", what,
                            to_string(t)));
    };
    auto const differ = [](dim a, dim b) { return a.fixed() && b.fixed() && !(a == b); };
    for (auto const* t : {&boxes, &scores})
        if ((t->element != dtype::undefined && !is_floating(t->element)) || (t->ranked && t->rank() != 3))
            return wrong(t == &boxes ? "boxes" : "scores", *t);
    if (boxes.ranked && differ(boxes.dims[2], dim{4})) return wrong("boxes", boxes);
    if (boxes.ranked && scores.ranked &&
        (differ(boxes.dims[0], scores.dims[0]) || differ(boxes.dims[1], scores.dims[2])))
        return wrong(format_text("scores of boxes {} are", to_string(boxes)), scores);
    for (std::size_t i = 2; i < cx.operands(); ++i) {
        if (!cx.has(i)) continue;
        auto const& t = cx.type(i);
        auto const fits = i == 2 ? is_integer(t.element) : is_floating(t.element);
        auto const one = !t.ranked || std::ranges::none_of(t.dims, [&](dim d) { return differ(d, dim{1}); });
        if ((t.element != dtype::undefined && !fits) || !one)
            return cx.fail(
                format_text("operand {} is {}; it takes one {}number", i, to_string(t), i == 2 ? "whole " : ""));
    }
    cx.result(0, {dtype::i64, shape{dim{}, dim{3}}});
}

} // namespace gsub
