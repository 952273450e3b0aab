// cut_part: a part of a graph taken out as a graph of its own, and put back.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/graph.hpp>

#include <span>
#include <vector>

namespace gsub::detail {

/// A part of a graph as a graph of its own. Inputs are the values that it reads, outputs those that are read outside of
/// it; constants and arithmetic on constants are taken along, shared.
struct cut_part {
    any_graph graph;
    std::vector<value_id> boundary, results; ///< in the whole graph: what inputs and outputs stand for
    std::vector<node_id> origin;             ///< in the whole graph, by id; invalid for inputs
};

GSUB_LAZY [[nodiscard]] cut_part cut_out(any_graph const& g, std::span<node_id const> nodes);
/// Puts what a search made of a part in the place of the part; false, and `g` is of no more use, where that would close
/// a cycle. Nodes that are as they were stay. `better` has come from the part's graph by rewrites.
GSUB_LAZY [[nodiscard]] bool put_back(any_graph& g, cut_part const& part, std::span<node_id const> nodes,
                                      any_graph const& better);

} // namespace gsub::detail
