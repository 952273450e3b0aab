#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/impl/cut_part.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/search/split.hpp>

#include <algorithm>
#include <limits>

namespace gsub {

namespace detail {

// Not looked into, and never moved.
GSUB_LAZY bool fixed_node(any_graph const& g, node_id n) {
    auto const category = g.op(n).category;
    return category == op_category::opaque || category == op_category::structural;
}

/// The split problems of a graph: one for each level, which are nodes between the same fixed nodes. As many of these
/// lie on the longest path from the inputs to each node of a level.
template <class = void>
class level_splits {
public:
    explicit level_splits(any_graph const& g) : g_(g), level_(g.capacity(), 0), place_(g.capacity(), nowhere) {
        for (auto n : g.order())
            if (!g.constant(n) && n != g.return_node()) place(n);
        problems_.resize(levels_.size());
        for (std::size_t i = 0; i < levels_.size(); ++i)
            for (auto n : levels_[i]) problems_[i].sizes.push_back(cost::is_executed(g, n) ? 1 : 0);
    }

    // A value between two operators of one kernel is dear to cut.
    void add_values(std::span<std::uint32_t const> group, std::span<std::uint32_t const> piece) {
        constexpr std::uint64_t of_value = 4, of_fusion = 1, between_pieces = 64;
        std::vector<node_id> joined;
        for (auto n : g_.order()) {
            if (g_.constant(n) || n == g_.return_node()) continue;
            auto const is_inner = [&](node_id m) {
                return !group.empty() && group[m.index] != cost::no_group && group[m.index] == group[n.index];
            };
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                joined = readers_within({n, port});
                std::uint64_t weight = of_value;
                if (std::any_of(joined.begin(), joined.end(), is_inner)) weight += of_fusion;
                if (place_[n.index] != nowhere) joined.push_back(n);
                auto const elsewhere = [&](node_id m) { return piece[m.index] != piece[joined.front().index]; };
                if (!piece.empty() && std::any_of(joined.begin(), joined.end(), elsewhere)) weight += between_pieces;
                tie(joined, weight);
            }
        }
    }

    void add_matches(rule_index const& rules) {
        for (auto n : g_.order()) {
            if (n == g_.return_node() || g_.constant(n)) continue;
            for (auto const* rule : rules.anchored_at(g_.op(n)))
                find_pattern_at(g_, *rule, n, [&](match const& m) {
                    if (fires(m)) tie({m.covered().begin(), m.covered().end()}, 1);
                });
        }
    }

    [[nodiscard]] graph_parts split(std::size_t bound) const {
        graph_parts out;
        for (std::size_t i = 0; i < levels_.size(); ++i) {
            auto const found = search::split(problems_[i], {.bound = bound});
            out.cuts.insert(out.cuts.end(), found.cuts.begin(), found.cuts.end());
            for (auto const& part : found.parts) {
                out.parts.emplace_back();
                for (auto n : part) out.parts.back().push_back(levels_[i][n]);
            }
        }
        return out;
    }

private:
    static constexpr auto nowhere = 0xffffffffu;

    void place(node_id n) {
        for (auto v : g_.operands(n)) {
            if (!v.valid() || g_.constant(v)) continue;
            auto const behind = fixed_node(g_, v.node) && !g_.is<ops::input>(v.node) ? 1u : 0u;
            level_[n.index] = std::max(level_[n.index], level_[v.node.index] + behind);
        }
        if (fixed_node(g_, n)) return;
        auto const level = level_[n.index];
        if (level >= levels_.size()) levels_.resize(level + 1);
        place_[n.index] = static_cast<std::uint32_t>(levels_[level].size());
        levels_[level].push_back(n);
    }

    // Those in a level, each with an edge where the value is made in the same.
    std::vector<node_id> readers_within(value_id v) {
        std::vector<node_id> out;
        auto const from = v.node.index;
        g_.for_each_use(v, [&](use u) {
            auto const to = u.user.index;
            if (place_[to] == nowhere) return;
            out.push_back(u.user);
            if (place_[from] != nowhere && level_[from] == level_[to])
                problems_[level_[from]].edges.emplace_back(place_[from], place_[to]);
        });
        return out;
    }

    // Ties nodes that would rather stay together, level by level.
    void tie(std::vector<node_id> nodes, std::uint64_t weight) {
        std::erase_if(nodes, [&](node_id n) { return place_[n.index] == nowhere; });
        stable_sort(nodes, [&](node_id a, node_id b) { return level_[a.index] < level_[b.index]; });
        for (auto first = nodes.begin(); first != nodes.end();) {
            search::tie t{{}, weight};
            auto const where = level_[first->index];
            for (; first != nodes.end() && level_[first->index] == where; ++first)
                t.nodes.push_back(place_[first->index]);
            if (t.nodes.size() > 1) problems_[where].ties.push_back(std::move(t));
        }
    }

    any_graph const& g_;
    std::vector<std::uint32_t> level_, place_; ///< by node id; `nowhere`: in no level
    std::vector<std::vector<node_id>> levels_;
    std::vector<search::split_problem> problems_;
};

} // namespace detail

GSUB_LAZY_BODY graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                       std::span<std::uint32_t const> group, std::span<std::uint32_t const> piece) {
    GSUB_ASSERT(group.empty() || group.size() >= g.capacity(), "every node id has a group, or none");
    GSUB_ASSERT(piece.empty() || piece.size() >= g.capacity(), "every node id has a piece, or none");
    detail::level_splits<> splits{g};
    splits.add_values(group, piece);
    splits.add_matches(rules);
    return splits.split(bound);
}

GSUB_LAZY_BODY any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes) {
    return detail::cut_out(g, nodes).graph;
}

} // namespace gsub
