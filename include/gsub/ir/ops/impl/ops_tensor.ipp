#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/impl/tensor_inference.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>
#include <gsub/ir/types/blocked_layout.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE void infer_shape<ops::identity>::infer(infer_context& cx) {
    cx.result(0, cx.type(0));
    detail::follow_in_order(cx);
}

GSUB_INLINE void infer_shape<ops::layout_transform>::infer(infer_context& cx) {
    auto type = cx.type(0);
    layout const to{cx.attributes<ops::layout_transform>().to};
    if (auto const reason = incompatibility(to, type); !reason.empty()) return cx.fail(std::string{reason});
    type.layout = to;
    cx.result(0, std::move(type));
    detail::follow_in_order(cx);
}

namespace detail {

// The elements of operands behind each other along an axis.
GSUB_INLINE void follow_joined(infer_context& cx, std::optional<std::size_t> axis) {
    auto const& out = cx.result_type(0);
    if (!axis || !out.ranked) return;
    std::size_t total = 0;
    for (std::size_t i = 0; i < cx.operands(); ++i) {
        if (!cx.known_elements(i) || total + cx.known_elements(i)->size() > max_known_elements) return;
        total += cx.known_elements(i)->size();
    }
    std::size_t outer = 1;
    for (std::size_t d = 0; d < *axis; ++d) outer *= static_cast<std::size_t>(out.dims[d].size());
    tensor_knowledge joined;
    for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t i = 0; i < cx.operands(); ++i) {
            auto const all = as_span(*cx.known_elements(i));
            auto const part = all.size() / outer;
            joined.append(all.subspan(o * part, part));
        }
    cx.result_knowledge(std::move(joined));
}

} // namespace detail

GSUB_INLINE void infer_shape<ops::concat>::infer(infer_context& cx) {
    auto const given = cx.attributes<ops::concat>().axis;
    auto out = cx.type(0);
    dim total{0};
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; i < cx.operands(); ++i) {
        auto const& t = cx.type(i);
        if (out.element == dtype::undefined) out.element = t.element;
        if (t.element != out.element && t.element != dtype::undefined)
            return cx.fail(
                format_text("operands {} and {}; element types must be equal", to_string(cx.type(0)), to_string(t)));
        if (!t.ranked || !out.ranked) {
            out = detail::unranked(out.element);
            continue;
        }
        if (t.rank() != out.rank())
            return cx.fail(format_text("operands {} and {}; ranks must be equal", to_string(cx.type(0)), to_string(t)));
        axis = normalized_axis(given, out.rank());
        if (!axis) return cx.fail(format_text("axis {} for operand {}", given, to_string(t)));
        for (std::size_t d = 0; d < t.rank(); ++d) {
            if (d == *axis) continue;
            if (provably_different(out.dims[d], t.dims[d]))
                return cx.fail(format_text("operands {} and {} differ in dimension {}, which is not the axis {}",
                                           to_string(cx.type(0)), to_string(t), d, *axis));
            out.dims[d] = unify(out.dims[d], t.dims[d]);
        }
        auto const d = t.dims[*axis];
        total = total.fixed() && d.fixed() && total.size() <= (std::int64_t{1} << 62) - d.size()
                    ? dim{total.size() + d.size()}
                    : dim{};
    }
    if (auto const blocked = out.ranked && axis ? parse_layout(out.layout.text()) : std::nullopt;
        blocked && blocked->axis == *axis)
        for (std::size_t i = 0; i < cx.operands(); ++i)
            if (auto const d = cx.type(i).dims[*axis]; !d.fixed() || d.size() % blocked->block != 0)
                return cx.fail(format_text("operand {} is {}; blocks of {} are joined only where they are full", i,
                                           to_string(cx.type(i)), blocked->block));
    if (out.ranked && axis) out.dims[*axis] = total;
    cx.result(0, out);
    detail::follow_joined(cx, axis);
}

GSUB_INLINE void infer_shape<ops::split>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::split>();
    auto const& x = cx.type(0);
    auto const sizes = detail::setting(cx, 1, a.sizes);
    if (sizes && sizes->size() != cx.results())
        return cx.fail(format_text("{} sizes for {} results", sizes->size(), cx.results()));
    std::optional<std::size_t> axis;
    if (x.ranked) {
        axis = normalized_axis(a.axis, x.rank());
        if (!axis) return cx.fail(format_text("axis {} for operand {}", a.axis, to_string(x)));
    }
    if (sizes) {
        auto const total = [&]() -> std::optional<std::int64_t> {
            std::int64_t sum = 0;
            for (auto s : *sizes)
                if (s < 0 || __builtin_add_overflow(sum, s, &sum)) return std::nullopt;
            return sum;
        }();
        if (!total || (axis && x.dims[*axis].fixed() && x.dims[*axis].size() != *total))
            return cx.fail(
                format_text("sizes must be >= 0 and add up to {}", axis ? to_string(x.dims[*axis]) : "the dimension"));
    }
    for (std::size_t port = 0; port < cx.results(); ++port) {
        auto part = x;
        if (axis) part.dims[*axis] = sizes ? dim{(*sizes)[port]} : dim{};
        cx.result(port, part);
    }
}

GSUB_INLINE slice_range clamped_slice(std::int64_t start, std::int64_t end, std::int64_t step,
                                      std::int64_t size) noexcept {
    // Negative bounds count from the end; then bounds are clamped to what the direction can reach.
    if (start < 0) start += size; // cannot overflow: size >= 0
    if (end < 0) end += size;
    if (step > 0) {
        start = std::clamp<std::int64_t>(start, 0, size);
        end = std::clamp<std::int64_t>(end, 0, size);
        auto const span = end - start;
        return {start, step, span > 0 ? (span - 1) / step + 1 : 0};
    }
    start = std::clamp<std::int64_t>(start, size > 0 ? 0 : -1, size - 1);
    end = std::clamp<std::int64_t>(end, -1, size - 1);
    auto const span = start - end;
    if (span <= 0) return {std::max<std::int64_t>(start, 0), step, 0};
    // -step overflows for the least integer, whose slice has one element at most.
    return {start, step, step == std::numeric_limits<std::int64_t>::min() ? 1 : (span - 1) / -step + 1};
}

GSUB_INLINE void infer_shape<ops::slice>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::slice>();
    auto const& x = cx.type(0);
    auto const from_operands = cx.operands() > 1;
    if (from_operands && !cx.has(2)) return cx.fail("starts without ends");
    if (from_operands && !cx.has(1)) return cx.fail("ends without starts");
    auto const starts = detail::setting(cx, 1, a.starts), ends = detail::setting(cx, 2, a.ends);
    if (!x.ranked) return cx.result(0, x);
    ints every_axis, unit_steps;
    if (from_operands) { // the number of axes is known from any of the lists, if only from its type
        std::optional<std::int64_t> count;
        for (std::size_t i = 1; i < 5 && !count; ++i)
            if (cx.has(i) && cx.type(i).is_static()) count = cx.type(i).elements();
        if (!count) return cx.result(0, detail::of_rank(x.element, x.rank()));
        // More than there are dimensions is an error, found below.
        auto const listed = std::min(*count, static_cast<std::int64_t>(x.rank()) + 1);
        for (std::int64_t i = 0; i < listed; ++i) every_axis.push_back(i), unit_steps.push_back(1);
    }
    auto const axes = detail::setting(cx, 3, from_operands ? every_axis : a.axes);
    auto const steps = detail::setting(cx, 4, from_operands ? unit_steps : a.steps);
    if (!axes) return cx.result(0, detail::of_rank(x.element, x.rank()));
    if ((starts && starts->size() != axes->size()) || (ends && ends->size() != axes->size()) ||
        (steps && steps->size() != axes->size()))
        return cx.fail(format_text("starts, ends, axes and steps of different lengths ({} axes)", axes->size()));
    auto out = x;
    auto follows = cx.known_elements(0) != nullptr && x.is_static();
    ints strides = follows ? detail::row_major_strides(x) : ints{};
    std::int64_t begin = 0;
    small_vector<std::size_t, 6> seen;
    for (std::size_t i = 0; i < axes->size(); ++i) {
        auto const axis = normalized_axis((*axes)[i], x.rank());
        if (!axis || contains(seen, *axis))
            return cx.fail(format_text("axis {} is out of range or repeated for operand {}", (*axes)[i], to_string(x)));
        seen.push_back(*axis);
        if (steps && (*steps)[i] == 0) return cx.fail("step 0");
        if (!starts || !ends || !steps || !x.dims[*axis].fixed()) {
            out.dims[*axis] = dim{};
            follows = false;
            continue;
        }
        auto const range = clamped_slice((*starts)[i], (*ends)[i], (*steps)[i], x.dims[*axis].size());
        out.dims[*axis] = dim{range.count};
        if (!follows) continue;
        begin += range.start * strides[*axis];
        strides[*axis] *= range.count > 1 ? range.step : 0; // of one element no step counts, however large
    }
    cx.result(0, out);
    if (follows) detail::follow_elements(cx, begin, strides);
}

GSUB_INLINE void infer_shape<ops::pad>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::pad>();
    auto const& x = cx.type(0);
    if (a.mode != "constant" && a.mode != "edge" && a.mode != "reflect")
        return cx.fail(format_text("mode {}; constant, edge and reflect are supported", quoted{a.mode}));
    if (!x.ranked) return cx.result(0, x);
    auto const rank = x.rank();
    ints every_axis;
    for (std::size_t i = 0; i < rank; ++i) every_axis.push_back(static_cast<std::int64_t>(i));
    auto const pads = detail::setting(cx, 1, a.pads), axes = detail::setting(cx, 3, every_axis);
    if (cx.has(2) && cx.type(2).element != x.element && cx.type(2).element != dtype::undefined &&
        x.element != dtype::undefined)
        return cx.fail(format_text("border value {} of operand {}; element types must be equal", to_string(cx.type(2)),
                                   to_string(x)));
    if (!pads || !axes) return cx.result(0, detail::of_rank(x.element, rank));
    if (pads->size() != 2 * axes->size())
        return cx.fail(
            format_text("{} pads for {} dimensions; it takes {}", pads->size(), axes->size(), 2 * axes->size()));
    auto out = x;
    small_vector<std::size_t, 6> seen;
    for (std::size_t i = 0; i < axes->size(); ++i) {
        auto const axis = normalized_axis((*axes)[i], rank);
        if (!axis || contains(seen, *axis))
            return cx.fail(format_text("axis {} is out of range or repeated for operand {}", (*axes)[i], to_string(x)));
        seen.push_back(*axis);
        auto const begin = (*pads)[i], end = (*pads)[i + axes->size()];
        constexpr std::int64_t limit = std::int64_t{1} << 60;
        if (begin < -limit || begin > limit || end < -limit || end > limit) return cx.fail("pads beyond 2^60");
        if (begin == 0 && end == 0) continue;
        if (!x.dims[*axis].fixed()) {
            out.dims[*axis] = dim{};
            continue;
        }
        auto const size = x.dims[*axis].size();
        if (size > limit || size + begin + end < 0)
            return cx.fail(format_text("pads {} and {} leave less than nothing of dimension {} of {}", begin, end,
                                       *axis, to_string(x)));
        if (a.mode == "reflect" && (begin >= size || end >= size) && size + begin + end > 0)
            return cx.fail(format_text("reflected pads {} and {} must be less than size {}", begin, end, size));
        if (a.mode == "edge" && size == 0 && begin + end > 0) return cx.fail("edge padding of a dimension of size 0");
        out.dims[*axis] = dim{size + begin + end};
    }
    cx.result(0, out);
}

GSUB_INLINE void infer_shape<ops::gather>::infer(infer_context& cx) {
    auto const &x = cx.type(0), &indices = cx.type(1);
    if (indices.element != dtype::i64 && indices.element != dtype::i32 && indices.element != dtype::undefined)
        return cx.fail(format_text("indices {}; it takes i32 or i64", to_string(indices)));
    if (!x.ranked || !indices.ranked) return cx.result(0, detail::unranked(x.element));
    auto const axis = normalized_axis(cx.attributes<ops::gather>().axis, x.rank());
    if (!axis) return cx.fail(format_text("axis {} for operand {}", cx.attributes<ops::gather>().axis, to_string(x)));
    shape dims(x.dims.begin(), x.dims.begin() + *axis);
    dims.append(as_span(indices.dims));
    dims.append(as_span(x.dims).subspan(*axis + 1));
    cx.result(0, {x.element, dims});
    auto const wanted = cx.known_ints(1);
    if (!wanted || !x.dims[*axis].fixed()) return;
    auto const size = x.dims[*axis].size();
    for (auto i : *wanted)
        if (i < -size || i >= size) return cx.fail(format_text("index {} for dimension of size {}", i, size));
    auto const* const elements = cx.known_elements(0);
    if (!elements || !x.is_static() || elements->empty() ||
        elements->size() / static_cast<std::size_t>(size) * wanted->size() > max_known_elements)
        return;
    auto const inner = detail::row_major_strides(x)[*axis];
    tensor_knowledge picked;
    for (std::int64_t from = 0; from < *x.elements(); from += size * inner)
        for (auto i : *wanted)
            for (std::int64_t e = 0; e < inner; ++e)
                picked.push_back((*elements)[static_cast<std::size_t>(from + (i < 0 ? i + size : i) * inner + e)]);
    cx.result_knowledge(std::move(picked));
}

GSUB_INLINE std::optional<std::int64_t> range_length(std::int64_t start, std::int64_t limit,
                                                     std::int64_t delta) noexcept {
    // Differences of numbers and magnitudes wrap to what they are.
    auto const from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit),
               step = static_cast<std::uint64_t>(delta);
    if (delta == 0) return std::nullopt;
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    return delta > 0 ? range_length(std::uint64_t{0}, to - from, step)
                     : range_length(std::uint64_t{0}, from - to, 0 - step);
}
GSUB_INLINE std::optional<std::int64_t> range_length(std::uint64_t start, std::uint64_t limit,
                                                     std::uint64_t delta) noexcept {
    if (delta == 0) return std::nullopt;
    if (start >= limit) return 0;
    auto const last = (limit - start - 1) / delta;
    if (last >= std::uint64_t{1} << 62) return std::nullopt;
    return static_cast<std::int64_t>(last) + 1;
}

GSUB_INLINE void infer_shape<ops::range>::infer(infer_context& cx) {
    auto element = dtype::undefined;
    for (std::size_t i = 0; i < 3; ++i) {
        auto const& t = cx.type(i);
        if (t.element == dtype::boolean || (t.is_static() && t.elements() != 1) ||
            (t.element != element && t.element != dtype::undefined && element != dtype::undefined))
            return cx.fail(format_text("operand {} is {}; it takes three numbers of one type", i, to_string(t)));
        if (element == dtype::undefined) element = t.element;
    }
    small_vector<element_knowledge, 3> known;
    for (std::size_t i = 0; i < 3; ++i)
        known.push_back(!is_floating(element) && cx.known(i) && cx.known(i)->size() == 1 ? (*cx.known(i))[0]
                                                                                         : element_knowledge{});
    auto const &start = known[0], &limit = known[1], &delta = known[2];
    if (delta.fixed && delta.value == 0) return cx.fail("delta 0");
    if (!start.fixed || !limit.fixed || !delta.fixed) {
        // As many as a named size, where it counts up to that.
        auto const plain = start.fixed && start.value == 0 && delta.fixed && delta.value == 1;
        return cx.result(0, {element, shape{plain ? limit.size : dim{}}});
    }
    auto const count = range_length(start.value, limit.value, delta.value);
    if (!count) return cx.fail("more than 2^62 elements");
    cx.result(0, {element, shape{dim{*count}}});
    if (*count > static_cast<std::int64_t>(max_known_elements)) return;
    tensor_knowledge numbers;
    for (std::int64_t i = 0; i < *count; ++i) // between start and limit, hence none overflows
        numbers.push_back({true, start.value + i * delta.value, {}});
    cx.result_knowledge(std::move(numbers));
}

GSUB_INLINE void infer_shape<ops::fill>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::fill>();
    auto const dims = detail::setting(cx, 0, a.shape);
    if (!dims) {
        if (auto const* k = cx.known(0)) {
            shape sizes;
            for (auto const& e : *k) {
                if (e.fixed && e.value < 0) return cx.fail(format_text("size {}; sizes must be >= 0", e.value));
                sizes.push_back(e.fixed ? dim{e.value} : e.size);
            }
            return cx.result(0, {a.element, sizes});
        }
        auto const& s = cx.type(0);
        if (s.ranked && s.rank() == 1 && s.dims[0].fixed() && s.dims[0].size() <= 64)
            return cx.result(0, detail::of_rank(a.element, static_cast<std::size_t>(s.dims[0].size())));
        return cx.result(0, detail::unranked(a.element));
    }
    auto const count = checked_product(*dims);
    if (!count)
        return cx.fail(format_text("shape {}; sizes must be >= 0 with a product of at most 2^62",
                                   to_string(attribute_value{*dims})));
    cx.result(0, {a.element, std::span<std::int64_t const>{*dims}});
    if (*count <= static_cast<std::int64_t>(max_known_elements) &&
        (is_integer(a.element) || a.element == dtype::boolean))
        cx.result_knowledge(
            tensor_knowledge(static_cast<std::size_t>(*count),
                             detail::element_of(a.element, a.element == dtype::boolean ? a.integer != 0 : a.integer)));
}

GSUB_INLINE void infer_shape<ops::dirac>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::dirac>();
    if (a.shape.size() < 2 || a.position.size() + 2 != a.shape.size() || !checked_product(a.shape) || a.group < 1)
        return cx.fail("needs a shape [o, i, spatial...], one position a spatial dimension and a group >= 1");
    for (std::size_t i = 0; i < a.position.size(); ++i)
        if (a.position[i] < 0 || a.position[i] >= a.shape[i + 2]) return cx.fail("position outside of the kernel");
    cx.result(0, {a.element, std::span<std::int64_t const>{a.shape}});
}

} // namespace gsub
