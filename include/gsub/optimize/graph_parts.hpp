// graph_parts: cuts a graph into convex parts where few rewrites are lost.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub {

/// Convex parts of a graph, each with `bound` kernels at most; an edge between two parts leads from the earlier to the
/// later one. Constants, inputs and nodes that gsub does not look into (opaque ones, calls, `If`) are in no part, and
/// no path between two nodes of a part goes through one of the latter.
struct graph_parts {
    std::vector<std::vector<node_id>> parts; ///< in the order of the graph
    std::vector<std::uint64_t> cuts;         ///< what each cut weighs, see `split_graph`
};

/// Splits a graph so that little is lost when its parts are rewritten one by one. A cut weighs 1 for each match that it
/// goes through, and 4 for each value. `group`, if not empty, has a number for each node id
/// (`any_cost::group_of_nodes`): a value read within its group, such as a kernel, weighs 1 more. `piece`, if not empty,
/// has a number for each node id too: values between different numbers weigh 64 more, so that cuts avoid the borders of
/// those pieces. *Complexity* that of `find_matches` and `search::split`.
GSUB_LAZY [[nodiscard]] graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                                std::span<std::uint32_t const> group = {},
                                                std::span<std::uint32_t const> piece = {});

/// Extracts a part as a graph of its own: its inputs are the values that it reads, its outputs those that are read
/// outside of it; it takes constants and arithmetic on constants along, shared. *Requires* nodes in the order of `g`,
/// as in a part.
GSUB_LAZY [[nodiscard]] any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/cut_part.ipp>
#include <gsub/optimize/impl/graph_parts.ipp>
#endif
