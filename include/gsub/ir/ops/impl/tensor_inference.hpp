// What inferences of tensor operators share.
#pragma once

#include <gsub/ir/ops/infer.hpp>

#include <cstddef>
#include <optional>

namespace gsub::detail {

[[nodiscard]] inline tensor_type unranked(dtype element) {
    tensor_type t;
    t.element = element;
    return t;
}
[[nodiscard]] inline tensor_type of_rank(dtype element, std::size_t rank) {
    return {element, shape(rank)};
}

/// The integers of an operand that is a setting (axes, bounds, pads): from the attribute where the operand is not
/// given. Nothing where the operand is not known. Calls `fail` where it cannot be a setting.
[[nodiscard]] std::optional<ints> setting(infer_context& cx, std::size_t operand, ints const& attribute);
/// Axes in [-rank, rank), distinct, sorted; nothing after `fail`.
[[nodiscard]] std::optional<small_vector<std::size_t, 6>> sorted_axes(infer_context& cx, ints const& axes,
                                                                      std::size_t rank);

} // namespace gsub::detail
