// layer_places: where the vertices of layers stand from left to right.
#pragma once

#include <gsub/report/impl/layered_graph.ipp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gsub::report::detail {

// Places the vertices of each layer in their order, near their neighbours.
template <class = void>
class layer_places {
public:
    explicit layer_places(layered_graph<>& g) : g_(g) {}

    void run() {
        for (auto const& row : g_.rows) {
            double x = 0;
            for (std::size_t i = 0; i < row.size(); ++i)
                g_.vertices[row[i]].x = i == 0 ? 0 : (x += distance(row[i - 1], row[i]));
            auto const boxes = std::count_if(row.begin(), row.end(), [&](number v) { return !g_.vertices[v].passes; });
            for (auto v : row) g_.vertices[v].x -= x / 2, g_.vertices[v].spine = boxes == 1 && !g_.vertices[v].passes;
        }
        for (int sweep = g_.options.sweeps * 2; sweep >= 0; --sweep) { // the last comes from above
            auto const down = sweep % 2 == 0;
            for (std::size_t i = 0; i < g_.layers; ++i)
                place_row(g_.rows[down ? i : g_.layers - 1 - i], [&](vertex const& v) { return near(v, down); });
        }
        straighten();
        for (auto const& row : g_.rows)
            place_row(row, [](vertex const& v) { return target_place{v.x, v.passes ? 1 : 1e9}; });
    }

private:
    using number = layered_graph<>::number;
    using vertex = layered_graph<>::vertex;
    struct target_place {
        double x, weight;
    };
    double distance(number left, number right) const {
        auto const &a = g_.vertices[left], &b = g_.vertices[right];
        return (a.width + b.width) / 2 + (a.passes || b.passes ? g_.options.between_lines : g_.options.between_boxes);
    }
    // Boxes stand between the boxes on the side that the sweep comes from, so that chains of them are straight; lines
    // follow their own course. A box alone in its layer stands on the middle line, or long graphs would drift aside.
    target_place near(vertex const& v, bool from_above) const {
        if (v.spine) return {0, 1e3};
        double sum = 0, weight = 0;
        auto const& around = from_above ? v.up : v.down;
        auto alike = false;
        for (auto u : around) alike |= g_.vertices[u].passes == v.passes;
        for (auto u : around)
            if (!alike || g_.vertices[u].passes == v.passes) sum += g_.vertices[u].x, weight += 1;
        if (weight == 0) return {v.x, 0.01};
        return {sum / weight, v.passes ? 0.1 : 1 + weight};
    }
    // The places nearest to the target places that keep order and distance: least squares under x[i+1] - x[i] >=
    // distance.
    template <class Target>
    void place_row(std::vector<number> const& row, Target&& target_of) {
        struct block {
            double mean, weight;
            std::size_t count;
        };
        std::vector<block> blocks;
        std::vector<double> offset(row.size(), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0) offset[i] = offset[i - 1] + distance(row[i - 1], row[i]);
            target_place const w = target_of(g_.vertices[row[i]]);
            block b{w.x - offset[i], w.weight, 1};
            while (!blocks.empty() && blocks.back().mean > b.mean) {
                auto const& a = blocks.back();
                auto const total = a.weight + b.weight;
                b = {(a.mean * a.weight + b.mean * b.weight) / total, total, a.count + b.count};
                blocks.pop_back();
            }
            blocks.push_back(b);
        }
        std::size_t i = 0;
        for (auto const& b : blocks)
            for (std::size_t k = 0; k < b.count; ++k, ++i) g_.vertices[row[i]].x = b.mean + offset[i];
    }
    // Boxes stand now. A line runs straight down for as many layers as the boxes beside it leave it room, then it moves
    // over.
    void straighten() {
        struct room {
            double from = -1e18, to = 1e18;
        };
        std::vector<room> rooms(g_.vertices.size());
        for (auto const& row : g_.rows) {
            double bound = -1e18;
            for (auto v : row) {
                rooms[v].from = bound;
                bound =
                    g_.vertices[v].passes ? bound + g_.options.between_lines : right_of(v) + g_.options.between_lines;
            }
            bound = 1e18;
            for (std::size_t i = row.size(); i-- > 0;) {
                rooms[row[i]].to = bound;
                bound = g_.vertices[row[i]].passes
                            ? bound - g_.options.between_lines
                            : right_of(row[i]) - g_.vertices[row[i]].width - g_.options.between_lines;
            }
        }
        // The vertices of a bundle have consecutive numbers, each below the one before.
        for (std::size_t v = g_.boxes.size(); v < g_.vertices.size();) {
            auto x = g_.vertices[g_.vertices[v].up[0]].x;
            auto common = rooms[v];
            auto end = v + 1;
            for (; end < g_.vertices.size() && g_.vertices[end].up[0] == end - 1; ++end) {
                room const next{std::max(common.from, rooms[end].from), std::min(common.to, rooms[end].to)};
                if (next.from > next.to) break;
                common = next;
            }
            x = std::min(std::max(x, common.from), common.to);
            for (; v < end; ++v) g_.vertices[v].x = x;
        }
    }
    double right_of(number v) const { return g_.vertices[v].x + g_.vertices[v].width / 2; }

    layered_graph<>& g_;
};

} // namespace gsub::report::detail
