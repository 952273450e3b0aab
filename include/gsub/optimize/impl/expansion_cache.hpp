// Expansion cache: moves and negative matches of an expanded graph, for the graphs made from it.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/engine/matcher.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gsub::detail {

/// A byte counter: adds its bytes to a shared sum for as long as it lives.
class counted_bytes {
public:
    using sum = std::shared_ptr<std::atomic<std::uint64_t>>;
    counted_bytes() = default;
    counted_bytes(sum all, std::uint64_t bytes) : all_(std::move(all)), bytes_(bytes) { *all_ += bytes_; }
    counted_bytes(counted_bytes&& other) noexcept : all_(std::move(other.all_)), bytes_(other.bytes_) {}
    counted_bytes& operator=(counted_bytes&& other) noexcept {
        std::swap(all_, other.all_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~counted_bytes() {
        if (all_) *all_ -= bytes_;
    }

private:
    sum all_;
    std::uint64_t bytes_ = 0;
};

/// A move of an expanded graph: its hash, the cost that it leads to, the nodes that it reads and changes.
struct known_move {
    static constexpr std::uint32_t elsewhere = 0xffffffffu;

    std::uint64_t id = 0;    ///< hash of rule and match
    double cost = 0;         ///< of the graph that it leads to, in ticks
    std::uint32_t place = 0; ///< among the moves of the graph; `elsewhere`: it was not made from here
    node_signature reads, changes;

    /// Whether it was made from the graph before another move of it, by the order in which a search expands.
    [[nodiscard]] bool comes_before(known_move const& other) const noexcept {
        return cost < other.cost || (cost == other.cost && place != elsewhere && place < other.place);
    }
    /// Whether both orders of the two moves make the same graph.
    [[nodiscard]] bool independent_of(known_move const& other) const noexcept {
        return !reads.meets(other.changes) && !other.reads.meets(changes) && !changes.meets(other.changes);
    }
};

/// A negative match: a node at which no pattern matches, and the nodes that decide so.
struct negative_match {
    node_id anchor;
    node_signature by;
};

/// Expansion cache: moves and negative matches of an expanded graph, for the graphs made from it.
struct expansion_cache {
    std::vector<known_move> moves;         ///< by id
    std::vector<negative_match> negatives; ///< by anchor
    counted_bytes counted;                 ///< in `shared_bytes`

    /// Brings moves and negative matches in order, once all are there, and counts their bytes.
    GSUB_LAZY void complete(counted_bytes::sum const& held);
    /// The move of that id, if there is just one; null otherwise.
    GSUB_LAZY [[nodiscard]] known_move const* find_move(std::uint64_t id) const;
    /// What decided that nothing matches at a node; null where that is not known.
    GSUB_LAZY [[nodiscard]] node_signature const* find_negative(node_id anchor) const;
};

} // namespace gsub::detail

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/expansion_cache.ipp>
#endif
