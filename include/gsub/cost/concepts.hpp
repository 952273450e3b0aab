// Cost models: their concepts, and `any_cost`, the type-erased form that engines take.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/ir/graph.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace gsub {

/// A cost model: `cost(g)` gives the cost of a graph as a `quantity` in the model's unit, >= 0 and no NaN.
template <class C, class Graph = any_graph>
concept cost_model = requires(C const& cost, Graph const& g) {
    typename C::unit;
    { cost(g) } -> std::same_as<typename C::unit>;
};

/// An additive cost model: a graph costs the sum of its nodes, so a search recomputes only the nodes that it changes.
template <class C, class Graph = any_graph>
concept additive_cost_model = cost_model<C, Graph> && requires(C const& cost, Graph const& g, node_id n) {
    { cost(g, n) } -> std::same_as<typename C::unit>;
};

namespace cost {

/// The cost that a node adds to its graph, in the unit of the model.
struct node_cost {
    node_id node;
    double amount = 0;
};

} // namespace cost

namespace cost {

/// Group costs of a graph, and the model's memory of it, for the graphs that a rewrite makes of it.
struct grouped_costs {
    std::shared_ptr<void const> memory; ///< the model's own
    std::vector<node_cost> nodes;       ///< costs of the groups, by node
};

} // namespace cost

/// A grouping cost model: a group of nodes, such as the operators of one kernel, has one cost. One node of the group
/// carries it, the others cost nothing. `node_costs` gives the costs of nodes, which add up to the graph's cost; nodes
/// left out cost nothing. `remembered` gives the costs of groups and a memory of the graph. For a graph that rewrites
/// have made of it, `node_costs_near` gives the costs of those nodes whose cost may differ, and `remembered` the same
/// with a memory of that graph: so a search recomputes only the groups that a rewrite has changed.
template <class C, class Graph = any_graph>
concept grouping_cost_model = cost_model<C, Graph> &&
    requires(C const& cost, Graph const& g, void const* memory, changed_nodes const& changes) {
    { cost.node_costs(g) } -> std::same_as<std::vector<cost::node_cost>>;
    { cost.remembered(g) } -> std::same_as<cost::grouped_costs>;
    { cost.remembered(g, memory, changes) } -> std::same_as<cost::grouped_costs>;
    { cost.node_costs_near(g, memory, changes) } -> std::same_as<std::vector<cost::node_cost>>;
};

namespace cost {

/// Group number of a node that is in no group, see `any_cost::group_of_nodes`.
inline constexpr std::uint32_t no_group = 0xffffffff;

/// A type-erased cost model: plain functions, for engines that are no templates. Refers to the model, which must
/// outlive it.
struct any_cost {
    std::string_view unit;                                    ///< symbol of the unit
    std::function<double(any_graph const&)> of_graph;         ///< of a whole graph
    std::function<double(any_graph const&, node_id)> of_node; ///< of one node; empty where the model is not additive
    /// `node_costs`, `remembered` and `node_costs_near` of a grouping model; empty for other models.
    std::function<std::vector<node_cost>(any_graph const&)> of_groups;
    std::function<grouped_costs(any_graph const&)> remembered;
    std::function<grouped_costs(any_graph const&, void const*, changed_nodes const&)> remembered_near;
    std::function<std::vector<node_cost>(any_graph const&, void const*, changed_nodes const&)> of_groups_near;
    /// Number of the group of each node, by node id, `no_group` for a node in none (`group_of_nodes` of the model):
    /// what belongs together, so that a graph is not cut there. Empty for a model that says no groups.
    std::function<std::vector<std::uint32_t>(any_graph const&)> group_of_nodes;
    /// Exact cost of a whole graph (`exactly` of the model, a `result`), for a model that costs parts alone during a
    /// search; empty where `of_graph` is exact. No value where the graph has no such cost.
    std::function<std::optional<double>(any_graph const&)> exactly;
    /// Relative resolution of `exactly`: where the result is cheaper by less, the graph comes back as it was given.
    double resolution = 0;
    /// Whether a graph's cost is a sum of costs of its nodes.
    [[nodiscard]] bool is_sum() const noexcept { return of_node || of_groups; }
    /// Costs of all nodes, by node id. *Requires* `is_sum()`.
    [[nodiscard]] inline std::vector<double> of_nodes(any_graph const& g) const;
    bool concurrent = false; ///< several threads may call it at once
    bool by_clock = false;   ///< costs come from a clock, as `by_clock` of the model says: see `rule_kind::timed`
    hash128 parameters{};    ///< `parameters_of` the model: a log is resumed under equal ones alone
};

/// Whether several threads may call a model at once: its static member `concurrent`; false without one.
template <class C>
inline constexpr bool is_concurrent = false;
template <class C>
requires(C::concurrent) inline constexpr bool is_concurrent<C> = true;

/// Hash of what a model's costs depend on beside the graph: its `parameters()`; `{}` without that member.
template <class C>
[[nodiscard]] hash128 parameters_of(C const& model) {
    if constexpr (requires { hash128{model.parameters()}; })
        return model.parameters();
    else
        return {};
}

template <class C>
[[nodiscard]] any_cost erase(C const& model) {
    static_assert(cost_model<C>, "a cost model has a member type `unit` and operator()(graph) that returns it");
    any_cost out;
    out.unit = C::unit::symbol;
    out.concurrent = is_concurrent<C>;
    if constexpr (requires { C::by_clock; }) out.by_clock = C::by_clock;
    if constexpr (requires { C::resolution; }) out.resolution = C::resolution;
    out.parameters = parameters_of(model);
    if constexpr (grouping_cost_model<C>) {
        out.of_groups = [&model](any_graph const& g) { return model.node_costs(g); };
        out.remembered = [&model](any_graph const& g) { return model.remembered(g); };
        out.remembered_near = [&model](any_graph const& g, void const* memory, changed_nodes const& changes) {
            return model.remembered(g, memory, changes);
        };
        out.of_groups_near = [&model](any_graph const& g, void const* memory, changed_nodes const& changes) {
            return model.node_costs_near(g, memory, changes);
        };
    }
    if constexpr (requires(any_graph const& g) { model.group_of_nodes(g); })
        out.group_of_nodes = [&model](any_graph const& g) { return model.group_of_nodes(g); };
    out.of_graph = [&model](any_graph const& g) { return model(g).amount; };
    if constexpr (requires(any_graph const& g) { model.exactly(g).value().amount; })
        out.exactly = [&model](any_graph const& g) -> std::optional<double> {
            auto const cost = model.exactly(g);
            return cost ? std::optional{cost->amount} : std::nullopt;
        };
    if constexpr (additive_cost_model<C> && !grouping_cost_model<C>)
        out.of_node = [&model](any_graph const& g, node_id n) { return model(g, n).amount; };
    return out;
}

inline std::vector<double> any_cost::of_nodes(any_graph const& g) const {
    std::vector<double> out(g.capacity(), 0);
    if (of_groups)
        for (auto const& p : of_groups(g)) out[p.node.index] = p.amount;
    else
        for (auto n : g.order()) out[n.index] = of_node(g, n);
    return out;
}

/// Returns a model that is type-erased already.
[[nodiscard]] inline any_cost erase(any_cost const& model) {
    return model;
}

/// Sum of an additive model's costs over all nodes.
template <class C>
[[nodiscard]] typename C::unit sum_over_nodes(C const& model, any_graph const& g) {
    typename C::unit total{};
    for (auto n : g.order()) total += model(g, n);
    return total;
}

/// A weighted sum of two cost models: a unit of A costs `rate_a`, a unit of B `rate_b`. The caller declares the rates,
/// e.g. joules per FLOP and joules per byte.
template <class Unit, class A, class B>
requires additive_cost_model<A> && additive_cost_model<B>
struct weighted_sum {
    using unit = Unit;
    static constexpr bool concurrent = is_concurrent<A> && is_concurrent<B>;
    A a;
    B b;
    double rate_a = 1, rate_b = 1; ///< in `Unit` per unit of A and of B

    unit operator()(any_graph const& g, node_id n) const { return {rate_a * a(g, n).amount + rate_b * b(g, n).amount}; }
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const {
        return hasher{}.add(parameters_of(a)).add(parameters_of(b)).add_real(rate_a).add_real(rate_b).finish();
    }
};

} // namespace cost

} // namespace gsub
