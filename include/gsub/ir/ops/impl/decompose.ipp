#pragma once

#include <gsub/ir/graph.hpp>

namespace gsub {

namespace detail {

// Inference of a composite operator: build it on inputs of the operand types and read the result's type.
GSUB_INLINE void infer_by_decomposition(dialect const& d, std::uint16_t row, infer_context& cx) {
    any_graph scratch{d};
    small_vector<value_id, 6> operands;
    for (std::size_t i = 0; i < cx.operands(); ++i)
        operands.push_back(cx.has(i) ? scratch.add_input(type_id{cx.type(i)}, {}) : value_id{});
    try {
        cx.result(0, scratch.type(d.infer[row].build(scratch, cx.attributes(), operands)));
    } catch (error const& e) { cx.fail(e.message()); }
}

} // namespace detail

} // namespace gsub
