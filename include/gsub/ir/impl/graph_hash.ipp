#pragma once

#include <gsub/ir/graph.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE hash128 constant_blob::hash() const {
    if (!hashed_.load(std::memory_order_acquire)) {
        auto const h = data_.hash();
        high_.store(h.high, std::memory_order_relaxed);
        low_.store(h.low, std::memory_order_relaxed);
        hashed_.store(true, std::memory_order_release);
    }
    return {high_.load(std::memory_order_relaxed), low_.load(std::memory_order_relaxed)};
}

GSUB_INLINE hash128 any_graph::compute_hash(node_id id, std::span<hash128 const> hashes) const {
    auto const& n = record(id);
    hasher h{static_cast<std::uint64_t>(n.op)};
    h.add(n.attributes.hash()).add(n.results);
    if (n.row == structural::input) h.add(n.payload).add(results_[n.first_result].type.hash());
    if (structural::has_blob(n.row)) h.add((*constants_)[n.payload]->hash());
    if (n.row == structural::opaque)
        for (std::uint32_t port = 0; port < n.results; ++port) h.add(results_[n.first_result + port].type.hash());
    small_vector<hash128, 8> operands;
    for (std::uint32_t i = 0; i < n.operands; ++i) {
        auto const v = slots_[n.first_slot + i].value;
        if (!v.valid())
            operands.push_back({});
        else
            operands.push_back({hashes[v.node.index].high, hashes[v.node.index].low + v.port * 0x9e3779b97f4a7c15u});
    }
    if (operators().ops[n.row].commutative) std::sort(operands.begin(), operands.end());
    for (auto const& o : operands) h.add(o);
    return h.finish();
}

GSUB_INLINE hash128 any_graph::combine_hashes(std::span<hash128 const> hashes) const {
    // The results' hash sees what the graph computes; the sum over nodes sees how often it computes it.
    std::uint64_t high = 0, low = 0;
    for (auto n : order_) high += hashes[n.index].high, low += hashes[n.index].low;
    return hasher{}.add(hashes[0]).add(high).add(low).finish();
}

GSUB_INLINE std::vector<hash128> any_graph::all_hashes() const {
    std::vector<hash128> hashes(nodes_.size());
    for (auto n : order_) hashes[n.index] = compute_hash(n, as_span(hashes));
    return hashes;
}

GSUB_INLINE hash128 any_graph::hash() const {
    return hashed_ ? graph_hash_ : combine_hashes(as_span(all_hashes()));
}
GSUB_INLINE hash128 any_graph::hash(node_id n) const {
    return hashed_ ? hashes_[n.index] : all_hashes()[n.index];
}

GSUB_INLINE void any_graph::rehash() {
    if (hashed_) return;
    auto const first_time = hashes_.empty();
    hashes_.resize(nodes_.size());
    std::vector<bool> differs(nodes_.size(), false);
    for (auto id : order_) {
        auto& n = record(id);
        bool stale = first_time || (n.flags & dirty);
        for (std::uint32_t i = 0; i < n.operands && !stale; ++i)
            if (auto const v = slots_[n.first_slot + i].value; v.valid()) stale = differs[v.node.index];
        n.flags = static_cast<std::uint16_t>(n.flags & ~dirty);
        if (!stale) continue;
        auto const h = compute_hash(id, as_span(hashes_));
        differs[id.index] = !(h == hashes_[id.index]);
        hashes_[id.index] = h;
    }
    graph_hash_ = combine_hashes(as_span(hashes_));
    hashed_ = true;
}

} // namespace gsub
