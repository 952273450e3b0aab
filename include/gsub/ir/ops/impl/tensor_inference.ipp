#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
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

} // namespace gsub::detail
