#pragma once

#include <gsub/cost/fused.hpp>
#include <gsub/cost/impl/group_costs.ipp>

#include <algorithm>

namespace gsub::cost {

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
    auto const cost = [&](kernel_group const& group, fusion_scope const&) { return of_group(g, group).amount; };
    return detail::group_costs(g, fusion_rules_of(g, *isa), cost);
}
GSUB_LAZY_BODY grouped_costs fused_roofline::remembered(any_graph const& g) const {
    auto const cost = [&](kernel_group const& group, fusion_scope const&) { return of_group(g, group).amount; };
    return detail::remembered_groups(g, fusion_rules_of(g, *isa), cost);
}
GSUB_LAZY_BODY grouped_costs fused_roofline::remembered(any_graph const& g, void const* memory,
                                                        changed_nodes const& changes) const {
    auto const cost = [&](kernel_group const& group, fusion_scope const&) { return of_group(g, group).amount; };
    return detail::remembered_groups(g, fusion_rules_of(g, *isa), {memory, changes}, cost);
}
GSUB_LAZY_BODY std::vector<node_cost> fused_roofline::node_costs_near(any_graph const& g, void const* memory,
                                                                      changed_nodes const& changes) const {
    auto const cost = [&](kernel_group const& group, fusion_scope const&) { return of_group(g, group).amount; };
    return detail::group_costs_near(g, fusion_rules_of(g, *isa), {memory, changes}, cost);
}
GSUB_LAZY_BODY std::vector<std::uint32_t> fused_roofline::group_of_nodes(any_graph const& g) const {
    return detail::group_of_nodes(g, fusion_rules_of(g, *isa));
}
GSUB_LAZY_BODY fused_roofline::unit fused_roofline::operator()(any_graph const& g) const {
    unit total{};
    for (auto const& p : node_costs(g)) total.amount += p.amount;
    return total;
}

} // namespace gsub::cost
