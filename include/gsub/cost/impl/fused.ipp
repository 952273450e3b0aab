#pragma once

#include <gsub/cost/fused.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace gsub::cost {

namespace detail {

// Adds the cost of a group to a list.
GSUB_LAZY void add_costs(std::vector<node_cost>& out, fused_roofline const& model, any_graph const& g,
                         kernel_group const& group) {
    for (std::size_t i = 0; i + 1 < group.size(); ++i) out.push_back({group[i], 0});
    out.push_back({group.back(), model.of_group(g, group).amount});
}

} // namespace detail

GSUB_LAZY_BODY fused_roofline::unit fused_roofline::of_group(any_graph const& g, std::span<node_id const> group) const {
    auto const inside = [&](node_id n) { return std::find(group.begin(), group.end(), n) != group.end(); };
    double operations = 0, moved = 0;
    auto kernels = 0;
    small_vector<value_id, 16> read;
    for (auto n : group) {
        if (!is_executed(g, n, machine.splits)) continue;
        ++kernels;
        operations += flop_count(g, n);
        for (auto v : g.operands(n))
            if (v.valid() && !inside(v.node) && std::find(read.begin(), read.end(), v) == read.end()) {
                read.push_back(v);
                moved += detail::size_bytes(g, v);
            }
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            auto stored = group.size() == 1;
            g.for_each_use({n, port}, [&](use u) { stored = stored || !inside(u.user); });
            if (stored) moved += detail::size_bytes(g, {n, port});
        }
    }
    if (kernels == 0) return {0};
    return {machine.launch + std::max(operations / machine.flop_per_second, moved / machine.bytes_per_second)};
}

GSUB_LAZY_BODY std::vector<node_cost> fused_roofline::node_costs(any_graph const& g) const {
    std::vector<node_cost> out;
    each_kernel_group(g, fusion_rules_of(g, *isa),
                      [&](kernel_group const& group, fusion_scope const&) { detail::add_costs(out, *this, g, group); });
    return out;
}
GSUB_LAZY_BODY grouped_costs fused_roofline::remembered(any_graph const& g) const {
    grouped_costs out;
    auto groups = grouping_of(g, fusion_rules_of(g, *isa), [&](kernel_group const& group, fusion_scope const&) {
        detail::add_costs(out.nodes, *this, g, group);
    });
    out.memory = std::make_shared<kernel_grouping const>(std::move(groups));
    return out;
}
GSUB_LAZY_BODY grouped_costs fused_roofline::remembered(any_graph const& g, void const* memory,
                                                        changed_nodes const& changes) const {
    grouped_costs out;
    auto groups = grouping_of(
        g, fusion_rules_of(g, *isa), *static_cast<kernel_grouping const*>(memory), changes,
        [&](kernel_group const& group, fusion_scope const&) { detail::add_costs(out.nodes, *this, g, group); });
    out.memory = std::make_shared<kernel_grouping const>(std::move(groups));
    return out;
}
GSUB_LAZY_BODY std::vector<node_cost> fused_roofline::node_costs_near(any_graph const& g, void const* memory,
                                                                      changed_nodes const& changes) const {
    std::vector<node_cost> out;
    each_changed_group(
        g, fusion_rules_of(g, *isa), *static_cast<kernel_grouping const*>(memory), changes,
        [&](kernel_group const& group, fusion_scope const&) { detail::add_costs(out, *this, g, group); });
    return out;
}
GSUB_LAZY_BODY fused_roofline::unit fused_roofline::operator()(any_graph const& g) const {
    unit total{};
    for (auto const& p : node_costs(g)) total.amount += p.amount;
    return total;
}

} // namespace gsub::cost
