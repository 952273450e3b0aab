// What inferences of tensor operators share.
#pragma once

#include <gsub/ir/ops/infer.hpp>

#include <cstddef>
#include <cstdint>
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

/// Follows the elements of operand 0 to a result that has them in the same order.
void follow_in_order(infer_context& cx);
/// Follows the elements of operand 0 to result 0, whose element at a place is that at the place's product with `steps`,
/// from `begin` on. *Requires* that they are known, and that all these are elements.
void follow_elements(infer_context& cx, std::int64_t begin, ints const& steps);
/// Elements from one index of a dimension to the next. *Requires* a static type.
[[nodiscard]] ints row_major_strides(tensor_type const& t);

} // namespace gsub::detail
