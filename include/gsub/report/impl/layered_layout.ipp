#pragma once

#include <gsub/report/impl/layer_order.ipp>
#include <gsub/report/impl/layer_places.ipp>
#include <gsub/report/impl/layered_graph.ipp>
#include <gsub/report/layered_layout.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gsub::report {

namespace detail {

// The drawing of a graph whose vertices have their places.
template <class = void>
class layered_drawing {
public:
    explicit layered_drawing(layered_graph<> const& g) : g_(g) {}

    layered_layout run() const {
        layered_layout out;
        out.layers = g_.layers;
        std::vector<double> tall(g_.layers, 0), top(g_.layers, 0);
        for (std::size_t i = 0; i < g_.boxes.size(); ++i)
            tall[g_.vertices[i].layer] = std::max(tall[g_.vertices[i].layer], g_.boxes[i].height);
        for (std::size_t l = 0; l < g_.layers; ++l) {
            top[l] = l == 0 ? 0 : top[l - 1] + tall[l - 1] + g_.options.between_layers;
            out.height = top[l] + tall[l];
        }
        double left = 0, right = 0;
        for (std::size_t v = 0; v < g_.vertices.size(); ++v) {
            auto const from = g_.vertices[v].x - g_.vertices[v].width / 2, to = from + g_.vertices[v].width;
            left = v == 0 ? from : std::min(left, from), right = v == 0 ? to : std::max(right, to);
        }
        out.width = right - left;
        auto const middle = [&](number v) { return g_.vertices[v].x - left; };
        for (number v = 0; v < g_.boxes.size(); ++v)
            out.boxes.push_back({middle(v) - g_.boxes[v].width / 2, top[g_.vertices[v].layer], g_.vertices[v].layer});
        auto const ends = arrivals();
        auto const results = ports();
        for (number i = 0; i < g_.lines.size(); ++i) {
            layered_layout::way w{i, {}};
            auto const& leg = g_.legs[i];
            for (std::size_t k = 0; k < leg.size(); ++k) {
                auto const v = leg[k];
                auto const layer = g_.vertices[v].layer;
                auto x = middle(v);
                if (k + 1 == leg.size()) {
                    w.points.push_back({x + ends[i], top[layer]});
                    break;
                }
                if (v < g_.boxes.size()) {
                    x += beside(g_.lines[i].port, results[v], g_.boxes[v].width);
                    w.points.push_back({x, top[layer] + g_.boxes[v].height});
                } else if (k > 0) {
                    w.points.push_back({x, top[layer]});
                }
                w.points.push_back({x, top[layer] + tall[layer]});
            }
            straighten(w.points);
            out.ways.push_back(std::move(w));
        }
        return out;
    }

private:
    using number = layered_graph<>::number;

    // Leaves out what lies on a straight way between its neighbours.
    static void straighten(std::vector<layout_point>& p) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < p.size(); ++k) {
            auto const between = kept > 0 && k + 1 < p.size() && p[kept - 1].x == p[k].x && p[k].x == p[k + 1].x;
            if (!between) p[kept++] = p[k];
        }
        p.resize(kept);
    }
    // Lines that arrive at one box stand side by side, in the order in which they come.
    std::vector<double> arrivals() const {
        std::vector<std::vector<number>> of(g_.boxes.size());
        for (number i = 0; i < g_.lines.size(); ++i) of[g_.lines[i].to].push_back(i);
        std::vector<double> out(g_.lines.size(), 0);
        for (number v = 0; v < of.size(); ++v) {
            auto& list = of[v];
            auto const comes_from = [&](number i) { return g_.vertices[g_.legs[i][g_.legs[i].size() - 2]].x; };
            std::stable_sort(list.begin(), list.end(),
                             [&](number a, number b) { return comes_from(a) < comes_from(b); });
            for (std::size_t k = 0; k < list.size(); ++k) out[list[k]] = beside(k, list.size(), g_.boxes[v].width);
        }
        return out;
    }
    // Results of one box likewise, in the order of ports.
    std::vector<number> ports() const {
        std::vector<number> out(g_.boxes.size(), 1);
        for (auto const& l : g_.lines) out[l.from] = std::max(out[l.from], l.port + 1);
        return out;
    }
    // Where number k of some lines meets a box, from its middle.
    static double beside(std::size_t k, std::size_t count, double width) {
        auto const step = std::min(18.0, width * 0.8 / static_cast<double>(count));
        return (static_cast<double>(k) - static_cast<double>(count - 1) / 2) * step;
    }

    layered_graph<> const& g_;
};

} // namespace detail

GSUB_LAZY_BODY result<layered_layout> lay_out(std::span<layout_box const> boxes, std::span<layout_line const> lines,
                                              layout_options const& options) {
    return capture([&] {
        detail::layered_graph<> g{boxes, lines, options};
        detail::layer_order<>{g}.run();
        detail::layer_places<>{g}.run();
        return detail::layered_drawing<>{g}.run();
    });
}

} // namespace gsub::report
