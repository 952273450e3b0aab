#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/machine/strided_box.hpp>

#include <set>
#include <vector>

namespace strided_box_test {

using namespace gsub;
using namespace gsub::machine;

std::set<std::int64_t> values_of(std::int64_t at, std::vector<ranged_term> const& terms) {
    std::set<std::int64_t> out{at};
    for (auto const& t : terms) {
        std::set<std::int64_t> next;
        for (auto const v : out)
            for (std::int64_t i = 0; i < t.extent; ++i) next.insert(v + t.factor * i);
        out = std::move(next);
    }
    return out;
}

std::int64_t between(random_stream& draw, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(high - low + 1)));
}

TEST_CASE("the image of an affine index of one or two terms is counted exactly, with its bounds") {
    random_stream draw{21};
    for (int round = 0; round < 400; ++round) {
        std::vector<ranged_term> terms;
        for (auto n = between(draw, 0, 2); n > 0; --n) terms.push_back({between(draw, -9, 9), between(draw, 1, 9)});
        auto const at = between(draw, -5, 5);
        auto const exact = values_of(at, terms);
        auto const p = image_of(at, terms);
        CAPTURE(round);
        CHECK(p.count == static_cast<double>(exact.size()));
        CHECK(p.low == *exact.begin());
        CHECK(p.high == *exact.rbegin());
        for (auto const v : exact) CHECK((v - p.low) % p.stride == 0);
    }
}

TEST_CASE("terms that nest, as those of split loops and strided windows, are counted exactly however many") {
    random_stream draw{22};
    for (int round = 0; round < 200; ++round) {
        std::vector<ranged_term> terms;
        std::int64_t span = 1;
        for (auto n = between(draw, 1, 4); n > 0; --n) { // in steps within what is reached, or beyond it
            auto const factor = draw.below(3) == 0 ? span + between(draw, 0, 3) : between(draw, 1, span);
            if (factor <= span && !terms.empty() && terms.back().factor > 1) continue;
            terms.push_back({factor, between(draw, 2, 4)});
            span += terms.back().factor * (terms.back().extent - 1);
            if (factor > span) break;
        }
        auto const p = image_of(0, terms);
        if (p.density() < 1 && terms.size() > 2) continue; // holes below a further term: not promised
        CAPTURE(round);
        CHECK(p.count == static_cast<double>(values_of(0, terms).size()));
    }
    auto const window = std::vector<ranged_term>{{2, 7}, {1, 3}}; // rows of a convolution of stride 2
    CHECK(image_of(0, window).count == 15);
    auto const tile = std::vector<ranged_term>{{64, 3}, {1, 4}, {16, 2}}; // blocks with holes
    CHECK(image_of(0, tile).count == 24);
}

TEST_CASE("an image of many terms is never counted above its positions or places, and is right on average") {
    random_stream draw{23};
    double exact = 0, counted = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<ranged_term> terms;
        for (int n = 0; n < 4; ++n) terms.push_back({between(draw, 1, 20), between(draw, 1, 5)});
        auto const p = image_of(0, terms);
        double positions = 1;
        for (auto const& t : terms) positions *= static_cast<double>(t.extent);
        CHECK(p.count <= positions);
        CHECK(p.count <= p.places());
        counted += p.count, exact += static_cast<double>(values_of(0, terms).size());
    }
    CHECK(counted / exact == Approx(1).epsilon(0.05));
}

using point = std::vector<std::int64_t>;

strided_box drawn_box(random_stream& draw, int dims, std::int64_t strides) {
    std::vector<progression> p;
    for (int d = 0; d < dims; ++d) {
        auto const stride = between(draw, 1, strides), n = between(draw, 1, 6), low = between(draw, -4, 4);
        p.push_back({low, low + stride * (n - 1), stride, static_cast<double>(n)});
    }
    return strided_box::full(p);
}

void insert_points(std::set<point>& all, strided_box const& b) {
    std::vector<point> points{{}};
    for (auto const& p : b.dims) {
        std::vector<point> next;
        for (auto const& x : points)
            for (auto v = p.low; v <= p.high; v += p.stride) next.push_back(x), next.back().push_back(v);
        points = std::move(next);
    }
    all.insert(points.begin(), points.end());
}

TEST_CASE("the intersection of strided boxes has the points that both have") {
    random_stream draw{24};
    for (int round = 0; round < 500; ++round) {
        auto const a = drawn_box(draw, 2, 4), b = drawn_box(draw, 2, 4);
        std::set<point> in_a, in_b, both, found;
        insert_points(in_a, a), insert_points(in_b, b);
        for (auto const& x : in_a)
            if (in_b.count(x)) both.insert(x);
        auto const c = intersection(a, b);
        if (c) insert_points(found, *c);
        CAPTURE(round);
        CHECK(found == both);
        CHECK((c ? c->elements : 0) == static_cast<double>(both.size()));
    }
}

TEST_CASE("the union of few strided boxes is counted exactly, that of many never below its greatest box") {
    random_stream draw{25};
    for (int round = 0; round < 300; ++round) {
        auto const count = between(draw, 1, 9);
        box_union all;
        std::set<point> points;
        double greatest = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            auto const b = drawn_box(draw, 2, 3);
            all.add(b), insert_points(points, b);
            greatest = std::max(greatest, b.elements);
        }
        CAPTURE(round, count);
        CHECK(all.boxes().size() <= box_union::most);
        CHECK(all.elements() >= greatest);
        if (count <= static_cast<std::int64_t>(box_union::most))
            CHECK(all.elements() == Approx(static_cast<double>(points.size())));
    }
}

TEST_CASE("neighbours of a stencil join to one box, interleaved progressions too") {
    box_union rows;
    for (std::int64_t at = -1; at <= 1; ++at) {
        progression const p[] = {{at, at + 9, 1, 10}, {0, 19, 1, 20}};
        rows.add(strided_box::full(p));
    }
    CHECK(rows.boxes().size() == 1);
    CHECK(rows.elements() == 12 * 20);
    box_union even_and_odd;
    for (std::int64_t at = 0; at < 2; ++at) {
        progression const p[] = {{at, at + 18, 2, 10}};
        even_and_odd.add(strided_box::full(p));
    }
    CHECK(even_and_odd.boxes().size() == 1);
    CHECK(even_and_odd.elements() == 20);
}

TEST_CASE("what is clipped keeps its density, and nothing stays nothing") {
    CHECK(clipped({-2, 8, 2, 6}, 0, 5)->count == 3);
    CHECK(clipped({-2, 8, 2, 3}, 0, 5)->count == 1.5);
    CHECK_FALSE(clipped({-2, 8, 5, 3}, 4, 7).has_value());
}

} // namespace strided_box_test
