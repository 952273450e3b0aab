// Graph partitioning: cuts a directed acyclic graph into parts that can be worked on one after the other.
#pragma once

#include <gsub/core/config.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::search {

/// Weighted hyperedge: nodes that should stay together, and how much so. With two nodes it is a weighted edge.
struct tie {
    std::vector<std::uint32_t> nodes;
    std::uint64_t weight = 1;
};

/// Partitioning problem: a graph with nodes 0, 1, 2, … in topological order.
struct split_problem {
    std::vector<std::uint64_t> sizes;                           ///< of each node, may be 0
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges; ///< the first is smaller, and comes before the second
    std::vector<tie> ties;
};

/// Partitioning options: how large parts may be.
struct split_options {
    std::uint64_t bound = 32; ///< size of a part at most, unless it is one node
    /// Least share of what it cuts that a cut leaves on both sides, as far as the sizes of single nodes allow: no part
    /// is smaller than this share of the bound. In (0, 0.5].
    double least_share = 0.25;
};

/// Partition: the parts, and the cost of each cut.
struct split_result {
    /// Ascending nodes of each part. Edges lead from a part to itself and to later ones alone: each part is convex.
    std::vector<std::vector<std::uint32_t>> parts;
    std::vector<std::uint64_t> cuts; ///< weight of the ties that each cut goes through, one fewer than parts
};

/// Recursive bisection: halves what is larger than the bound by a minimum cut, and the halves again. The first and the
/// last nodes, up to the least share, are held on their sides; no edge may go back; each tie counts once, however many
/// nodes it joins. So wherever all paths lead through one value and nothing else is tied there, a cut goes through it.
/// Of equally cheap cuts it takes one near the middle, so that repeated sequences are cut in the same places.
/// *Complexity* that of a maximum flow through s nodes, their edges and ties, for each cut of s nodes.
/// *Source* after Jia et al., "Optimizing DNN computation with relaxed graph substitutions", SysML 2019, section 5.
[[nodiscard]] split_result split(split_problem const& p, split_options const& o = {});

} // namespace gsub::search

#ifndef GSUB_COMPILED
#include <gsub/search/impl/split.ipp>
#endif
