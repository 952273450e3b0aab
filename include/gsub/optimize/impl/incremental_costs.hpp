// Incremental costs: of a graph that a rewrite has made, from those of the graph before it.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/optimize/impl/substitution_state.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::detail {

/// A cost that is one. *Errors* throws `error` naming node and unit otherwise.
GSUB_LAZY [[nodiscard]] double checked_cost(double cost, any_graph const& g, node_id n, std::string_view unit);

/// Incremental costs of the graphs of a search, in ticks: 2^-40 of the start's cost, to which costs are rounded, so
/// that sums do not depend on their order, and equal costs are equal. An additive model is asked for the nodes near a
/// rewrite alone, by its memory of the graph before.
class incremental_costs {
public:
    /// `model` must outlive it. *Errors* throws `error` where the cost of `start` is none.
    GSUB_LAZY incremental_costs(cost::any_cost const& model, any_graph const& start);

    [[nodiscard]] cost::any_cost const& model() const noexcept { return *model_; }
    [[nodiscard]] double of_start() const noexcept { return start_; } ///< in the model's unit
    [[nodiscard]] double in_units(double ticks) const noexcept { return ticks / ticks_per_unit_; }
    [[nodiscard]] double in_ticks(double units) const noexcept { return units * ticks_per_unit_; }
    /// Hash of the model, and of the costs that it gives the start.
    GSUB_LAZY [[nodiscard]] hash128 identity(costed_graph const& start) const;

    /// Costs of a graph from nothing.
    GSUB_LAZY void compute(costed_graph& p) const;
    /// Cost of a graph that a rewrite, in its journal, has made of `before`; `memory` is the model's of `before`.
    GSUB_LAZY [[nodiscard]] double after(costed_graph const& before, void const* memory, any_graph const& made) const;
    /// Costs of the nodes of a graph that a state's move, in the graph's journal, has made of its parent's. `known`
    /// gets the model's memory of it.
    GSUB_LAZY void compute_from_parent(costed_graph& made, substitution_state const& s,
                                       cost::grouped_costs& known) const;
    /// Memory of a graph by a grouping model; nothing by others.
    GSUB_LAZY [[nodiscard]] cost::grouped_costs remember(any_graph const& g) const;
    /// Keeps the memory of an expanded graph for the graphs that rewrites make of it: that of the last few.
    GSUB_LAZY void keep(hash128 path, std::shared_ptr<void const> memory);

private:
    GSUB_LAZY [[nodiscard]] double ticks(any_graph const& g, node_id n, double cost) const;
    GSUB_LAZY [[nodiscard]] double ticks(any_graph const& g) const;
    GSUB_LAZY void update(any_graph const& g, void const* memory, function_ref<void(node_id, double)> f) const;

    cost::any_cost const* model_;
    double start_;
    double ticks_per_unit_ = 1;
    /// By path, a grouping model's memories of the graphs expanded last.
    std::vector<std::pair<hash128, std::shared_ptr<void const>>> memories_;
};

} // namespace gsub::detail

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/incremental_costs.ipp>
#endif
