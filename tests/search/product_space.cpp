#include "catch.hpp"
#include <gsub/search/product_space.hpp>
#include <gsub/search/search_space.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace product_space_test {

using namespace gsub;
using search::dimension;
using search::product_space;
static_assert(search::enumerable_space<product_space> && search::local_space<product_space>);

std::vector<dimension> random_dimensions(random_stream& r, bool real) {
    std::vector<dimension> out;
    for (auto n = 1 + r.below(5); n-- > 0;) switch (r.below(real ? 3 : 2)) {
        case 0:
            out.push_back(dimension::ordinal(static_cast<std::uint32_t>(1 + r.below(6))));
            break;
        case 1:
            out.push_back(dimension::categorical(static_cast<std::uint32_t>(1 + r.below(6))));
            break;
        default:
            out.push_back(dimension::real(-r.uniform(1, 9), r.uniform(1, 9)));
        }
    return out;
}

bool lies_inside(product_space const& s, product_space::point const& p) {
    if (p.size() != s.components().size()) return false;
    for (std::size_t i = 0; i < p.size(); ++i) {
        auto const& d = s.components()[i];
        auto const real = d.what == dimension::kind::real;
        if (real ? p[i] < d.low || p[i] > d.high : p[i] < 0 || p[i] >= d.values || p[i] != std::floor(p[i]))
            return false;
    }
    return true;
}

TEST_CASE("points of any coordinates, random ones and neighbours lie inside, and coordinates lead back to the point") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        product_space const s{random_dimensions(r, true)};
        std::vector<double> x(s.dimensions());
        for (auto& c : x) c = r.uniform(-5, 5);
        auto const decoded = s.decode(x), drawn = s.draw(r), near = s.neighbour(drawn, r);
        for (auto const& p : {decoded, drawn, near}) {
            REQUIRE(lies_inside(s, p));
            auto const again = s.decode(s.encode(p));
            for (std::size_t i = 0; i < p.size(); ++i) CHECK(again[i] == Approx(p[i]).margin(1e-12));
        }
        auto differing = 0;
        for (std::size_t i = 0; i < near.size(); ++i) differing += near[i] != drawn[i];
        auto const movable = std::any_of(s.components().begin(), s.components().end(), [](dimension const& d) {
            return d.what == dimension::kind::real || d.values > 1;
        });
        CHECK(differing == movable);
        CHECK((s.key(near) == s.key(drawn)) == !movable);
    }
}

TEST_CASE("points are numbered, each once, the first dimension counting fastest") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        product_space const s{random_dimensions(r, false)};
        std::set<product_space::point> seen;
        for (std::uint64_t i = 0; i < s.size(); ++i) {
            REQUIRE(lies_inside(s, s.at(i)));
            seen.insert(s.at(i));
        }
        CHECK(seen.size() == s.size());
    }
    product_space const s{{dimension::ordinal(3), dimension::categorical(2)}};
    CHECK(s.size() == 6);
    CHECK(s.at(4) == product_space::point{1, 1});
}

TEST_CASE("neighbours reach every point of an enumerable space") {
    product_space const s{{dimension::ordinal(5), dimension::categorical(4), dimension::ordinal(1)}};
    random_stream r{3};
    std::set<product_space::point> seen;
    auto p = s.at(0);
    for (int i = 0; i < 2000; ++i) seen.insert(p = s.neighbour(p, r));
    CHECK(seen.size() == s.size());
}

TEST_CASE("coordinates beyond the ends are reflected, and the largest of a choice wins") {
    product_space const s{{dimension::real(0, 10), dimension::ordinal(4), dimension::categorical(3)}};
    CHECK(s.dimensions() == 5);
    std::vector<double> const x{0.6, -0.6, 0.1, 0.3, 0.2}, middle(5);
    CHECK(s.decode(x)[0] == Approx(9));
    CHECK(s.decode(x)[1] == 0);
    CHECK(s.decode(x)[2] == 1);
    CHECK(s.decode(middle) == product_space::point{5, 2, 0});
}

TEST_CASE("a space with a real dimension, or of more points than fit in a number, has the largest size") {
    CHECK(product_space{{dimension::real(0, 1), dimension::ordinal(2)}}.size() == ~std::uint64_t{0});
    CHECK(product_space{std::vector(70, dimension::ordinal(2))}.size() == ~std::uint64_t{0});
    CHECK(product_space{std::vector(63, dimension::ordinal(2))}.size() == std::uint64_t{1} << 63);
    CHECK(product_space{{}}.size() == 1);
    CHECK(product_space{{dimension::ordinal(2)}}.key({-0.0}) == product_space{{dimension::ordinal(2)}}.key({0.0}));
}

} // namespace product_space_test
