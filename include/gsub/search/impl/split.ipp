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

/// Some ascending nodes of a split problem, the edges between them, and what ties them.
struct piece {
    std::vector<std::uint32_t> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::vector<tie> ties;
};

/// Cuts pieces out of larger ones: in time of the larger one, however large the whole problem is.
class piece_cutter {
public:
    static constexpr auto outside = 0xffffffffu;
    explicit piece_cutter(std::size_t nodes) : local_(nodes, outside) {}

    /// The part of a piece that these of its nodes are.
    [[nodiscard]] piece cut(piece const& from, std::vector<std::uint32_t> nodes) {
        piece out{std::move(nodes), {}, {}};
        number(out);
        for (auto const& e : from.edges)
            if (place(e.first) != outside && place(e.second) != outside) out.edges.push_back(e);
        for (auto const& t : from.ties) {
            std::vector<std::uint32_t> inside;
            for (auto n : t.nodes)
                if (place(n) != outside) inside.push_back(n);
            if (inside.size() >= 2 && t.weight > 0) out.ties.push_back({std::move(inside), t.weight});
        }
        forget(out);
        return out;
    }
    void number(piece const& p) {
        for (std::uint32_t i = 0; i < p.nodes.size(); ++i) local_[p.nodes[i]] = i;
    }
    void forget(piece const& p) {
        for (auto n : p.nodes) local_[n] = outside;
    }
    /// Place among the nodes of the piece that is numbered.
    [[nodiscard]] std::uint32_t place(std::uint32_t node) const { return local_[node]; }

private:
    std::vector<std::uint32_t> local_;
};

// Without what is held at its ends.
GSUB_INLINE cut_network network_of(piece const& p, piece_cutter& cutter) {
    auto const count = static_cast<std::uint32_t>(p.nodes.size());
    cutter.number(p);
    cut_network out{flow_network{p.nodes.size() + 2 + 2 * p.ties.size()}, count, count + 1};
    // A tie is a narrow edge between two nodes of its own, into which and out of which its members lead.
    for (std::uint32_t i = 0; i < p.ties.size(); ++i) {
        auto const in = count + 2 + 2 * i, from = in + 1;
        out.net.connect(in, from, p.ties[i].weight);
        for (auto n : p.ties[i].nodes) {
            out.net.connect(cutter.place(n), in, flow_network::unlimited);
            out.net.connect(from, cutter.place(n), flow_network::unlimited);
        }
    }
    // What comes before a node of the first side is on the first side.
    for (auto const& [from, to] : p.edges)
        out.net.connect(cutter.place(to), cutter.place(from), flow_network::unlimited);
    cutter.forget(p);
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

GSUB_INLINE bisection bisect(split_problem const& p, piece const& part, piece_cutter& cutter, std::uint64_t total,
                             double least_share) {
    auto const& nodes = part.nodes;
    auto const count = static_cast<std::uint32_t>(nodes.size());
    auto cut = network_of(part, cutter);
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
    detail::piece_cutter cutter{p.sizes.size()};
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 0; n < p.sizes.size(); ++n) all.push_back(n);
    std::vector<detail::piece> waiting; // the next one to be looked at is the last
    waiting.push_back(cutter.cut({{}, p.edges, p.ties}, std::move(all)));
    while (!waiting.empty()) {
        auto part = std::move(waiting.back());
        waiting.pop_back();
        std::uint64_t total = 0, sized = 0;
        for (auto n : part.nodes) total += p.sizes[n], sized += p.sizes[n] > 0;
        if (total <= o.bound || sized < 2) {
            out.parts.push_back(std::move(part.nodes));
            continue;
        }
        auto halves = detail::bisect(p, part, cutter, total, o.least_share);
        out.cuts.push_back(halves.weight);
        waiting.push_back(cutter.cut(part, std::move(halves.second)));
        waiting.push_back(cutter.cut(part, std::move(halves.first)));
    }
    return out;
}

} // namespace gsub::search
