// Graph traversal: reachability, and the extraction of a region.
#pragma once

#include <gsub/ir/graph.hpp>

#include <span>
#include <vector>

namespace gsub {

/// Whether each node (by id) can be reached from one of `from` by going from operands to users, `from` included.
[[nodiscard]] std::vector<bool> downstream(any_graph const& g, std::span<node_id const> from);
/// Whether each node (by id) is needed to compute one of `from`, `from` included.
[[nodiscard]] std::vector<bool> upstream(any_graph const& g, std::span<node_id const> from);

/// Region: a part of a graph as a graph of its own. Inputs are the values that the part reads from outside (constants
/// are taken along), outputs those that are read outside of it.
struct region {
    any_graph graph;
    std::vector<value_id> boundary; ///< in the original graph: what each input stands for
    std::vector<value_id> results;  ///< in the original graph: what each output stands for
};

/// Extracts a region of live nodes; `nodes` need not be ordered. *Requires* no inputs and no return node among them.
[[nodiscard]] region extract(any_graph const& g, std::span<node_id const> nodes);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/traversal.ipp>
#endif
