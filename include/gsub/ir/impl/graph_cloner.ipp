#pragma once

#include <gsub/ir/graph_cloner.hpp>

namespace gsub {

GSUB_INLINE node_id clone_node(any_graph& to, any_graph const& from, node_id n, std::span<value_id const> operands,
                               cloned_text text, clone_changes const& changes) {
    small_vector<type_id, 4> own;
    auto types = changes.types;
    if (types.empty()) {
        for (std::uint32_t port = 0; port < from.result_count(n); ++port) own.push_back(from.type_of({n, port}));
        types = {own.data(), own.size()};
    }
    auto const payload = to.payload_of_copy(from, n);
    auto const attributes = changes.attributes.value_or(from.attributes(n));
    auto const copy = to.append_node(from.row(n), attributes, payload, operands, types);
    if (text != cloned_text::nothing) to.set_sources(copy, from.sources(n));
    for (std::uint32_t port = 0; text == cloned_text::names && port < types.size(); ++port)
        if (auto const name = from.name({n, port}); !name.empty()) to.set_name({copy, port}, name);
    return copy;
}

GSUB_INLINE void graph_cloner::stand(node_id n, node_id by) {
    for (std::uint32_t port = 0; port < from_.result_count(n); ++port) stand({n, port}, {by, port});
}

GSUB_INLINE node_id graph_cloner::clone(node_id n, std::span<value_id const> operands, clone_changes const& changes) {
    auto const copy = clone_node(to_, from_, n, operands, text_, changes);
    stand(n, copy);
    return copy;
}

GSUB_INLINE value_id graph_cloner::add_input(value_id v) {
    auto const made = to_.add_input(from_.type_of(v), from_.name(v));
    stand(v, made);
    return made;
}

GSUB_INLINE std::vector<value_id> graph_cloner::clone_body(std::span<value_id const> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) stand({from_.inputs()[i], 0}, arguments[i]);
    for (auto n : from_.order())
        if (n != from_.return_node() && !from_.is<ops::input>(n)) clone(n);
    std::vector<value_id> outputs;
    for (std::size_t i = 0; i < from_.output_count(); ++i) outputs.push_back((*this)(from_.output(i)));
    return outputs;
}

} // namespace gsub
