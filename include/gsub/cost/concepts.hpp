// What a cost model is, and how any one of them is handed to an engine.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/ir/graph.hpp>

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

namespace gsub {

/// Prices a graph in a unit of its own: `cost(g)` gives a `quantity`, which is >= 0 and no NaN.
template <class C, class Graph = any_graph>
concept cost_model = requires(C const& cost, Graph const& g) {
    typename C::unit;
    { cost(g) } -> std::same_as<typename C::unit>;
};

/// A cost model whose price of a graph is the sum of the prices of its nodes; then a search prices what it changes
/// alone.
template <class C, class Graph = any_graph>
concept additive_cost_model = cost_model<C, Graph> && requires(C const& cost, Graph const& g, node_id n) {
    { cost(g, n) } -> std::same_as<typename C::unit>;
};

/// An additive cost model that prices nodes in groups, such as the operators of one kernel: the price stands at one
/// node of the group, its bearer, the others cost nothing. Groups are connected, and whether a node belongs with one of
/// its operands depends on the node, on what makes its operands, and on how many readers these have; so a search can
/// tell which groups a rewrite has changed.
template <class C, class Graph = any_graph>
concept grouping_cost_model = additive_cost_model<C, Graph> && requires(C const& cost, Graph const& g, node_id n) {
    { cost.bearer(g, n) } -> std::same_as<node_id>;
};

namespace cost {

/// Any cost model as plain functions, for engines that are no templates. Refers to the model, which must outlive it.
struct any_cost {
    std::string_view unit;                                    ///< symbol of the unit
    std::function<double(any_graph const&)> of_graph;         ///< of a whole graph
    std::function<double(any_graph const&, node_id)> of_node; ///< of one node; empty where the model is not additive
    std::function<node_id(any_graph const&, node_id)> bearer; ///< of a node's group; empty: each node is one
    bool concurrent = false;                                  ///< may be asked by several threads at once
    bool by_clock = false; ///< prices come from a clock, as `by_clock` of the model says: see `rule_kind::timed`
    hash128 parameters{};  ///< of what the prices depend on beside the graph, as far as the model tells by a member
                           ///< `parameters()`: a search goes on under equal ones alone
};

/// Whether a model says, by a static member `concurrent`, that several threads may ask it at once.
template <class C>
inline constexpr bool is_concurrent = false;
template <class C>
requires(C::concurrent) inline constexpr bool is_concurrent<C> = true;

/// What a model's prices depend on beside the graph, as a hash, if the model tells.
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
    out.parameters = parameters_of(model);
    if constexpr (grouping_cost_model<C>)
        out.bearer = [&model](any_graph const& g, node_id n) { return model.bearer(g, n); };
    out.of_graph = [&model](any_graph const& g) { return model(g).amount; };
    if constexpr (additive_cost_model<C>)
        out.of_node = [&model](any_graph const& g, node_id n) { return model(g, n).amount; };
    return out;
}

/// A model that is erased already.
[[nodiscard]] inline any_cost erase(any_cost const& model) {
    return model;
}

/// Sum of an additive model's prices over all nodes.
template <class C>
[[nodiscard]] typename C::unit sum_over_nodes(C const& model, any_graph const& g) {
    typename C::unit total{};
    for (auto n : g.order()) total += model(g, n);
    return total;
}

/// A weighted sum of two models: `price_a` units of A's kind cost as much as `price_b` of B's. Prices are declared by
/// the caller, e.g. joules per FLOP and joules per byte.
template <class Unit, class A, class B>
requires additive_cost_model<A> && additive_cost_model<B> &&
    (!grouping_cost_model<A>)&&(!grouping_cost_model<B>)struct weighted_sum {
    using unit = Unit;
    static constexpr bool concurrent = is_concurrent<A> && is_concurrent<B>;
    A a;
    B b;
    double price_a = 1, price_b = 1; ///< in `Unit` per unit of A and of B

    unit operator()(any_graph const& g, node_id n) const {
        return {price_a * a(g, n).amount + price_b * b(g, n).amount};
    }
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const {
        return hasher{}.add(parameters_of(a)).add(parameters_of(b)).add_real(price_a).add_real(price_b).finish();
    }
};

} // namespace cost

} // namespace gsub
