#pragma once

#include <gsub/optimize/impl/expansion_cache.hpp>

#include <algorithm>

namespace gsub::detail {

GSUB_LAZY_BODY void expansion_cache::complete(counted_bytes::sum const& held) {
    std::sort(moves.begin(), moves.end(), [](known_move const& a, known_move const& b) { return a.id < b.id; });
    std::sort(negatives.begin(), negatives.end(),
              [](negative_match const& a, negative_match const& b) { return a.anchor < b.anchor; });
    counted = {held, moves.capacity() * sizeof(known_move) + negatives.capacity() * sizeof(negative_match)};
}

GSUB_LAZY_BODY known_move const* expansion_cache::find_move(std::uint64_t id) const {
    auto const found = std::lower_bound(moves.begin(), moves.end(), id,
                                        [](known_move const& m, std::uint64_t wanted) { return m.id < wanted; });
    if (found == moves.end() || found->id != id || (found + 1 != moves.end() && found[1].id == id)) return nullptr;
    return &*found;
}

GSUB_LAZY_BODY node_signature const* expansion_cache::find_negative(node_id anchor) const {
    auto const found = std::lower_bound(negatives.begin(), negatives.end(), anchor,
                                        [](negative_match const& p, node_id n) { return p.anchor < n; });
    return found != negatives.end() && found->anchor == anchor ? &found->by : nullptr;
}

} // namespace gsub::detail
