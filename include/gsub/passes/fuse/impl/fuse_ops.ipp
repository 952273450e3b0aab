#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/partition/outline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::passes {

namespace detail {

inline constexpr std::uint32_t no_group = 0xffffffffu;

GSUB_LAZY bool same_shape(tensor_type const& a, tensor_type const& b) noexcept {
    if (!a.ranked || !b.ranked || a.rank() != b.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i)
        if (!provably_equal(a.dims[i], b.dims[i])) return false;
    return true;
}

// Whether the shape of a result follows from nothing that is known before the run.
GSUB_LAZY bool of_unknown_shape(tensor_type const& t) noexcept {
    return !t.ranked || std::any_of(t.dims.begin(), t.dims.end(), [](dim d) { return d.unknown(); });
}

// Groups as union-find over the operators in topological order. The root of a group is its last node. Each merger takes
// O(k) for groups of at most k operators and read values, however many operands and readers their nodes have.
template <class = void>
class grouping {
public:
    grouping(any_graph const& g, fuse_ops const& options) : g_(g), options_(options) {
        find_operators();
        find_edges();
        find_post_dominators();
        for (int sweep = 0; sweep < 2; ++sweep)
            for (std::uint32_t i = 0; i < nodes_.size(); ++i) visit(i, sweep);
    }

    [[nodiscard]] std::size_t operators() const noexcept { return nodes_.size(); }
    [[nodiscard]] node_id node(std::uint32_t i) const noexcept { return nodes_[i]; }
    [[nodiscard]] bool stays(std::uint32_t i) const noexcept {
        return g_.is<ops::opaque>(nodes_[i]) || g_.is<ops::call>(nodes_[i]);
    }
    [[nodiscard]] std::uint32_t root(std::uint32_t i) const noexcept {
        while (group_[i] != i) i = group_[i];
        return i;
    }
    [[nodiscard]] std::vector<std::uint32_t> const& members(std::uint32_t of_root) const noexcept {
        return members_[of_root];
    }
    // Group that a node belongs to, or none.
    [[nodiscard]] std::uint32_t group_of(node_id n) const noexcept {
        auto const i = index_[n.index];
        return i == no_group ? no_group : root(i);
    }
    [[nodiscard]] pass_outcome const& outcome() const noexcept { return outcome_; }

private:
    struct edge {
        std::uint32_t to;
        fuse_kind kind;
    };
    // A node of the post-dominator tree: its parent is the first node that all paths from it go through, and `kind` the
    // most restrictive edge on the way. `jump` is an ancestor farther up, so that ancestors are found in O(log n).
    struct tree_node {
        std::uint32_t parent, jump, depth;
        fuse_kind kind, jump_kind;
    };

    void find_operators() {
        index_.assign(g_.capacity(), no_group);
        auto const results = g_.return_node();
        auto const needed = upstream(g_, {&results, 1});
        for (auto n : g_.order()) {
            auto const graph_own = g_.op(n).category == op_category::structural && !g_.is<ops::call>(n);
            if (graph_own || g_.constant(n) || !needed[n.index]) continue;
            index_[n.index] = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back(n);
            kinds_.push_back(fuse_kind_of(g_, n));
            group_.push_back(index_[n.index]);
            members_.push_back({index_[n.index]});
        }
        seen_.assign(nodes_.size(), 0);
        merged_in_.assign(nodes_.size(), 0);
        first_value_.assign(g_.capacity(), 0);
        std::size_t values = 0;
        for (auto n : g_.order()) {
            first_value_[n.index] = values;
            values += g_.result_count(n);
        }
        read_in_.assign(values, 0);
    }

    // One edge to each reader, however many of its operands come from a node: the most restrictive one.
    void find_edges() {
        edges_.resize(nodes_.size());
        ends_.assign(nodes_.size(), false);
        struct place {
            std::uint32_t from = no_group, at = 0;
        };
        std::vector<place> last(nodes_.size()); // by reader: the last node with an edge to it, and where that stands
        for (std::uint32_t i = 0; i < nodes_.size(); ++i)
            for (std::uint32_t port = 0; port < g_.result_count(nodes_[i]); ++port) {
                value_id const v{nodes_[i], port};
                g_.for_each_use(v, [&](use u) {
                    auto const to = index_[u.user.index];
                    if (to == no_group) {
                        ends_[i] = true; // an output, or read by what no output needs
                        return;
                    }
                    auto kind = kinds_[to];
                    if (kind == fuse_kind::broadcast && same_shape(g_.type(v), g_.type(value_id{u.user, 0})))
                        kind = fuse_kind::elementwise;
                    auto& known = last[to];
                    if (known.from == i) {
                        auto& e = edges_[i][known.at];
                        e.kind = std::max(e.kind, kind);
                        return;
                    }
                    known = {i, static_cast<std::uint32_t>(edges_[i].size())};
                    edges_[i].push_back({to, kind});
                });
            }
    }

    void find_post_dominators() {
        auto const outside = static_cast<std::uint32_t>(nodes_.size()); // the root: behind all outputs
        tree_.resize(nodes_.size() + 1);
        tree_[outside] = {outside, outside, 0, fuse_kind::opaque, fuse_kind::opaque};
        for (auto i = outside; i-- > 0;) {
            auto& t = tree_[i];
            t.parent = outside, t.kind = fuse_kind::opaque;
            if (!ends_[i] && !edges_[i].empty()) {
                t.parent = edges_[i].front().to, t.kind = edges_[i].front().kind;
                for (auto e : edges_[i]) {
                    t.kind = std::max(t.kind, e.kind);
                    t.parent = common_ancestor(t.parent, e.to, t.kind);
                }
            }
            auto const& p = tree_[t.parent];
            t.depth = p.depth + 1;
            auto const doubles = p.depth - tree_[p.jump].depth == tree_[p.jump].depth - tree_[tree_[p.jump].jump].depth;
            t.jump = doubles ? tree_[p.jump].jump : t.parent;
            t.jump_kind = doubles ? std::max({t.kind, p.jump_kind, tree_[p.jump].jump_kind}) : t.kind;
        }
    }

    // `kind` becomes at least that of every edge on the two ways.
    std::uint32_t common_ancestor(std::uint32_t a, std::uint32_t b, fuse_kind& kind) const {
        auto const step = [&](std::uint32_t& n, bool jump) {
            kind = std::max(kind, jump ? tree_[n].jump_kind : tree_[n].kind);
            n = jump ? tree_[n].jump : tree_[n].parent;
        };
        if (tree_[a].depth < tree_[b].depth) std::swap(a, b);
        while (tree_[a].depth > tree_[b].depth) step(a, tree_[tree_[a].jump].depth >= tree_[b].depth);
        while (a != b) {
            auto const jump = tree_[a].jump != tree_[b].jump;
            step(a, jump), step(b, jump);
        }
        return a;
    }

    void visit(std::uint32_t i, int sweep) {
        auto const kind = kinds_[i];
        auto const sink = tree_[i].parent;
        if (kind == fuse_kind::opaque || kind == fuse_kind::reduction || sink == nodes_.size()) return;
        if (root(i) == root(sink)) return;
        fuse_kind between{}, last{};
        if (kind == fuse_kind::out_fusable) {
            if (sweep != 0 || tree_[i].kind != fuse_kind::elementwise) return;
            between = last = fuse_kind::broadcast;
        } else if (kind <= fuse_kind::broadcast) {
            if (tree_[i].kind > fuse_kind::reduction) return;
            between = fuse_kind::injective, last = fuse_kind::out_fusable;
        } else {
            if (sweep != 1) return;
            between = last = fuse_kind::injective;
        }
        if (kinds_[root(sink)] <= last && find_region(i, sink, between) && within_limits(sink)) merge_into(root(sink));
    }

    // Collects `from` and everything between it and `sink`; false where something between is of another kind.
    bool find_region(std::uint32_t from, std::uint32_t sink, fuse_kind between) {
        ++visits_;
        region_.assign(1, from);
        seen_[from] = visits_;
        for (std::size_t at = 0; at < region_.size(); ++at) {
            for (auto e : edges_[region_[at]]) {
                if (e.to == sink || seen_[e.to] == visits_) continue;
                if (kinds_[root(e.to)] > between) return false;
                seen_[e.to] = visits_;
                region_.push_back(e.to);
                if (region_.size() >= options_.max_ops) return refuse("too many operators");
            }
        }
        return true;
    }

    bool refuse(std::string_view reason) {
        outcome_.skip(reason);
        return false;
    }

    // Leaves off at the first value too many: a node may have as many operands as there are nodes.
    bool within_limits(std::uint32_t sink) {
        ++counts_;
        merged_.clear();
        std::size_t count = 0;
        auto const add = [&](std::uint32_t r) {
            if (merged_in_[r] == counts_) return;
            merged_in_[r] = counts_;
            merged_.push_back(r);
            count += members_[r].size();
        };
        add(root(sink));
        for (auto i : region_) add(root(i));
        if (count > options_.max_ops) return refuse("too many operators");
        std::size_t read = 0;
        for (auto r : merged_)
            for (auto i : members_[r])
                for (std::size_t k = 0; k < g_.operand_count(nodes_[i]); ++k) {
                    auto const v = g_.operand(nodes_[i], k);
                    if (!v.valid()) continue;
                    if (auto const of = group_of(v.node); of != no_group && merged_in_[of] == counts_) continue;
                    auto& known = read_in_[first_value_[v.node.index] + v.port];
                    if (known == counts_) continue;
                    known = counts_;
                    if (++read > options_.max_parameters) return refuse("too many parameters");
                }
        return true;
    }

    void merge_into(std::uint32_t target) {
        for (auto i : region_) {
            auto const r = root(i);
            if (r == target) continue;
            for (auto m : members_[r]) group_[m] = target; // so that the root is one step away
            members_[target].insert(members_[target].end(), members_[r].begin(), members_[r].end());
            members_[r].clear();
            // What leads a group decides what may join it.
            if (kinds_[r] == fuse_kind::out_fusable) kinds_[target] = fuse_kind::out_fusable;
        }
    }

    any_graph const& g_;
    fuse_ops options_;
    std::vector<node_id> nodes_;
    std::vector<std::uint32_t> index_; // by node id
    std::vector<fuse_kind> kinds_;     // of the node; at a root, of the group
    std::vector<std::uint32_t> group_;
    std::vector<std::vector<std::uint32_t>> members_;
    std::vector<std::vector<edge>> edges_;
    std::vector<bool> ends_;
    std::vector<tree_node> tree_;
    std::vector<std::uint32_t> seen_, region_; // seen in which visit
    std::vector<std::uint32_t> merged_;        // roots of the groups that would be one
    std::vector<std::uint32_t> merged_in_;     // by root, the last count that it was merged in
    std::vector<std::uint32_t> read_in_;       // by value, the last count that it was read in
    std::vector<std::size_t> first_value_;     // by node id, the number of its first result
    std::uint32_t visits_ = 0, counts_ = 0;
    pass_outcome outcome_;
};

// The operators of each group in order, groups in the order of their last ones.
GSUB_LAZY std::vector<std::vector<node_id>> nodes_of(grouping<> const& groups) {
    std::vector<std::vector<node_id>> found;
    for (std::uint32_t i = 0; i < groups.operators(); ++i) {
        if (groups.root(i) != i || groups.stays(i)) continue;
        auto members = groups.members(i);
        std::sort(members.begin(), members.end());
        auto& nodes = found.emplace_back();
        for (auto m : members) nodes.push_back(groups.node(m));
    }
    return found;
}

GSUB_LAZY std::vector<outlined_part> parts_of(any_graph const& g, std::vector<std::vector<node_id>> groups) {
    std::vector<outlined_part> parts;
    for (auto& nodes : groups) {
        if (g.is<ops::opaque>(nodes.front()) || g.is<ops::call>(nodes.front())) continue;
        std::string stem = "fused";
        for (auto n : nodes)
            if (auto const op = identifier_of(g.op(n).name); stem.size() + op.size() < 64)
                stem += format_text("_{}", op);
        parts.push_back({std::move(nodes), std::move(stem), {.primitive = true}});
    }
    return parts;
}

} // namespace detail

GSUB_LAZY_BODY fuse_kind fuse_kind_of(any_graph const& g, node_id n) {
    auto const& op = g.op(n);
    auto const known_shapes = [&] {
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (detail::of_unknown_shape(g.type({n, port}))) return false;
        return true;
    };
    switch (op.category) {
    case op_category::elementwise:
        return fuse_kind::broadcast;
    case op_category::injective:
    case op_category::source: // the shapes of these may be computed by the graph
        return known_shapes() ? fuse_kind::injective : fuse_kind::opaque;
    case op_category::reduction:
        return op.commutative_reduction ? fuse_kind::reduction : fuse_kind::out_fusable;
    case op_category::contraction:
        return fuse_kind::out_fusable;
    case op_category::structural:
    case op_category::opaque:
        break;
    }
    return fuse_kind::opaque;
}

GSUB_LAZY_BODY std::vector<std::vector<node_id>> fuse_groups(any_graph const& g, fuse_ops const& options) {
    return detail::nodes_of(detail::grouping<>{g, options});
}

GSUB_LAZY_BODY result<pass_outcome> fuse_ops::operator()(module& m, pass_context& cx) const {
    pass_outcome outcome;
    outliner make_functions{m};
    for (auto const& function_name : detail::functions_seen(pass_info::of<fuse_ops>(), m, outcome)) {
        cx.check_stop();
        auto const& body = m.find(function_name)->body;
        std::vector<std::vector<node_id>> found;
        if (groups) {
            found = groups(body, cx.machine);
        } else {
            detail::grouping<> const by_kinds{body, *this};
            outcome += by_kinds.outcome();
            found = detail::nodes_of(by_kinds);
        }
        auto const parts = detail::parts_of(body, std::move(found));
        if (parts.empty()) continue;
        make_functions(function_name, as_span(parts));
        outcome.matches += parts.size();
        outcome.changed = true;
    }
    return outcome;
}

GSUB_LAZY_BODY bool is_view(any_graph const& body) {
    for (auto n : body.order())
        if (body.op(n).category != op_category::structural && !body.constant(n) && !body.op(n).aliasing_view)
            return false;
    return true;
}

} // namespace gsub::passes
