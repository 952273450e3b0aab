#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/node_sink.hpp>

namespace gsub {

GSUB_INLINE value_id node_sink::emit(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                                     std::size_t results) {
    auto const& op = dialect_->ops[row];
    if (!op.accepts(operands.size())) {
        on_ill_typed(row, format_text("takes {} to {} operands, {} given", op.min_inputs,
                                      op.max_inputs == variadic ? "any number of" : format_text("{}", op.max_inputs),
                                      operands.size()));
        return {};
    }
    small_vector<type_id, 8> types;
    for (auto v : operands) types.push_back(v.valid() ? type_of(v) : type_id{});
    infer_context cx{op, attributes, types, results};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].valid())
            cx.set_absent(i);
        else if (auto const* known = known_elements(operands[i]))
            cx.set_known(i, *known);
    }
    infer(*dialect_, row, cx);
    if (cx.failed()) {
        on_ill_typed(row, cx.reason());
        return {};
    }
    small_vector<type_id, 4> result_types;
    for (std::size_t port = 0; port < results; ++port) result_types.push_back(cx.result_type(port));
    auto const value = append(row, attributes, operands, result_types);
    if (cx.result_known()) on_known_elements(value, *cx.result_known());
    return value;
}

} // namespace gsub
