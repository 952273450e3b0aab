#pragma once

#include <gsub/search/max_flow.hpp>

#include <algorithm>

namespace gsub::search {

GSUB_INLINE void flow_network::connect(node from, node to, std::uint64_t capacity) {
    GSUB_ASSERT(from < first_.size() && to < first_.size(), "an edge joins nodes of its network");
    edges_.push_back({to, first_[from], capacity});
    first_[from] = static_cast<std::uint32_t>(edges_.size() - 1);
    edges_.push_back({from, first_[to], 0});
    first_[to] = static_cast<std::uint32_t>(edges_.size() - 1);
}

// Distances from the source over edges with capacity left; false where the sink is out of reach.
GSUB_INLINE bool flow_network::find_levels(node source, node sink) {
    level_.assign(first_.size(), none);
    level_[source] = 0;
    std::vector<node> found{source};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (auto e = first_[found[i]]; e != none; e = edges_[e].next)
            if (edges_[e].left > 0 && level_[edges_[e].to] == none) {
                level_[edges_[e].to] = level_[found[i]] + 1;
                found.push_back(edges_[e].to);
            }
    return level_[sink] != none;
}

GSUB_INLINE std::uint64_t flow_network::maximize(node source, node sink) {
    GSUB_ASSERT(source != sink && source < first_.size() && sink < first_.size(), "a flow has two ends");
    std::uint64_t total = 0;
    std::vector<std::uint32_t> path; // edges, from the source on
    while (find_levels(source, sink)) {
        auto open = first_; // of each node, the edges that may lead on
        auto at = source;
        for (;;) {
            if (at == sink) {
                auto amount = unlimited;
                for (auto e : path) amount = std::min(amount, edges_[e].left);
                if (amount == unlimited) return unlimited;
                total += amount;
                std::size_t kept = path.size();
                for (auto i = path.size(); i-- > 0;) {
                    auto &forth = edges_[path[i]].left, &back = edges_[path[i] ^ 1u].left;
                    if (forth != unlimited) forth -= amount;
                    if (back != unlimited) back += amount;
                    if (forth == 0) kept = i;
                }
                at = edges_[path[kept] ^ 1u].to; // where the first full edge begins
                path.resize(kept);
                continue;
            }
            auto& e = open[at];
            while (e != none && !(edges_[e].left > 0 && level_[edges_[e].to] == level_[at] + 1)) e = edges_[e].next;
            if (e != none) {
                path.push_back(e);
                at = edges_[e].to;
            } else if (at != source) {
                level_[at] = none; // a dead end
                at = edges_[path.back() ^ 1u].to;
                path.pop_back();
            } else {
                break;
            }
        }
    }
    return total;
}

GSUB_INLINE std::vector<bool> flow_network::reach(node start, bool backwards) const {
    std::vector<bool> marked(first_.size(), false);
    marked[start] = true;
    std::vector<node> found{start};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (auto e = first_[found[i]]; e != none; e = edges_[e].next)
            if (edges_[backwards ? e ^ 1u : e].left > 0 && !marked[edges_[e].to]) {
                marked[edges_[e].to] = true;
                found.push_back(edges_[e].to);
            }
    return marked;
}

GSUB_INLINE std::vector<bool> flow_network::reachable_from(node from) const {
    return reach(from, false);
}
GSUB_INLINE std::vector<bool> flow_network::reaching(node to) const {
    return reach(to, true);
}

} // namespace gsub::search
