// layer_order: the order of the vertices within layers.
#pragma once

#include <gsub/report/impl/layered_graph.ipp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::report::detail {

// Orders the vertices of each layer by the middle of their neighbours, layer by layer, so that few lines cross.
template <class = void>
class layer_order {
public:
    explicit layer_order(layered_graph<>& g) : g_(g) {}

    void run() {
        position_.resize(g_.vertices.size());
        for (auto const& row : g_.rows) number_row(row);
        auto best = g_.rows;
        auto fewest = crossings();
        for (int sweep = 0; sweep < g_.options.sweeps && fewest > 0; ++sweep) {
            auto const down = sweep % 2 == 0;
            for (std::size_t i = 1; i < g_.layers; ++i) sort_row(g_.rows[down ? i : g_.layers - 1 - i], down);
            if (auto const now = crossings(); now < fewest) {
                fewest = now;
                best = g_.rows;
            }
        }
        g_.rows = std::move(best);
        for (auto const& row : g_.rows) number_row(row);
    }

private:
    using number = layered_graph<>::number;

    void number_row(std::vector<number> const& row) {
        for (number i = 0; i < row.size(); ++i) position_[row[i]] = i;
    }
    void sort_row(std::vector<number>& row, bool by_upper) {
        std::vector<std::pair<double, number>> keyed;
        for (auto v : row) {
            auto const& near = by_upper ? g_.vertices[v].up : g_.vertices[v].down;
            double sum = 0;
            for (auto u : near) sum += position_[u];
            keyed.emplace_back(near.empty() ? position_[v] : sum / static_cast<double>(near.size()), v);
        }
        std::stable_sort(keyed.begin(), keyed.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
        number_row(row);
    }
    // Inversions among the ends of lines between two layers, counted by a Fenwick tree.
    std::uint64_t crossings() const {
        std::uint64_t total = 0;
        for (std::size_t l = 0; l + 1 < g_.layers; ++l) {
            std::vector<number> tree(g_.rows[l + 1].size() + 1), ends;
            std::uint64_t seen = 0;
            for (auto v : g_.rows[l]) {
                ends.clear();
                for (auto w : g_.vertices[v].down) ends.push_back(position_[w]);
                for (auto e : ends) { // those before that end further right
                    std::uint64_t left = 0;
                    for (auto i = e + 1; i > 0; i -= i & (0u - i)) left += tree[i];
                    total += seen - left;
                }
                for (auto e : ends) {
                    ++seen;
                    for (auto i = e + 1; i < tree.size(); i += i & (0u - i)) ++tree[i];
                }
            }
        }
        return total;
    }

    layered_graph<>& g_;
    std::vector<number> position_; // of each vertex in its row
};

} // namespace gsub::report::detail
