// tree_alignment: matches the nodes of two ordered forests by their least edit distance.
#pragma once

#include <gsub/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace gsub::machine::detail {

// Ordered forest by its parents, in pre-order; an added root holds all. Nodes are numbered from 1 in post-order.
template <class = void>
class post_order {
public:
    explicit post_order(std::span<std::int32_t const> parents)
        : leftmost(parents.size() + 2), node(parents.size() + 2, -1) {
        auto const n = parents.size();
        // Post-order backwards is pre-order with the last child first.
        std::vector<std::vector<std::size_t>> inside(n + 1);
        for (std::size_t i = 0; i < n; ++i)
            inside[parents[i] < 0 ? n : static_cast<std::size_t>(parents[i])].push_back(i);
        std::vector<std::size_t> number(n + 1), stack{n};
        for (auto at = n + 1; !stack.empty(); --at) {
            auto const i = stack.back();
            stack.pop_back();
            number[i] = at, node[at] = i == n ? -1 : static_cast<std::int32_t>(i);
            stack.insert(stack.end(), inside[i].begin(), inside[i].end());
        }
        for (std::size_t at = 1; at <= n + 1; ++at) {
            auto const& children = inside[node[at] < 0 ? n : static_cast<std::size_t>(node[at])];
            leftmost[at] = children.empty() ? at : leftmost[number[children.front()]];
        }
        for (std::size_t at = 1; at <= n + 1; ++at)
            if (std::find(leftmost.begin() + static_cast<std::ptrdiff_t>(at) + 1, leftmost.end(), leftmost[at]) ==
                leftmost.end())
                keys.push_back(at);
    }
    [[nodiscard]] std::size_t size() const noexcept { return node.size() - 1; }

    std::vector<std::size_t> leftmost; // of each node: the first leaf below it
    std::vector<std::int32_t> node;    // number in pre-order; -1: the root
    std::vector<std::size_t> keys;     // roots of the sub-forests for which tables are made
};

// Least edit distance of two forests, by what it costs to match two nodes and to leave one out on either side.
template <class Match, class Drop, class Skip>
class tree_alignment {
public:
    tree_alignment(std::span<std::int32_t const> a, std::span<std::int32_t const> b, Match const& match,
                   Drop const& drop, Skip const& skip)
        : a_(a),
          b_(b),
          match_(match),
          drop_(drop),
          skip_(skip),
          tree_((a_.size() + 1) * (b_.size() + 1)),
          forest_(tree_.size()) {
        for (auto const i : a_.keys)
            for (auto const j : b_.keys) fill(i, j);
    }

    // Number in the second forest of what each node of the first is matched with; -1: nothing.
    [[nodiscard]] std::vector<std::int32_t> matches() {
        std::vector<std::int32_t> out(a_.size() - 1, -1);
        std::vector<std::pair<std::size_t, std::size_t>> open{{a_.size(), b_.size()}};
        while (!open.empty()) {
            auto const [i, j] = open.back();
            open.pop_back();
            fill(i, j);
            auto const first_i = a_.leftmost[i], first_j = b_.leftmost[j];
            for (auto x = i, y = j; x >= first_i && y >= first_j;) {
                if (near(at(x, y), at(x - 1, y) + dropped(x))) {
                    --x;
                } else if (near(at(x, y), at(x, y - 1) + skipped(y))) {
                    --y;
                } else if (a_.leftmost[x] == first_i && b_.leftmost[y] == first_j) {
                    if (a_.node[x] >= 0 && b_.node[y] >= 0) out[static_cast<std::size_t>(a_.node[x])] = b_.node[y];
                    --x, --y;
                } else { // two trees within the forests
                    open.push_back({x, y});
                    x = a_.leftmost[x] - 1, y = b_.leftmost[y] - 1;
                }
            }
        }
        return out;
    }

private:
    static constexpr double never = 1e12; // adds without loss of order, and is finite
    [[nodiscard]] double& at(std::size_t x, std::size_t y) noexcept { return forest_[x * (b_.size() + 1) + y]; }
    [[nodiscard]] double& tree(std::size_t x, std::size_t y) noexcept { return tree_[x * (b_.size() + 1) + y]; }
    [[nodiscard]] double dropped(std::size_t x) const { return a_.node[x] < 0 ? never : drop_(a_.node[x]); }
    [[nodiscard]] double skipped(std::size_t y) const { return b_.node[y] < 0 ? never : skip_(b_.node[y]); }
    [[nodiscard]] double matched(std::size_t x, std::size_t y) const {
        if (a_.node[x] < 0 || b_.node[y] < 0) return a_.node[x] == b_.node[y] ? 0 : never;
        auto const cost = match_(a_.node[x], b_.node[y]);
        return cost < 0 ? never : cost;
    }
    // The same sum, computed in the same order, is the same number.
    [[nodiscard]] static bool near(double a, double b) noexcept { return !(a < b) && !(a > b); }

    // Distances of all forests that begin where the trees i and j do.
    void fill(std::size_t i, std::size_t j) {
        auto const first_i = a_.leftmost[i], first_j = b_.leftmost[j];
        at(first_i - 1, first_j - 1) = 0;
        for (auto x = first_i; x <= i; ++x) at(x, first_j - 1) = at(x - 1, first_j - 1) + dropped(x);
        for (auto y = first_j; y <= j; ++y) at(first_i - 1, y) = at(first_i - 1, y - 1) + skipped(y);
        for (auto x = first_i; x <= i; ++x)
            for (auto y = first_j; y <= j; ++y) {
                auto const gap = std::min(at(x - 1, y) + dropped(x), at(x, y - 1) + skipped(y));
                if (a_.leftmost[x] == first_i && b_.leftmost[y] == first_j)
                    tree(x, y) = at(x, y) = std::min(gap, at(x - 1, y - 1) + matched(x, y));
                else
                    at(x, y) = std::min(gap, at(a_.leftmost[x] - 1, b_.leftmost[y] - 1) + tree(x, y));
            }
    }

    post_order<> a_, b_;
    Match const& match_;
    Drop const& drop_;
    Skip const& skip_;
    std::vector<double> tree_, forest_;
};

} // namespace gsub::machine::detail
