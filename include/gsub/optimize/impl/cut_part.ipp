#pragma once

#include <gsub/ir/graph_cloner.hpp>
#include <gsub/optimize/impl/cut_part.hpp>

#include <algorithm>
#include <map>

namespace gsub::detail {

// Nodes in the order of `nodes`, so that a part is the same whatever happens elsewhere in the graph.
GSUB_LAZY_BODY cut_part cut_out(any_graph const& g, std::span<node_id const> nodes) {
    cut_part part{any_graph{g.operators()}, {}, {}, {}};
    std::vector<bool> inside(g.capacity(), false);
    for (auto n : nodes) inside[n.index] = true;
    graph_cloner copies{g, part.graph};
    auto const copy = [&](node_id n) {
        auto const to = copies.clone(n);
        part.origin.resize(part.graph.capacity());
        part.origin[to.index] = n;
        if (g.sources(n).empty() && g.name({n, 0}).empty()) part.graph.set_source(to, g.display_name(n));
    };
    // A value from outside: an input, or a constant after all that it is made of.
    std::vector<value_id> open;
    auto const bring = [&](value_id wanted) {
        open.assign(1, wanted);
        while (!open.empty()) {
            auto const v = open.back();
            if (copies.has(v)) {
                open.pop_back();
            } else if (g.constant(v)) {
                auto const ready = open.size();
                for (auto w : g.operands(v.node))
                    if (w.valid() && !copies.has(w)) open.push_back(w);
                if (open.size() == ready) copy(v.node);
            } else {
                copies.add_input(v);
                part.boundary.push_back(v);
            }
        }
    };
    std::vector<value_id> outputs;
    for (auto n : nodes) {
        for (auto v : g.operands(n))
            if (v.valid()) bring(v);
        copy(n);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            bool outside = false;
            g.for_each_use({n, port}, [&](use u) { outside |= !inside[u.user.index]; });
            if (outside) part.results.push_back({n, port}), outputs.push_back(copies({n, port}));
        }
    }
    part.origin.resize(part.graph.capacity());
    part.graph.set_outputs(outputs);
    return part;
}

GSUB_LAZY_BODY bool put_back(any_graph& g, cut_part const& part, std::span<node_id const> nodes,
                             any_graph const& better) {
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    std::vector<bool> inside(g.capacity(), false);
    for (auto n : nodes) inside[n.index] = true;
    graph_cloner copies{better, g};
    for (std::size_t i = 0; i < part.boundary.size(); ++i) copies.stand({better.inputs()[i], 0}, part.boundary[i]);
    for (auto n : better.order()) {
        if (n == better.return_node() || better.is<ops::input>(n)) continue;
        auto const operands = copies.operands(n);
        auto same = n.index < part.origin.size() ? part.origin[n.index] : node_id{};
        for (std::size_t i = 0; same.valid() && i < operands.size(); ++i)
            if (g.operand(same, i) != operands[i]) same = {};
        if (same.valid())
            copies.stand(n, same);
        else
            copies.clone(n, operands);
    }
    for (std::size_t i = 0; i < part.results.size(); ++i) {
        auto const from = part.results[i], to = copies(better.output(i));
        if (from == to) continue;
        std::vector<use> outside;
        g.for_each_use(from, [&](use u) {
            if (u.user.index < first_new && !inside[u.user.index]) outside.push_back(u);
        });
        std::reverse(outside.begin(), outside.end()); // in order of age
        for (auto u : outside) g.set_operand(u.user, u.operand, to);
        if (g.name(to).empty()) g.set_name(to, g.name(from));
    }
    for (auto i = nodes.size(); i-- > 0;)
        if (g.live(nodes[i])) g.erase_unused(nodes[i]);
    return g.sort();
}

} // namespace gsub::detail
