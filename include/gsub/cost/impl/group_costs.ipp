// Group costs: what models of fused kernels have in common. The last operator of a group carries its cost.
#pragma once

#include <gsub/cost/concepts.hpp>
#include <gsub/lower/fusion.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// Cost of the operators of one kernel.
using group_cost = function_ref<double(kernel_group const&, fusion_scope const&)>;

// What a rewrite has changed of a graph, and what the model remembers of the graph before.
struct change_since {
    void const* memory;
    changed_nodes const& changes;
};

GSUB_LAZY void add_group(std::vector<node_cost>& out, kernel_group const& group, double cost) {
    for (std::size_t i = 0; i + 1 < group.size(); ++i) out.push_back({group[i], 0});
    out.push_back({group.back(), cost});
}

GSUB_LAZY std::vector<std::uint32_t> group_of_nodes(any_graph const& g, fusion_rules const& rules) {
    std::vector<std::uint32_t> out(g.capacity(), no_group);
    std::uint32_t next = 0;
    for (auto const& group : kernel_groups(g, rules)) {
        for (auto n : group) out[n.index] = next;
        ++next;
    }
    return out;
}
GSUB_LAZY std::vector<node_cost> group_costs(any_graph const& g, fusion_rules const& rules, group_cost cost) {
    std::vector<node_cost> out;
    each_kernel_group(g, rules, [&](kernel_group const& group, fusion_scope const& scope) {
        add_group(out, group, cost(group, scope));
    });
    return out;
}
GSUB_LAZY std::vector<node_cost> group_costs_near(any_graph const& g, fusion_rules const& rules,
                                                  change_since const& since, group_cost cost) {
    std::vector<node_cost> out;
    each_changed_group(
        g, rules, *static_cast<kernel_grouping const*>(since.memory), since.changes,
        [&](kernel_group const& group, fusion_scope const& scope) { add_group(out, group, cost(group, scope)); });
    return out;
}
GSUB_LAZY grouped_costs remembered_groups(any_graph const& g, fusion_rules const& rules, group_cost cost) {
    grouped_costs out;
    auto groups = grouping_of(g, rules, [&](kernel_group const& group, fusion_scope const& scope) {
        add_group(out.nodes, group, cost(group, scope));
    });
    out.memory = std::make_shared<kernel_grouping const>(std::move(groups));
    return out;
}
GSUB_LAZY grouped_costs remembered_groups(any_graph const& g, fusion_rules const& rules, change_since const& since,
                                          group_cost cost) {
    grouped_costs out;
    auto groups = grouping_of(
        g, rules, *static_cast<kernel_grouping const*>(since.memory), since.changes,
        [&](kernel_group const& group, fusion_scope const& scope) { add_group(out.nodes, group, cost(group, scope)); });
    out.memory = std::make_shared<kernel_grouping const>(std::move(groups));
    return out;
}

} // namespace gsub::cost::detail
