// layered_graph: boxes in layers, and the places where lines pass a layer.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/report/layered_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gsub::report::detail {

// Graph to be drawn. Vertices are the boxes and, behind them, the places where lines pass a layer.
template <class = void>
class layered_graph {
public:
    using number = std::uint32_t;
    struct vertex {
        number layer = 0;
        double width = 0, x = 0; // x of the middle
        bool passes = false;     // a line, no box
        bool spine = false;      // the only box of its layer
        std::vector<number> up, down;
    };

    layered_graph(std::span<layout_box const> all, std::span<layout_line const> between, layout_options const& o)
        : boxes(all), lines(between), options(o) {
        choose_layers();
        route();
        rows.resize(layers);
        for (number v = 0; v < vertices.size(); ++v) rows[vertices[v].layer].push_back(v);
    }

    std::span<layout_box const> boxes;
    std::span<layout_line const> lines;
    layout_options const& options;
    std::size_t layers = 0;
    std::vector<vertex> vertices;
    std::vector<std::vector<number>> legs; // of each line: the vertices that it passes, from where it leaves its bundle
    std::vector<std::vector<number>> rows; // vertices of each layer, from left to right

private:
    static bool by_from(layout_line const& a, layout_line const& b) {
        return a.from != b.from ? a.from < b.from : a.port < b.port;
    }

    void choose_layers() {
        auto const count = boxes.size();
        vertices.resize(count);
        std::vector<number> sorted(lines.size());
        for (number i = 0; i < sorted.size(); ++i) {
            GSUB_ASSERT(lines[i].from < lines[i].to && lines[i].to < count, "lines lead to boxes further on");
            sorted[i] = i;
        }
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](number a, number b) { return lines[a].from < lines[b].from; });
        std::vector<bool> source(count, true);
        for (auto i : sorted) {
            auto const& l = lines[i];
            auto& to = vertices[l.to].layer;
            to = std::max(to, vertices[l.from].layer + 1);
            source[l.to] = false;
        }
        // A source stands above the first that reads it, not at the top of everything.
        std::vector<number> first(count, static_cast<number>(-1));
        for (auto const& l : lines) first[l.from] = std::min(first[l.from], vertices[l.to].layer);
        for (std::size_t i = 0; i < count; ++i) {
            if (source[i] && first[i] != static_cast<number>(-1)) vertices[i].layer = first[i] - 1;
            vertices[i].width = boxes[i].width;
            layers = std::max<std::size_t>(layers, vertices[i].layer + 1);
        }
        if (count == 0) layers = 0;
    }

    // A chain of passing vertices for each bundle, down to the layer above its last reader.
    void route() {
        std::vector<number> sorted(lines.size());
        for (number i = 0; i < sorted.size(); ++i) sorted[i] = i;
        std::stable_sort(sorted.begin(), sorted.end(), [&](number a, number b) {
            auto const &p = lines[a], &q = lines[b];
            return by_from(p, q) || (!by_from(q, p) && vertices[p.to].layer < vertices[q.to].layer);
        });
        legs.resize(lines.size());
        std::vector<number> chain; // of the bundle, one a layer from its box on
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            auto const& l = lines[sorted[i]];
            auto const fresh = i == 0 || by_from(lines[sorted[i - 1]], l);
            if (fresh) chain.assign(1, l.from);
            auto& leg = legs[sorted[i]];
            leg.push_back(chain.back());
            auto const begin = vertices[l.from].layer;
            while (begin + chain.size() < vertices[l.to].layer) {
                if (vertices.size() >= options.max_vertices)
                    throw error{problem{error_code::unsupported,
                                        {},
                                        {},
                                        "the drawing would have more than " + std::to_string(options.max_vertices) +
                                            " boxes and bends",
                                        "a part of the graph"}};
                auto const next = static_cast<number>(vertices.size());
                vertices.push_back({begin + static_cast<number>(chain.size()), 0, 0, true, false, {}, {}});
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
        vertices[upper].down.push_back(lower);
        vertices[lower].up.push_back(upper);
    }
};

} // namespace gsub::report::detail
