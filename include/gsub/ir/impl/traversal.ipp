#pragma once

#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/traversal.hpp>

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
    graph_cloner copies{g, part.graph, cloned_text::nothing};
    auto const bring = [&](value_id v) {
        if (!v.valid() || copies.has(v)) return;
        if (g.is<ops::constant>(v.node))
            copies.stand(v, part.graph.add_constant(g.blob(v.node), g.name(v)));
        else
            part.boundary.push_back(v), copies.add_input(v);
    };
    std::vector<value_id> outputs;
    for (auto n : g.order()) {
        if (!inside[n.index]) continue;
        for (auto v : g.operands(n)) bring(v);
        part.graph.set_source(copies.clone(n), g.display_name(n));
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            bool outside = false;
            g.for_each_use({n, port}, [&](use u) { outside |= !inside[u.user.index]; });
            if (outside) part.results.push_back({n, port}), outputs.push_back(copies({n, port}));
        }
    }
    part.graph.set_outputs(outputs);
    return part;
}

} // namespace gsub
