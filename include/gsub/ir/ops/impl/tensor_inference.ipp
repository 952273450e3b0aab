#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/impl/infer.ipp>
#include <gsub/ir/ops/impl/tensor_inference.hpp>

#include <algorithm>

namespace gsub::detail {

GSUB_INLINE std::optional<ints> setting(infer_context& cx, std::size_t operand, ints const& attribute) {
    if (!cx.has(operand)) return attribute;
    auto const& t = cx.type(operand);
    if ((!is_integer(t.element) && t.element != dtype::undefined) || (t.ranked && t.rank() > 1))
        cx.fail(format_text("operand {} {}; it takes integers in a vector", operand, to_string(t)));
    return cx.known_ints(operand);
}

GSUB_INLINE std::optional<small_vector<std::size_t, 6>> sorted_axes(infer_context& cx, ints const& axes,
                                                                    std::size_t rank) {
    small_vector<std::size_t, 6> out;
    for (auto axis : axes) {
        auto const a = normalized_axis(axis, rank);
        if (!a || contains(out, *a)) {
            cx.fail(format_text("axis {} is out of range or repeated, rank {}", axis, rank));
            return std::nullopt;
        }
        out.push_back(*a);
    }
    std::sort(out.begin(), out.end());
    return out;
}

GSUB_INLINE void follow_in_order(infer_context& cx) {
    auto const* const k = cx.known_elements(0);
    if (k && may_have_elements(cx.result_type(0), k->size())) cx.result_knowledge(*k);
}

GSUB_INLINE void follow_elements(infer_context& cx, std::int64_t begin, ints const& steps) {
    auto const* const k = cx.known_elements(0);
    auto const& t = cx.result_type(0);
    if (!k || !t.is_static()) return;
    auto const sizes = t.sizes();
    tensor_knowledge out;
    for (std::int64_t e = 0; e < product(sizes); ++e) {
        auto rest = e, at = begin;
        for (auto d = sizes.size(); d-- > 0; rest /= sizes[d]) at += rest % sizes[d] * steps[d];
        out.push_back((*k)[static_cast<std::size_t>(at)]);
    }
    cx.result_knowledge(std::move(out));
}

GSUB_INLINE ints row_major_strides(tensor_type const& t) {
    ints out(t.rank(), 1);
    for (auto d = t.rank(); d-- > 1;) out[d - 1] = out[d] * t.dims[d].size();
    return out;
}

} // namespace gsub::detail
