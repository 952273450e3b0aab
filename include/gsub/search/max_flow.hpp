// Maximum flow through a network, and with it the minimum cut between two of its nodes.
#pragma once

#include <gsub/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsub::search {

/// Flow network: nodes 0 to n - 1 and directed edges with integer capacities. Once a flow is maximal, the nodes that
/// the source still reaches are one side of a minimum cut, and the nodes that still reach the sink are the other side
/// of another; all minimum cuts lie between these two.
class flow_network {
public:
    using node = std::uint32_t;
    /// Capacity of an edge that no cut may cross.
    static constexpr std::uint64_t unlimited = 0xffffffffffffffffu;

    explicit flow_network(std::size_t nodes) : first_(nodes, none) {}

    /// Adds an edge. *Requires* that the limited capacities add up to less than `unlimited`.
    void connect(node from, node to, std::uint64_t capacity);

    /// Maximum flow: sends as much as possible from source to sink, on top of the present flow, and gives that amount:
    /// the capacity of a minimum cut. `unlimited` where edges without limits join the two; the flow is then not
    /// maximal.
    /// *Requires* two different nodes. *Complexity* O(n^2 m), for unit capacities O(m^1.5).
    /// *Source* Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970.
    std::uint64_t maximize(node source, node sink);

    /// Whether each node can be reached from `from` by edges with capacity left. *Complexity* O(n + m).
    [[nodiscard]] std::vector<bool> reachable_from(node from) const;
    /// Extends a closed set, which no edge with capacity left leaves, by all that `from` reaches, if `admit(node)`
    /// accepts each new node; gives whether it did. *Complexity* O(n + m) of what is new.
    template <class Admit>
    bool extend(std::vector<bool>& closed, node from, Admit&& admit) const {
        std::vector<node> found;
        auto const add = [&](node n) {
            if (closed[n]) return true;
            closed[n] = true;
            found.push_back(n);
            return static_cast<bool>(admit(n));
        };
        auto all = add(from);
        for (std::size_t i = 0; all && i < found.size(); ++i)
            for (auto e = first_[found[i]]; all && e != none; e = edges_[e].next)
                if (edges_[e].left > 0) all = add(edges_[e].to);
        if (!all)
            for (auto n : found) closed[n] = false;
        return all;
    }
    /// Whether `to` can be reached from each node by edges with capacity left. *Complexity* O(n + m).
    [[nodiscard]] std::vector<bool> reaching(node to) const;

private:
    static constexpr std::uint32_t none = 0xffffffffu;
    struct edge { // edges i and i ^ 1 are the two directions of one
        node to;
        std::uint32_t next; // edge of the same origin
        std::uint64_t left;
    };
    bool find_levels(node source, node sink);
    std::vector<bool> reach(node start, bool backwards) const;

    std::vector<edge> edges_;
    std::vector<std::uint32_t> first_, level_;
};

} // namespace gsub::search

#ifndef GSUB_COMPILED
#include <gsub/search/impl/max_flow.ipp>
#endif
