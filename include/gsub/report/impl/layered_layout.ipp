#pragma once

#include <gsub/report/layered_layout.hpp>

#include <algorithm>
#include <utility>

namespace gsub::report {

namespace detail {

/// Lays out one graph. Vertices are the boxes and, behind them, the places where lines pass a layer.
template <class = void>
class layering {
public:
    layering(std::span<layout_box const> boxes, std::span<layout_line const> lines, layout_options const& o)
        : boxes_(boxes), lines_(lines), o_(o) {}

    layered_layout run() {
        choose_layers();
        route();
        order();
        place();
        return draw();
    }

private:
    using number = std::uint32_t;
    struct vertex {
        number layer = 0;
        double width = 0, x = 0; // x of the middle
        bool passes = false;     // a line, no box
        bool spine = false;      // the only box of its layer
        std::vector<number> up, down;
    };
    static bool by_from(layout_line const& a, layout_line const& b) {
        return a.from != b.from ? a.from < b.from : a.port < b.port;
    }

    void choose_layers() {
        auto const count = boxes_.size();
        vertices_.resize(count);
        std::vector<number> sorted(lines_.size());
        for (number i = 0; i < sorted.size(); ++i) {
            GSUB_ASSERT(lines_[i].from < lines_[i].to && lines_[i].to < count, "lines lead to boxes further on");
            sorted[i] = i;
        }
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](number a, number b) { return lines_[a].from < lines_[b].from; });
        std::vector<bool> source(count, true);
        for (auto i : sorted) {
            auto const& l = lines_[i];
            auto& to = vertices_[l.to].layer;
            to = std::max(to, vertices_[l.from].layer + 1);
            source[l.to] = false;
        }
        // A source stands above the first that reads it, not at the top of everything.
        std::vector<number> first(count, static_cast<number>(-1));
        for (auto const& l : lines_) first[l.from] = std::min(first[l.from], vertices_[l.to].layer);
        for (std::size_t i = 0; i < count; ++i) {
            if (source[i] && first[i] != static_cast<number>(-1)) vertices_[i].layer = first[i] - 1;
            vertices_[i].width = boxes_[i].width;
            layers_ = std::max<std::size_t>(layers_, vertices_[i].layer + 1);
        }
        if (count == 0) layers_ = 0;
    }

    // A chain of passing vertices for each bundle, down to the layer above its last reader.
    void route() {
        std::vector<number> sorted(lines_.size());
        for (number i = 0; i < sorted.size(); ++i) sorted[i] = i;
        std::stable_sort(sorted.begin(), sorted.end(), [&](number a, number b) {
            auto const &p = lines_[a], &q = lines_[b];
            return by_from(p, q) || (!by_from(q, p) && vertices_[p.to].layer < vertices_[q.to].layer);
        });
        legs_.resize(lines_.size());
        std::vector<number> chain; // of the bundle, one a layer from its box on
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            auto const& l = lines_[sorted[i]];
            auto const fresh = i == 0 || by_from(lines_[sorted[i - 1]], l);
            if (fresh) chain.assign(1, l.from);
            auto& leg = legs_[sorted[i]];
            leg.push_back(chain.back());
            auto const begin = vertices_[l.from].layer;
            while (begin + chain.size() < vertices_[l.to].layer) {
                if (vertices_.size() >= o_.max_vertices)
                    throw error{problem{error_code::unsupported,
                                        {},
                                        {},
                                        "the drawing would have more than " + std::to_string(o_.max_vertices) +
                                            " boxes and bends",
                                        "a part of the graph"}};
                auto const next = static_cast<number>(vertices_.size());
                vertices_.push_back({begin + static_cast<number>(chain.size()), 0, 0, true, false, {}, {}});
                join(chain.back(), next);
                chain.push_back(next);
                leg.push_back(next);
            }
            // A line to a layer above the end of the chain leaves it earlier; lines are sorted, so the end it is.
            join(chain.back(), l.to);
            leg.push_back(l.to);
        }
    }
    void join(number upper, number lower) {
        vertices_[upper].down.push_back(lower);
        vertices_[lower].up.push_back(upper);
    }

    // ---- order within layers ---------------------------------------------------------------------------------
    void order() {
        rows_.resize(layers_);
        position_.resize(vertices_.size());
        for (number v = 0; v < vertices_.size(); ++v) rows_[vertices_[v].layer].push_back(v);
        for (auto const& row : rows_) number_row(row);
        auto best = rows_;
        auto fewest = crossings();
        for (int sweep = 0; sweep < o_.sweeps && fewest > 0; ++sweep) {
            auto const down = sweep % 2 == 0;
            for (std::size_t i = 1; i < layers_; ++i) sort_row(rows_[down ? i : layers_ - 1 - i], down);
            if (auto const now = crossings(); now < fewest) {
                fewest = now;
                best = rows_;
            }
        }
        rows_ = std::move(best);
        for (auto const& row : rows_) number_row(row);
    }
    void number_row(std::vector<number> const& row) {
        for (number i = 0; i < row.size(); ++i) position_[row[i]] = i;
    }
    void sort_row(std::vector<number>& row, bool by_upper) {
        std::vector<std::pair<double, number>> keyed;
        for (auto v : row) {
            auto const& near = by_upper ? vertices_[v].up : vertices_[v].down;
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
        for (std::size_t l = 0; l + 1 < layers_; ++l) {
            std::vector<number> tree(rows_[l + 1].size() + 1), ends;
            std::uint64_t seen = 0;
            for (auto v : rows_[l]) {
                ends.clear();
                for (auto w : vertices_[v].down) ends.push_back(position_[w]);
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

    // ---- places within layers ----------------------------------------------------------------------------------
    struct target_place {
        double x, weight;
    };
    double distance(number left, number right) const {
        auto const &a = vertices_[left], &b = vertices_[right];
        return (a.width + b.width) / 2 + (a.passes || b.passes ? o_.between_lines : o_.between_boxes);
    }
    void place() {
        for (auto const& row : rows_) {
            double x = 0;
            for (std::size_t i = 0; i < row.size(); ++i)
                vertices_[row[i]].x = i == 0 ? 0 : (x += distance(row[i - 1], row[i]));
            auto const boxes = std::count_if(row.begin(), row.end(), [&](number v) { return !vertices_[v].passes; });
            for (auto v : row) vertices_[v].x -= x / 2, vertices_[v].spine = boxes == 1 && !vertices_[v].passes;
        }
        for (int sweep = o_.sweeps * 2; sweep >= 0; --sweep) { // the last comes from above
            auto const down = sweep % 2 == 0;
            for (std::size_t i = 0; i < layers_; ++i)
                place_row(rows_[down ? i : layers_ - 1 - i], [&](vertex const& v) { return near(v, down); });
        }
        straighten();
        for (auto const& row : rows_)
            place_row(row, [](vertex const& v) { return target_place{v.x, v.passes ? 1 : 1e9}; });
    }
    // Boxes stand between the boxes on the side that the sweep comes from, so that chains of them are straight; lines
    // follow their own course. A box alone in its layer stands on the middle line, or long graphs would drift aside.
    target_place near(vertex const& v, bool from_above) const {
        if (v.spine) return {0, 1e3};
        double sum = 0, weight = 0;
        auto const& around = from_above ? v.up : v.down;
        auto alike = false;
        for (auto u : around) alike |= vertices_[u].passes == v.passes;
        for (auto u : around)
            if (!alike || vertices_[u].passes == v.passes) sum += vertices_[u].x, weight += 1;
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
            target_place const w = target_of(vertices_[row[i]]);
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
            for (std::size_t k = 0; k < b.count; ++k, ++i) vertices_[row[i]].x = b.mean + offset[i];
    }
    // Boxes stand now. A line runs straight down for as many layers as the boxes beside it leave it room, then it moves
    // over.
    void straighten() {
        struct room {
            double from = -1e18, to = 1e18;
        };
        std::vector<room> rooms(vertices_.size());
        for (auto const& row : rows_) {
            double bound = -1e18;
            for (auto v : row) {
                rooms[v].from = bound;
                bound = vertices_[v].passes ? bound + o_.between_lines : right_of(v) + o_.between_lines;
            }
            bound = 1e18;
            for (std::size_t i = row.size(); i-- > 0;) {
                rooms[row[i]].to = bound;
                bound = vertices_[row[i]].passes ? bound - o_.between_lines
                                                 : right_of(row[i]) - vertices_[row[i]].width - o_.between_lines;
            }
        }
        // The vertices of a bundle have consecutive numbers, each below the one before.
        for (std::size_t v = boxes_.size(); v < vertices_.size();) {
            auto x = vertices_[vertices_[v].up[0]].x;
            auto common = rooms[v];
            auto end = v + 1;
            for (; end < vertices_.size() && vertices_[end].up[0] == end - 1; ++end) {
                room const next{std::max(common.from, rooms[end].from), std::min(common.to, rooms[end].to)};
                if (next.from > next.to) break;
                common = next;
            }
            x = std::min(std::max(x, common.from), common.to);
            for (; v < end; ++v) vertices_[v].x = x;
        }
    }
    double right_of(number v) const { return vertices_[v].x + vertices_[v].width / 2; }

    // ---- the drawing -------------------------------------------------------------------------------------------
    layered_layout draw() const {
        layered_layout out;
        out.layers = layers_;
        std::vector<double> tall(layers_, 0), top(layers_, 0);
        for (std::size_t i = 0; i < boxes_.size(); ++i)
            tall[vertices_[i].layer] = std::max(tall[vertices_[i].layer], boxes_[i].height);
        for (std::size_t l = 0; l < layers_; ++l) {
            top[l] = l == 0 ? 0 : top[l - 1] + tall[l - 1] + o_.between_layers;
            out.height = top[l] + tall[l];
        }
        double left = 0, right = 0;
        for (std::size_t v = 0; v < vertices_.size(); ++v) {
            auto const from = vertices_[v].x - vertices_[v].width / 2, to = from + vertices_[v].width;
            left = v == 0 ? from : std::min(left, from), right = v == 0 ? to : std::max(right, to);
        }
        out.width = right - left;
        auto const middle = [&](number v) { return vertices_[v].x - left; };
        for (number v = 0; v < boxes_.size(); ++v)
            out.boxes.push_back({middle(v) - boxes_[v].width / 2, top[vertices_[v].layer], vertices_[v].layer});
        auto const ends = arrivals();
        auto const results = ports();
        for (number i = 0; i < lines_.size(); ++i) {
            layered_layout::way w{i, {}};
            auto const& leg = legs_[i];
            for (std::size_t k = 0; k < leg.size(); ++k) {
                auto const v = leg[k];
                auto const layer = vertices_[v].layer;
                auto x = middle(v);
                if (k + 1 == leg.size()) {
                    w.points.push_back({x + ends[i], top[layer]});
                    break;
                }
                if (v < boxes_.size()) {
                    x += beside(lines_[i].port, results[v], boxes_[v].width);
                    w.points.push_back({x, top[layer] + boxes_[v].height});
                } else if (k > 0) {
                    w.points.push_back({x, top[layer]});
                }
                w.points.push_back({x, top[layer] + tall[layer]});
            }
            // What lies on a straight way between its neighbours is left out.
            auto& p = w.points;
            std::size_t kept = 0;
            for (std::size_t k = 0; k < p.size(); ++k) {
                auto const between = kept > 0 && k + 1 < p.size() && p[kept - 1].x == p[k].x && p[k].x == p[k + 1].x;
                if (!between) p[kept++] = p[k];
            }
            p.resize(kept);
            out.ways.push_back(std::move(w));
        }
        return out;
    }
    // Lines that arrive at one box stand side by side, in the order in which they come.
    std::vector<double> arrivals() const {
        std::vector<std::vector<number>> of(boxes_.size());
        for (number i = 0; i < lines_.size(); ++i) of[lines_[i].to].push_back(i);
        std::vector<double> out(lines_.size(), 0);
        for (number v = 0; v < of.size(); ++v) {
            auto& list = of[v];
            auto const comes_from = [&](number i) { return vertices_[legs_[i][legs_[i].size() - 2]].x; };
            std::stable_sort(list.begin(), list.end(),
                             [&](number a, number b) { return comes_from(a) < comes_from(b); });
            for (std::size_t k = 0; k < list.size(); ++k) out[list[k]] = beside(k, list.size(), boxes_[v].width);
        }
        return out;
    }
    // Results of one box likewise, in the order of ports.
    std::vector<number> ports() const {
        std::vector<number> out(boxes_.size(), 1);
        for (auto const& l : lines_) out[l.from] = std::max(out[l.from], l.port + 1);
        return out;
    }
    // Where number k of some lines meets a box, from its middle.
    static double beside(std::size_t k, std::size_t count, double width) {
        auto const step = std::min(18.0, width * 0.8 / static_cast<double>(count));
        return (static_cast<double>(k) - static_cast<double>(count - 1) / 2) * step;
    }

    std::span<layout_box const> boxes_;
    std::span<layout_line const> lines_;
    layout_options const& o_;
    std::size_t layers_ = 0;
    std::vector<vertex> vertices_;
    std::vector<std::vector<number>>
        legs_; // of each line: the vertices that it passes, from where it leaves its bundle
    std::vector<std::vector<number>> rows_; // vertices of each layer, from left to right
    std::vector<number> position_;          // of each vertex in its row
};

} // namespace detail

GSUB_LAZY_BODY result<layered_layout> lay_out(std::span<layout_box const> boxes, std::span<layout_line const> lines,
                                              layout_options const& options) {
    return capture([&] { return detail::layering<>{boxes, lines, options}.run(); });
}

} // namespace gsub::report
