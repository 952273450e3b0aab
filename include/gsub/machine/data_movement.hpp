// Data movement model: how much each loop of an access tree touches, and how much of that moves into a cache.
//
//     access tree ── boxes of each access at each loop ──► footprint: distinct elements or lines   ┐
//                                                          fits in the cache? what loops repeat    ┴─► movement
#pragma once

#include <gsub/machine/access_tree.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gsub::machine {

/// Movement of one tensor in all trips of a node. *Units* elements, or lines.
struct tensor_movement {
    double footprint = 0; ///< distinct ones touched
    double moved = 0;     ///< into the cache
    double written = 0;   ///< back from the cache; 0 in the paper's mode
    bool reused = true;   ///< the paper's reuse status: whether a loop around finds them in the cache
};

/// Movement of all trips of a node of a tree: sums over its tensors. *Units* elements, or lines.
struct node_movement {
    double iteration = 0; ///< footprint of one trip; of an access 1
    double footprint = 0;
    double moved = 0;
    double written = 0;
    std::vector<tensor_movement> tensors{}; ///< by number of the tensor
};

/// Movement of a tree: by number of the node; the first is the whole.
struct data_movement {
    std::vector<node_movement> nodes;
    [[nodiscard]] node_movement const& total() const noexcept { return nodes.front(); }
};

/// Data movement as the paper counts it: elements, one cache of `capacity` elements, stores as loads. A node whose one
/// trip fits moves its footprint. Of another, a tensor moves its footprint if it is reused, else what one trip moves,
/// times the trips. A tensor is no longer reused above a node where its footprint exceeds the cache, or where
/// neighbouring child loops that do not touch it do so together. *Requires* a capacity of at least 1. *Complexity*
/// O(accesses * depth^2), with no regard to extents. *Source* Tuna, 2021, algorithm 2, where text and pseudocode differ
/// after the text; boxes stand for integer sets.
GSUB_LAZY [[nodiscard]] data_movement faithful_movement(access_tree const& tree, double capacity);

/// Cache level: one cache between two memories.
struct cache_level {
    std::string_view name;
    double bytes = 32 << 10;
    std::int32_t line_bytes = 64;
    double usable = 1;          ///< share of the bytes that one stream of a program can count on
    double bytes_per_cycle = 0; ///< that come in from the memory behind; 0: unknown
    /// Whether lines that stores overwrite as a whole, unread, are fetched first, as they are without streaming stores.
    bool fetch_overwritten = true;

    /// Lines that it holds.
    [[nodiscard]] double lines() const noexcept { return bytes * usable / line_bytes; }
};

/// Caches of a core, the nearest first, for a thread that has them to itself: L1, L2, the last one. *Source* shares of
/// the bytes that count: 3/4 of a set-associative cache, half of one that code and other threads use too.
GSUB_LAZY [[nodiscard]] std::array<cache_level, 3> cache_levels_of(microarchitecture const& core);

/// Data movement in cache lines: contiguous elements share lines, and what is written also moves back. A node whose one
/// trip fits moves its footprint; another moves what one trip does, times the trips. *Laws* between the footprint
/// and the number of accesses; never more for a larger cache; where indices have no holes, at least what a fully
/// associative LRU cache of twice the lines fetches (tests/machine/data_movement.cpp). *Complexity* as above. *Source*
/// as above, with reuse by the footprint of one trip alone, the bound of the reuse distance from one trip to the next.
GSUB_LAZY [[nodiscard]] data_movement line_movement(access_tree const& tree, cache_level const& level);

/// Cycles that a level takes to bring in and write back what moves in all, where its rate is known; else 0.
GSUB_LAZY [[nodiscard]] double movement_cycles(data_movement const& m, cache_level const& level) noexcept;

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/access_boxes.ipp>
#include <gsub/machine/impl/data_movement.ipp>
#endif
