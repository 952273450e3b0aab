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

GSUB_INLINE bisection bisect(split_problem const& p, std::vector<std::uint32_t> const& nodes, std::uint64_t total,
                             double least_share) {
    constexpr auto outside = 0xffffffffu;
    auto const count = static_cast<std::uint32_t>(nodes.size());
    std::vector<std::uint32_t> local(p.sizes.size(), outside);
    for (std::uint32_t i = 0; i < count; ++i) local[nodes[i]] = i;

    std::vector<std::vector<std::uint32_t>> groups;
    std::vector<std::uint64_t> weights;
    for (auto const& t : p.ties) {
        std::vector<std::uint32_t> inside;
        for (auto n : t.nodes)
            if (local[n] != outside) inside.push_back(local[n]);
        if (inside.size() < 2 || t.weight == 0) continue;
        groups.push_back(std::move(inside));
        weights.push_back(t.weight);
    }
    // A tie is a narrow edge between two nodes of its own, into which and out of which its members lead.
    auto const source = count, sink = count + 1;
    flow_network net{nodes.size() + 2 + 2 * groups.size()};
    for (std::uint32_t i = 0; i < groups.size(); ++i) {
        auto const in = count + 2 + 2 * i, out = in + 1;
        net.connect(in, out, weights[i]);
        for (auto n : groups[i]) {
            net.connect(n, in, flow_network::unlimited);
            net.connect(out, n, flow_network::unlimited);
        }
    }
    // What comes before a node of the first side is on the first side.
    for (auto const& [from, to] : p.edges)
        if (local[from] != outside && local[to] != outside)
            net.connect(local[to], local[from], flow_network::unlimited);
    auto const share = static_cast<std::uint64_t>(static_cast<double>(total) * least_share);
    auto const front = held(p, nodes.begin(), nodes.end(), share) - nodes.begin();
    auto const back = nodes.rend() - held(p, nodes.rbegin(), nodes.rend(), share);
    GSUB_ASSERT(front <= back, "two nodes with a size stand at different ends");
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i < front) net.connect(source, i, flow_network::unlimited);
        if (i >= back) net.connect(i, sink, flow_network::unlimited);
    }

    bisection out;
    out.weight = net.maximize(source, sink);
    // The smallest first side. It stays a cheapest cut with any node, and what can be reached from it, that cannot
    // reach the sink.
    auto first = net.reachable_from(source);
    auto const bound_to_sink = net.reaching(sink);
    auto const size_of = [&](std::vector<bool> const& side) {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < count; ++i)
            if (side[i]) sum += p.sizes[nodes[i]];
        return sum;
    };
    // What would take the first side further beyond the middle than it is before it is too large for all that lead to
    // it, and stays so.
    auto size = size_of(first);
    std::vector<bool> too_large(first.size(), false);
    for (std::uint32_t i = 0; i < count && 2 * size < total; ++i) {
        if (first[i] || bound_to_sink[i]) continue;
        auto larger = size;
        auto const grown = net.extend(first, i, [&](std::uint32_t n) {
            if (n < count) larger += p.sizes[nodes[n]];
            return !too_large[n] && larger <= total - size;
        });
        if (grown)
            size = larger;
        else
            too_large[i] = true;
    }
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
