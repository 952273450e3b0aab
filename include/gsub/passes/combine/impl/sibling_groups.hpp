// sibling_groups: operators that read one value and are alike enough to be joined.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gsub::passes::detail {

/// What is joined, and how.
enum class sibling_kind {
    convolutions, ///< weights along their outputs
    columns,      ///< matrices side by side
    stacks,       ///< matrices of one shape, one upon the other
    batches,      ///< stacks of matrices, side by side
};

/// Operators that may become one, in the order of the graph.
using sibling_branches = std::vector<node_id>;

/// The channels of operators of one kind: where they stand, and how many there are.
template <class = void>
class sibling_channels {
public:
    sibling_channels(any_graph const& g, sibling_kind kind) : g_(g), kind_(kind) {}

    /// The axis of a weight along which weights are joined.
    [[nodiscard]] std::size_t joined_axis(node_id n) const {
        if (kind_ == sibling_kind::convolutions) return 0;
        if (g_.is<ops::gemm>(n)) return g_.attributes<ops::gemm>(n).transpose_b ? 0 : 1;
        return g_.type(g_.operand(n, 1)).rank() - 1;
    }
    [[nodiscard]] std::int64_t count(node_id n) const { return g_.type(g_.operand(n, 1)).dims[joined_axis(n)].size(); }
    /// Place of the channels among the dimensions of results, counted from the last one.
    [[nodiscard]] std::size_t from_last(node_id n) const {
        return kind_ == sibling_kind::convolutions ? g_.type({n, 0}).rank() - 2 : 0;
    }

private:
    any_graph const& g_;
    sibling_kind kind_;
};

/// Finds the groups of a graph.
template <class = void>
class sibling_groups {
public:
    sibling_groups(any_graph const& g, sibling_kind kind, pass_outcome& outcome)
        : g_(g), kind_(kind), channels_(g, kind), outcome_(outcome) {
        if (kind == sibling_kind::batches) measure();
        collect();
    }

    [[nodiscard]] std::vector<sibling_branches> const& all() const noexcept { return groups_; }
    /// A joined operator may stand where the first of the group stands: then all paths still lead upwards in depth,
    /// however many groups are joined.
    [[nodiscard]] bool independent(sibling_branches const& group) const {
        if (kind_ != sibling_kind::batches) return true; // weights are constant
        auto first = depth_[group.front().index];
        for (auto n : group) first = std::min(first, depth_[n.index]);
        return std::all_of(group.begin(), group.end(),
                           [&](node_id n) { return depth_[g_.operand(n, 1).node.index] < first; });
    }

private:
    // Longest path to each node from what is constant or an input.
    void measure() {
        depth_.resize(g_.capacity());
        for (auto n : g_.order()) {
            if (g_.constant(n)) continue;
            for (auto v : g_.operands(n))
                if (v.valid()) depth_[n.index] = std::max(depth_[n.index], depth_[v.node.index] + 1);
        }
    }
    void collect() {
        std::unordered_map<hash128, std::size_t> known;
        for (auto n : g_.order()) {
            auto const key = key_of(n);
            if (!key) continue;
            auto const [at, fresh] = known.try_emplace(*key, groups_.size());
            if (fresh) groups_.emplace_back();
            groups_[at->second].push_back(n);
        }
    }

    // What operators that can be joined have in common; nothing for one that cannot.
    std::optional<hash128> key_of(node_id n) {
        auto const convolves = kind_ == sibling_kind::convolutions;
        auto const takes_gemm = kind_ == sibling_kind::columns && g_.is<ops::gemm>(n);
        if (!(convolves ? g_.is<ops::conv>(n) : g_.is<ops::mat_mul>(n) || takes_gemm)) return std::nullopt;
        auto const x = g_.operand(n, 0), w = g_.operand(n, 1), c = g_.operand(n, 2);
        if (g_.constant(n) || !g_.used(n) || x == w) return std::nullopt;
        if (convolves && g_.attributes<ops::conv>(n).group != 1) return std::nullopt;
        auto const &weight = g_.type(w), &y = g_.type({n, 0});
        if (!weight.is_static() || !y.ranked || !y.layout.empty()) return std::nullopt;
        auto const rank = weight.rank();
        if (convolves ? rank < 3 : kind_ == sibling_kind::batches ? rank < 3 : rank != 2) return std::nullopt;
        if (!convolves && (!g_.type(x).ranked || g_.type(x).rank() < 2)) return std::nullopt;
        if (kind_ != sibling_kind::batches && (!g_.constant(w) || (c.valid() && !g_.constant(c)))) {
            outcome_.skip("weights that are not constant");
            return std::nullopt;
        }
        if (c.valid() && !operand_fits(n, c)) {
            outcome_.skip("a bias of another form");
            return std::nullopt;
        }
        hasher h{static_cast<std::uint64_t>(g_.op(n).id)};
        h.add(x.node.index).add(x.port).add(g_.attributes(n).hash()).add(static_cast<std::uint64_t>(weight.element));
        h.add(rank);
        for (std::size_t i = 0; i < rank; ++i)
            if (kind_ == sibling_kind::stacks || i != channels_.joined_axis(n))
                h.add(i).add(static_cast<std::uint64_t>(weight.dims[i].size()));
        return h.finish();
    }

    // A bias has one number a channel; that of a product may be one number and have rows.
    [[nodiscard]] bool operand_fits(node_id n, value_id c) const {
        auto const& t = g_.type(c);
        if (!t.is_static()) return false;
        if (kind_ == sibling_kind::convolutions) return t.rank() == 1 && t.dims[0].size() == channels_.count(n);
        return true;
    }

    any_graph const& g_;
    sibling_kind kind_;
    sibling_channels<> channels_;
    pass_outcome& outcome_;
    std::vector<sibling_branches> groups_;
    std::vector<std::uint32_t> depth_; // by node, for batches
};

} // namespace gsub::passes::detail
