#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/relative.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace gsub::cost {

namespace detail {

// Leaves out models that weigh nothing, and makes of the weights percent of the start's cost for each unit of a model.
GSUB_INLINE result<void> weigh(std::vector<weighted_cost>& terms, any_graph const& start) {
    double sum = 0;
    for (auto const& t : terms) {
        if (!(t.weight >= 0) || !std::isfinite(t.weight))
            return error{errors::goal_weights, format_text("a weight is {}; weights are finite and >= 0", t.weight)};
        sum += t.weight;
    }
    if (!(sum > 0) || !std::isfinite(sum))
        return error{errors::goal_weights,
                     format_text("the weights add up to {}; they need a finite sum above 0", sum)};
    std::erase_if(terms, [](weighted_cost const& t) { return t.weight == 0; });
    for (auto& t : terms) {
        auto const whole = t.model.of_graph(start);
        if (!(whole > 0) || !std::isfinite(whole))
            return error{errors::no_cost,
                         format_text("the graph costs {} {}: no share of that can be told, so it cannot be weighed",
                                     whole, t.model.unit)};
        t.weight = 100 * (t.weight / sum) / whole;
        if (!std::isfinite(t.weight))
            return error{errors::no_cost,
                         format_text("the graph costs {} {}, too little to be weighed", whole, t.model.unit)};
    }
    return {};
}

// Costs of groups by the one model that groups, and of nodes by the others.
template <class OfNodes>
void set_groups(any_cost& out, weighted_cost const& of_kernels, OfNodes const& of_nodes) {
    // Nodes that are in a group, and such as are in none.
    auto const add = [of_nodes, weight = of_kernels.weight](any_graph const& g, std::vector<node_cost> groups,
                                                            std::span<node_id const> others) {
        std::vector<char> grouped(g.capacity(), 0);
        for (auto& p : groups) {
            grouped[p.node.index] = 1;
            p.amount = weight * p.amount + of_nodes(g, p.node);
        }
        for (auto n : others)
            if (!std::exchange(grouped[n.index], 1)) groups.push_back({n, of_nodes(g, n)});
        return groups;
    };
    auto const& model = of_kernels.model;
    out.of_groups = [add, groups = model.of_groups](any_graph const& g) { return add(g, groups(g), g.order()); };
    out.remembered = [add, inner = model.remembered](any_graph const& g) {
        auto known = inner(g);
        known.nodes = add(g, std::move(known.nodes), g.order());
        return known;
    };
    out.remembered_near = [add, inner = model.remembered_near](any_graph const& g, void const* memory,
                                                               changed_nodes const& changes) {
        auto known = inner(g, memory, changes);
        known.nodes = add(g, std::move(known.nodes), changes.values);
        return known;
    };
    out.of_groups_near = [add, near = model.of_groups_near](any_graph const& g, void const* memory,
                                                            changed_nodes const& changes) {
        return add(g, near(g, memory, changes), changes.values);
    };
}

} // namespace detail

GSUB_INLINE result<any_cost> relative_cost(std::vector<weighted_cost> terms, any_graph const& start) {
    if (auto const good = detail::weigh(terms, start); !good) return good.error();
    any_cost out;
    out.unit = "%";
    out.concurrent = all_of(terms, [](weighted_cost const& t) { return t.model.concurrent; });
    out.by_clock = any_of(terms, [](weighted_cost const& t) { return t.model.by_clock; });
    auto const additive = all_of(terms, [](weighted_cost const& t) { return t.model.is_sum(); });
    auto const grouping =
        std::count_if(terms.begin(), terms.end(), [](weighted_cost const& t) { return t.model.of_groups != nullptr; });
    auto const shared = std::make_shared<std::vector<weighted_cost> const>(std::move(terms));
    out.of_graph = [shared](any_graph const& g) {
        double percent = 0;
        for (auto const& t : *shared) percent += t.weight * t.model.of_graph(g);
        return percent;
    };
    if (!additive || grouping > 1) return out;
    auto const of_nodes = [shared](any_graph const& g, node_id n) {
        double percent = 0;
        for (auto const& t : *shared)
            if (t.model.of_node) percent += t.weight * t.model.of_node(g, n);
        return percent;
    };
    if (grouping == 0)
        out.of_node = of_nodes;
    else
        detail::set_groups(
            out, *std::find_if(shared->begin(), shared->end(), [](weighted_cost const& t) { return !t.model.of_node; }),
            of_nodes);
    return out;
}

} // namespace gsub::cost
