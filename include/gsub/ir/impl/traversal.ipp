#pragma once

#include <gsub/ir/traversal.hpp>

#include <map>

namespace gsub {

GSUB_INLINE std::vector<bool> downstream(any_graph const& g, std::span<node_id const> from) {
    std::vector<bool> marked(g.capacity(), false);
    for (auto n : from) marked[n.index] = true;
    for (auto n : g.order())
        for (auto v : g.operands(n))
            if (v.valid() && marked[v.node.index]) marked[n.index] = true;
    return marked;
}

GSUB_INLINE std::vector<bool> upstream(any_graph const& g, std::span<node_id const> from) {
    std::vector<bool> marked(g.capacity(), false);
    for (auto n : from) marked[n.index] = true;
    auto const order = g.order();
    for (auto i = order.size(); i-- > 0;)
        if (marked[order[i].index])
            for (auto v : g.operands(order[i]))
                if (v.valid()) marked[v.node.index] = true;
    return marked;
}

GSUB_INLINE region extract(any_graph const& g, std::span<node_id const> nodes) {
    region part{any_graph{g.operators()}, {}, {}};
    std::vector<bool> inside(g.capacity(), false);
    for (auto n : nodes) inside[n.index] = true;
    std::map<value_id, value_id> moved;
    auto const bring = [&](value_id v) {
        if (!v.valid()) return v;
        auto const found = moved.find(v);
        if (found != moved.end()) return found->second;
        if (g.is<ops::constant>(v.node)) return moved[v] = part.graph.add_constant(g.blob(v.node), g.name(v));
        part.boundary.push_back(v);
        return moved[v] = part.graph.add_input(g.type_of(v), g.name(v));
    };
    std::vector<value_id> outputs;
    for (auto n : g.order()) {
        if (!inside[n.index]) continue;
        small_vector<value_id, 6> operands;
        for (auto v : g.operands(n)) operands.push_back(bring(v));
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) types.push_back(g.type_of({n, port}));
        auto const payload = part.graph.payload_of_copy(g, n);
        auto const copy = part.graph.append_node(g.row(n), g.attributes(n), payload, operands, types);
        part.graph.set_source(copy, g.display_name(n));
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            moved[{n, port}] = {copy, port};
            bool outside = false;
            g.for_each_use({n, port}, [&](use u) { outside |= !inside[u.user.index]; });
            if (outside) part.results.push_back({n, port}), outputs.push_back({copy, port});
        }
    }
    part.graph.set_outputs(outputs);
    return part;
}

} // namespace gsub
