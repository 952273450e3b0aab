#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/impl/cut_part.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/search/split.hpp>

#include <algorithm>
#include <limits>

namespace gsub {

namespace detail {

// Not looked into, and never moved.
GSUB_LAZY bool fixed_node(any_graph const& g, node_id n) {
    auto const category = g.op(n).category;
    return category == op_category::opaque || category == op_category::structural;
}

} // namespace detail

GSUB_LAZY_BODY graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                       std::span<std::uint32_t const> piece) {
    GSUB_ASSERT(piece.empty() || piece.size() >= g.capacity(), "every node id has a piece, or none");
    constexpr std::uint64_t of_value = 4, of_fusion = 1, between_pieces = 64;
    constexpr auto nowhere = 0xffffffffu;
    // Nodes between the same fixed nodes: as many of these lie on the longest path from the inputs to each.
    std::vector<std::uint32_t> level(g.capacity(), 0), place(g.capacity(), nowhere);
    std::vector<std::vector<node_id>> levels;
    for (auto n : g.order()) {
        if (g.constant(n) || n == g.return_node()) continue;
        for (auto v : g.operands(n)) {
            if (!v.valid() || g.constant(v)) continue;
            auto const behind = detail::fixed_node(g, v.node) && !g.is<ops::input>(v.node) ? 1u : 0u;
            level[n.index] = std::max(level[n.index], level[v.node.index] + behind);
        }
        if (detail::fixed_node(g, n)) continue;
        if (level[n.index] >= levels.size()) levels.resize(level[n.index] + 1);
        place[n.index] = static_cast<std::uint32_t>(levels[level[n.index]].size());
        levels[level[n.index]].push_back(n);
    }
    // Kernels that lowering would make: a value between two operators of one is dear to cut.
    std::vector<std::uint32_t> kernel(g.capacity(), nowhere);
    auto const groups = kernel_groups(g, fusion_rules_of(g, isa::avx512));
    for (std::uint32_t i = 0; i < groups.size(); ++i)
        for (auto n : groups[i]) kernel[n.index] = i;
    std::vector<search::split_problem> problems(levels.size());
    std::vector<node_id> joined;
    auto const tie = [&](std::uint64_t weight) {
        std::erase_if(joined, [&](node_id n) { return place[n.index] == nowhere; });
        stable_sort(joined, [&](node_id a, node_id b) { return level[a.index] < level[b.index]; });
        for (auto first = joined.begin(); first != joined.end();) {
            search::tie t{{}, weight};
            auto const where = level[first->index];
            for (; first != joined.end() && level[first->index] == where; ++first)
                t.nodes.push_back(place[first->index]);
            if (t.nodes.size() > 1) problems[where].ties.push_back(std::move(t));
        }
    };
    for (std::size_t i = 0; i < levels.size(); ++i)
        for (auto n : levels[i]) problems[i].sizes.push_back(cost::is_executed(g, n) ? 1 : 0);
    for (auto n : g.order()) {
        if (g.constant(n) || n == g.return_node()) continue;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            joined.clear();
            std::uint64_t weight = of_value;
            g.for_each_use({n, port}, [&](use u) {
                if (place[u.user.index] == nowhere) return;
                joined.push_back(u.user);
                if (place[n.index] != nowhere && level[n.index] == level[u.user.index])
                    problems[level[n.index]].edges.emplace_back(place[n.index], place[u.user.index]);
            });
            auto const is_inner = [&](node_id m) {
                return kernel[m.index] != nowhere && kernel[m.index] == kernel[n.index];
            };
            if (std::any_of(joined.begin(), joined.end(), is_inner)) weight += of_fusion;
            if (place[n.index] != nowhere) joined.push_back(n);
            if (!piece.empty())
                for (auto m : joined)
                    if (piece[m.index] != piece[joined.front().index]) {
                        weight += between_pieces;
                        break;
                    }
            tie(weight);
        }
    }
    for (auto n : g.order()) {
        if (n == g.return_node() || g.constant(n)) continue;
        for (auto const* rule : rules.anchored_at(g.op(n)))
            find_pattern_at(g, *rule, n, [&](match const& m) {
                if (!detail::fires(m)) return;
                joined.assign(m.covered().begin(), m.covered().end());
                tie(1);
            });
    }
    graph_parts out;
    for (std::size_t i = 0; i < levels.size(); ++i) {
        auto const found = search::split(problems[i], {.bound = bound});
        out.cuts.insert(out.cuts.end(), found.cuts.begin(), found.cuts.end());
        for (auto const& part : found.parts) {
            out.parts.emplace_back();
            for (auto n : part) out.parts.back().push_back(levels[i][n]);
        }
    }
    return out;
}

GSUB_LAZY_BODY any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes) {
    return detail::cut_out(g, nodes).graph;
}

} // namespace gsub
