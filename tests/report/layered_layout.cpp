#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/report/layered_layout.hpp>

#include <cmath>

namespace layered_layout_test {

using namespace gsub;
using report::layout_box;
using report::layout_line;

struct drawing {
    std::vector<layout_box> boxes;
    std::vector<layout_line> lines;
};

drawing random_drawing(std::uint64_t seed, std::size_t count) {
    random_stream r{seed};
    drawing d;
    for (std::size_t i = 0; i < count; ++i) {
        d.boxes.push_back({40 + static_cast<double>(r.below(100)), 20 + static_cast<double>(r.below(40))});
        for (auto k = i == 0 ? 0 : r.below(3); k > 0; --k)
            d.lines.push_back({static_cast<std::uint32_t>(r.below(i)), static_cast<std::uint32_t>(i),
                               static_cast<std::uint32_t>(r.below(2))});
    }
    return d;
}

TEST_CASE("boxes of a layer stand apart, in the drawing, below what they read") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const d = random_drawing(seed, 2 + seed);
        auto const l = report::lay_out(d.boxes, d.lines).value();
        REQUIRE(l.boxes.size() == d.boxes.size());
        for (std::size_t a = 0; a < d.boxes.size(); ++a) {
            CHECK(l.boxes[a].x >= -1e-6);
            CHECK(l.boxes[a].y >= 0);
            CHECK(l.boxes[a].x + d.boxes[a].width <= l.width + 1e-6);
            CHECK(l.boxes[a].y + d.boxes[a].height <= l.height + 1e-6);
            CHECK(l.boxes[a].layer < l.layers);
            for (std::size_t b = 0; b < a; ++b) {
                if (l.boxes[a].layer != l.boxes[b].layer) continue;
                auto const gap = std::max(l.boxes[a].x - l.boxes[b].x - d.boxes[b].width,
                                          l.boxes[b].x - l.boxes[a].x - d.boxes[a].width);
                CHECK(gap >= report::layout_options{}.between_boxes - 1e-6);
            }
        }
        for (auto const& line : d.lines) {
            CHECK(l.boxes[line.from].layer < l.boxes[line.to].layer);
            CHECK(l.boxes[line.from].y + d.boxes[line.from].height < l.boxes[line.to].y);
        }
    }
}

TEST_CASE("each line has a way that falls to the top of its box and passes through no other") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const d = random_drawing(seed, 2 + seed);
        auto const l = report::lay_out(d.boxes, d.lines).value();
        REQUIRE(l.ways.size() == d.lines.size());
        for (std::size_t i = 0; i < l.ways.size(); ++i) {
            auto const& w = l.ways[i];
            auto const to = d.lines[i].to;
            CHECK(w.line == i);
            REQUIRE(w.points.size() >= 2);
            CHECK(w.points.back().y == l.boxes[to].y);
            CHECK(w.points.back().x >= l.boxes[to].x);
            CHECK(w.points.back().x <= l.boxes[to].x + d.boxes[to].width);
            for (std::size_t k = 1; k < w.points.size(); ++k) {
                auto const a = w.points[k - 1], b = w.points[k];
                CHECK(a.y <= b.y);
                for (std::size_t n = 0; n < d.boxes.size(); ++n) {
                    // A curve stays in the gap between two layers, an upright piece beside the boxes.
                    auto const top = l.boxes[n].y, end = top + d.boxes[n].height;
                    auto const beside = b.y <= top || a.y >= end;
                    auto const outside =
                        std::max(a.x, b.x) < l.boxes[n].x || std::min(a.x, b.x) > l.boxes[n].x + d.boxes[n].width;
                    CHECK((beside || outside));
                }
            }
        }
    }
}

TEST_CASE("a chain is a straight line, and the same input gives the same drawing") {
    drawing chain;
    for (std::uint32_t i = 0; i < 50; ++i) {
        chain.boxes.push_back({50.0 + i % 7 * 10, 30});
        if (i > 0) chain.lines.push_back({i - 1, i, 0});
    }
    auto const l = report::lay_out(chain.boxes, chain.lines).value();
    CHECK(l.layers == 50);
    for (std::size_t i = 1; i < 50; ++i)
        CHECK(std::abs(l.boxes[i].x + chain.boxes[i].width / 2 - l.boxes[0].x - chain.boxes[0].width / 2) < 1e-6);
    auto const d = random_drawing(5, 80);
    auto const a = report::lay_out(d.boxes, d.lines).value(), b = report::lay_out(d.boxes, d.lines).value();
    for (std::size_t i = 0; i < d.boxes.size(); ++i) CHECK(a.boxes[i].x == b.boxes[i].x);
    for (std::size_t i = 0; i < d.lines.size(); ++i) CHECK(a.ways[i].points == b.ways[i].points);
}

TEST_CASE("sources stand just above their first reader, and lines of one result share their way") {
    std::vector<layout_box> const boxes(6, {50, 30});
    // Box 3 reads nothing and is read by box 4 first; box 0 is read by boxes 1, 4 and 5.
    std::vector<layout_line> const lines{{0, 1}, {1, 2}, {2, 4}, {3, 4}, {4, 5}, {0, 4}, {0, 5}};
    auto const l = report::lay_out(boxes, lines).value();
    CHECK(l.boxes[3].layer == 2);
    CHECK(l.boxes[4].layer == 3);
    // The way of 0 -> 5 begins where that of 0 -> 4 passes.
    CHECK(l.ways[6].points.front().y > l.boxes[1].y);
}

TEST_CASE("nothing is drawn as nothing, and too much is an error") {
    CHECK(report::lay_out({}, {}).value().boxes.empty());
    std::vector<layout_box> const boxes(100, {10, 10});
    std::vector<layout_line> lines{{0, 99, 0}};
    for (std::uint32_t i = 1; i < 100; ++i) lines.push_back({i - 1, i, 0});
    auto const l = report::lay_out(boxes, lines, {.max_vertices = 150});
    REQUIRE_FALSE(l);
    CHECK(l.error().code() == error_code::unsupported);
}

} // namespace layered_layout_test
