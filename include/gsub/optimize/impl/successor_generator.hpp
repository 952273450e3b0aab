// Successor generator: finds the moves of a graph and makes the graphs that they lead to.
#pragma once

#include <gsub/cost/concepts.hpp>
#include <gsub/optimize/impl/expansion_cache.hpp>
#include <gsub/optimize/impl/incremental_costs.hpp>
#include <gsub/optimize/impl/substitution_state.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::detail {

/// A move and, unless it was made elsewhere, where it leads.
struct found_move {
    known_move what;
    substitution_state next;
};

/// Moves and negative matches at some of a graph's nodes.
struct match_batch {
    std::vector<found_move> found{};
    std::vector<negative_match> negatives{};
    std::uint64_t inapplicable = 0;
    std::exception_ptr failure{}; ///< what ended the work on it
};

/// The expansion under way: a state, its graph, and the move that led to it.
struct expansion {
    substitution_state const& what;
    incremental_costs const& costs;
    std::shared_ptr<costed_graph const> graph;
    cost::grouped_costs known = {};    ///< of the graph, by a model that groups
    known_move const* by = nullptr;    ///< the move that led to it, null where it is not known
    double by_cost = 0;                ///< of the graph in which that was made
    std::vector<node_id> anchors = {}; ///< nodes at which rules may match
};

/// Scratch graphs of one thread.
struct scratch_graphs {
    any_graph scratch;
    any_graph cheapest; ///< successor that it has made of a state; likely to be expanded next
    double cost_of_cheapest = 0;
    hash128 path_of_cheapest{}; ///< none: there is no such graph
};

/// Successor generator: finds the moves of a graph and makes the graphs that they lead to. Threads may do so at once,
/// each with scratch graphs of its own.
class successor_generator {
public:
    /// `rules` must outlive it. `one_order`: see `substitution_problem`.
    successor_generator(rule_index const& rules, bool one_order) : rules_(&rules), one_order_(one_order) {}

    /// Nodes at which rules may match, in the graph's order.
    GSUB_LAZY [[nodiscard]] std::vector<node_id> anchors(any_graph const& g) const;
    /// Finds the successors at some of the anchors, in their order. What is thrown there stands in the batch.
    GSUB_LAZY void find(expansion const& here, std::span<node_id const> anchors, scratch_graphs& w,
                        match_batch& out) const;
    /// Makes the successor that a match leads to; false where the rewrite does not apply.
    GSUB_LAZY [[nodiscard]] bool make(expansion const& here, match const& m, node_id anchor, scratch_graphs& w,
                                      found_move& out) const;
    /// The move `id` of a rule at a node, if there is one.
    GSUB_LAZY [[nodiscard]] std::optional<match> find_move(any_graph const& g, rule_program const& rule, node_id anchor,
                                                           std::uint64_t id) const;
    /// The same of the rules of a name, at any node: the node, and the move there.
    GSUB_LAZY [[nodiscard]] std::optional<std::pair<node_id, match>>
    find_move(any_graph const& g, std::string_view rule, std::uint64_t id) const;

private:
    GSUB_LAZY void find_at(expansion const& here, node_id anchor, scratch_graphs& w, match_batch& out) const;
    GSUB_LAZY [[nodiscard]] std::uint64_t move_id(match const& m) const;
    GSUB_LAZY [[nodiscard]] known_move const* made_before(expansion const& here, std::uint64_t id) const;

    rule_index const* rules_;
    bool one_order_;
};

/// The graph with the rewrite made, in canonical form; false where the rewrite does not apply.
GSUB_LAZY [[nodiscard]] bool apply_match(any_graph& g, match const& m);

/// Whether the match's conditions hold. Throws `search::failed_move`, which names rule and place, where the rule's code
/// throws.
GSUB_LAZY [[nodiscard]] bool fires(match const& m);

} // namespace gsub::detail

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/successor_generator.ipp>
#endif
