// Graph substitution as a search problem: states are graphs, moves are matches of rules.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/matcher.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gsub {

/// The search problem over rewrites of a graph. A waiting state is its parent's graph, shared, and a match in it; its
/// graph is made again when it is expanded. Costs are rounded to 2^-40 of the start's cost, so that sums do not depend
/// on the order in which they were added up, and equal costs are equal.
class substitution_problem {
public:
    /// A graph in normal form with the price of each node.
    struct priced_graph {
        any_graph graph;
        std::vector<double> node_cost; ///< by node id, in ticks; empty where the model is not additive
        double total = 0;              ///< in ticks
    };
    struct state {
        std::shared_ptr<priced_graph const> parent; ///< the state's own graph where there is no move
        std::shared_ptr<match const> move;
        std::shared_ptr<state const> before; ///< the state in which the move was made, null for the start
        double cost = 0;                     ///< in ticks
        hash128 key;
    };

    /// `start` must be in normal form; `model`, `rules` and `threads` must outlive the problem. With threads, and a
    /// model that may be asked by several at once, successors of a state are made by all of them; they are the same, in
    /// the same order.
    substitution_problem(any_graph start, cost::any_cost const& model, rule_index const& rules,
                         executor* threads = nullptr);

    [[nodiscard]] state start() const { return {start_, nullptr, nullptr, start_->total, start_->graph.hash()}; }
    [[nodiscard]] double cost(state const& s) const noexcept { return s.cost; }
    [[nodiscard]] hash128 key(state const& s) const noexcept { return s.key; }
    /// `rule(site)`
    [[nodiscard]] std::string label(state const& s) const;
    [[nodiscard]] std::uint64_t bytes(state const&) const noexcept { return sizeof(state) + sizeof(match); }

    template <class Emit>
    void expand(state const& s, Emit&& emit) {
        for_each_successor(s, [&](state&& next) { return static_cast<bool>(emit(std::move(next))); });
    }

    /// The state's graph, in normal form.
    [[nodiscard]] std::shared_ptr<priced_graph const> open(state const& s) const;
    /// A cost in the model's unit.
    [[nodiscard]] double in_units(double ticks) const noexcept { return ticks / ticks_per_unit_; }
    /// Matches whose rewrite could not be applied.
    [[nodiscard]] std::uint64_t inapplicable() const noexcept { return inapplicable_; }

private:
    /// What one of several threads needs for itself.
    struct worker {
        any_graph scratch;
        std::vector<state> found;
        std::uint64_t inapplicable = 0;
    };
    void for_each_successor(state const& s, function_ref<bool(state&&)> emit);
    void find_successors(std::shared_ptr<priced_graph const> const& from, node_id anchor, worker& w) const;
    [[nodiscard]] std::optional<state> successor(std::shared_ptr<priced_graph const> const& from, match const& m,
                                                 any_graph& scratch) const;
    [[nodiscard]] double ticks(any_graph const& g, node_id n) const;
    [[nodiscard]] double ticks(any_graph const& g) const;
    void price(priced_graph& p) const;
    [[nodiscard]] std::vector<node_id> repriced_nodes(any_graph const& g) const;

    cost::any_cost const* model_;
    rule_index const* rules_;
    executor* threads_; // null: the caller's alone
    double ticks_per_unit_ = 1;
    std::shared_ptr<priced_graph const> start_;
    std::vector<worker> workers_;
    std::uint64_t inapplicable_ = 0;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/substitution.ipp>
#endif
