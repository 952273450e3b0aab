// Substitution states: graphs with their costs, and moves that wait to be made in them.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/optimize/impl/expansion_cache.hpp>
#include <gsub/optimize/search_log.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace gsub::detail {

/// A graph in canonical form with the cost of each node.
struct costed_graph {
    any_graph graph;
    std::vector<double> node_cost; ///< by node id, in ticks; empty where the model is not additive
    double total = 0;              ///< in ticks
    counted_bytes counted{};       ///< in `shared_bytes`
};

/// A state of a search: the graph that a move makes of its parent's, see `substitution_problem`.
struct substitution_state {
    std::shared_ptr<costed_graph const> parent;         ///< the state's own graph where there is no move
    rule_program const* rule = nullptr;                 ///< the move's; null: there is none
    node_id anchor{}, site{};                           ///< where the rule matches, and what the move is called after
    std::shared_ptr<substitution_state const> before{}; ///< the state in which the move was made, null for the start
    double cost = 0;                                    ///< in ticks
    hash128 key{};
    std::uint64_t move_id = 0;                             ///< tells it from other moves of the rule at that place
    std::shared_ptr<expansion_cache const> parent_cache{}; ///< null: nothing is known
    hash128 path{};                                        ///< see `extend_path`
    search_log::successor const* deferred =
        nullptr; ///< known from a log alone: no parent and no move, see `reconstructed`
};

} // namespace gsub::detail
