#pragma once

#include <gsub/search/max_flow.hpp>
#include <gsub/search/split.hpp>

#include <algorithm>

namespace gsub::search {

namespace detail {

/// A cut of some ascending nodes in two.
struct bisection {
    std::vector<std::uint32_t> first, second;
    std::uint64_t weight = 0;
};

// The end of those at one end that are held there: up to `share`, at least one that has a size, none behind the last
// that has one.
template <class Iterator>
Iterator held(split_problem const& p, Iterator begin, Iterator end, std::uint64_t share) {
    std::uint64_t sum = 0;
    auto last = begin;
    for (auto i = begin; i != end; ++i) {
        if (p.sizes[*i] == 0) continue;
        sum += p.sizes[*i];
        if (last != begin && sum > share) break;
        last = i + 1;
    }
    return last;
}

/// The flow network of some ascending nodes of a split problem: a minimum cut between source and sink cuts the ties of
/// least weight. Node `i` of it stands for the i-th of them; those after the sink stand for ties.
struct cut_network {
    flow_network net;
    std::uint32_t source, sink;
};

// Without what is held at its ends.
GSUB_INLINE cut_network network_of(split_problem const& p, std::vector<std::uint32_t> const& nodes) {
    constexpr auto outside = 0xffffffffu;
    auto const count = static_cast<std::uint32_t>(nodes.size());
    std::vector<std::uint32_t> local(p.sizes.size(), outside);
    for (std::uint32_t i = 0; i < count; ++i) local[nodes[i]] = i;

    std::vector<tie> ties;
    for (auto const& t : p.ties) {
        std::vector<std::uint32_t> inside;
        for (auto n : t.nodes)
            if (local[n] != outside) inside.push_back(local[n]);
        if (inside.size() >= 2 && t.weight > 0) ties.push_back({std::move(inside), t.weight});
    }
    cut_network out{flow_network{nodes.size() + 2 + 2 * ties.size()}, count, count + 1};
    // A tie is a narrow edge between two nodes of its own, into which and out of which its members lead.
    for (std::uint32_t i = 0; i < ties.size(); ++i) {
        auto const in = count + 2 + 2 * i, from = in + 1;
        out.net.connect(in, from, ties[i].weight);
        for (auto n : ties[i].nodes) {
            out.net.connect(n, in, flow_network::unlimited);
            out.net.connect(from, n, flow_network::unlimited);
        }
    }
    // What comes before a node of the first side is on the first side.
    for (auto const& [from, to] : p.edges)
        if (local[from] != outside && local[to] != outside)
            out.net.connect(local[to], local[from], flow_network::unlimited);
    return out;
}

// Takes nodes into the first side of a minimum cut as long as it is the smaller one. It stays a minimum cut with any
// node, and what can be reached from it, that cannot reach the sink.
GSUB_INLINE void grow_to_middle(std::vector<bool>& first, cut_network const& cut, split_problem const& p,
                                std::vector<std::uint32_t> const& nodes, std::uint64_t total) {
    auto const count = static_cast<std::uint32_t>(nodes.size());
    auto const bound_to_sink = cut.net.reaching(cut.sink);
    std::uint64_t size = 0;
    for (std::uint32_t i = 0; i < count; ++i)
        if (first[i]) size += p.sizes[nodes[i]];
    // What would take the first side further beyond the middle than it is before it is too large for all that lead to
    // it, and stays so.
    std::vector<bool> too_large(first.size(), false);
    for (std::uint32_t i = 0; i < count && 2 * size < total; ++i) {
        if (first[i] || bound_to_sink[i]) continue;
        auto larger = size;
        auto const grown = cut.net.extend(first, i, [&](std::uint32_t n) {
            if (n < count) larger += p.sizes[nodes[n]];
            return !too_large[n] && larger <= total - size;
        });
        if (grown)
            size = larger;
        else
            too_large[i] = true;
    }
}

GSUB_INLINE bisection bisect(split_problem const& p, std::vector<std::uint32_t> const& nodes, std::uint64_t total,
                             double least_share) {
    auto const count = static_cast<std::uint32_t>(nodes.size());
    auto cut = network_of(p, nodes);
    auto const share = static_cast<std::uint64_t>(static_cast<double>(total) * least_share);
    auto const front = held(p, nodes.begin(), nodes.end(), share) - nodes.begin();
    auto const back = nodes.rend() - held(p, nodes.rbegin(), nodes.rend(), share);
    GSUB_ASSERT(front <= back, "two nodes with a size stand at different ends");
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i < front) cut.net.connect(cut.source, i, flow_network::unlimited);
        if (i >= back) cut.net.connect(i, cut.sink, flow_network::unlimited);
    }

    bisection out;
    out.weight = cut.net.maximize(cut.source, cut.sink);
    auto first = cut.net.reachable_from(cut.source); // the smallest
    grow_to_middle(first, cut, p, nodes, total);
    for (std::uint32_t i = 0; i < count; ++i) (first[i] ? out.first : out.second).push_back(nodes[i]);
    return out;
}

} // namespace detail

GSUB_INLINE split_result split(split_problem const& p, split_options const& o) {
    GSUB_ASSERT(o.bound > 0 && o.least_share > 0 && o.least_share <= 0.5, "a part has a size, and a cut two sides");
    for (auto const& e : p.edges)
        GSUB_ASSERT(e.first < e.second && e.second < p.sizes.size(), "edges go from earlier to later nodes");
    split_result out;
    if (p.sizes.empty()) return out;
    std::vector<std::vector<std::uint32_t>> waiting(1); // the next one to be looked at is the last
    for (std::uint32_t n = 0; n < p.sizes.size(); ++n) waiting[0].push_back(n);
    while (!waiting.empty()) {
        auto nodes = std::move(waiting.back());
        waiting.pop_back();
        std::uint64_t total = 0, sized = 0;
        for (auto n : nodes) total += p.sizes[n], sized += p.sizes[n] > 0;
        if (total <= o.bound || sized < 2) {
            out.parts.push_back(std::move(nodes));
            continue;
        }
        auto halves = detail::bisect(p, nodes, total, o.least_share);
        out.cuts.push_back(halves.weight);
        waiting.push_back(std::move(halves.second));
        waiting.push_back(std::move(halves.first));
    }
    return out;
}

} // namespace gsub::search
