#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/exhaustive_search.hpp>
#include <gsub/search/minimize.hpp>
#include <gsub/search/search_space.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace search_space_test {

using namespace gsub;

// The ways to write 2^exponent as three factors, a coordinate for the logarithm of each but the outermost, which takes
// what is left.
struct split_space {
    using point = std::array<int, 3>; // exponents
    int exponent = 12;

    std::size_t dimensions() const { return 2; }
    point decode(std::span<double const> x) const {
        auto const rounded = [&](double c, int most) {
            auto const e = static_cast<int>(std::lround(std::clamp((c + 0.5) * exponent, 0.0, 1.0 * exponent)));
            return std::min(e, most);
        };
        point p{0, rounded(x[0], exponent), 0};
        p[2] = rounded(x[1], exponent - p[1]);
        p[0] = exponent - p[1] - p[2];
        return p;
    }
    std::vector<double> encode(point const& p) const {
        return {1.0 * p[1] / exponent - 0.5, 1.0 * p[2] / exponent - 0.5};
    }
    int key(point const& p) const { return p[1] * (exponent + 1) + p[2]; }
    point draw(random_stream& random) const { return at(random.below(size())); }
    std::uint64_t size() const { return static_cast<std::uint64_t>((exponent + 1) * (exponent + 2) / 2); }
    point at(std::uint64_t index) const {
        int first = 0;
        for (; index > static_cast<std::uint64_t>(exponent - first); ++first)
            index -= static_cast<std::uint64_t>(exponent - first + 1);
        return {exponent - first - static_cast<int>(index), first, static_cast<int>(index)};
    }
};
static_assert(search::search_space<split_space> && search::enumerable_space<split_space>);
static_assert(!search::local_space<split_space>);

struct without_coordinates {
    using point = int;
    int key(int p) const { return p; }
    int draw(random_stream&) const { return 0; }
};
static_assert(!search::search_space<without_coordinates>);

TEST_CASE("a space of one's own, here of exact splits, is searched by its coordinates") {
    split_space const splits;
    for (std::uint64_t i = 0; i < splits.size(); ++i) {
        auto const p = splits.at(i);
        CHECK(p[0] + p[1] + p[2] == 12);
        CHECK(splits.decode(splits.encode(p)) == p);
    }
    auto const score = [](split_space::point const& p) { // the best is 2^2 * 2^6 * 2^4
        return std::abs(p[0] - 2) + 2 * std::abs(p[1] - 6) + 3 * std::abs(p[2] - 4);
    };
    auto const all = minimize(search::exhaustive_search{splits}, score, {.budget = 1000, .keep = 3});
    CHECK(all.scored == splits.size());
    CHECK(all.best[0].point == split_space::point{2, 6, 4});
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        CAPTURE(seed);
        auto const found = minimize(search::evolution_search{splits, {.seed = seed}}, score, {.target = 0});
        CHECK(found.best[0].point == all.best[0].point);
    }
}

} // namespace search_space_test
