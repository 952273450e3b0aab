#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/search/split.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace split_test {

using namespace gsub;
using search::split;
using search::split_problem;
using parts = std::vector<std::vector<std::uint32_t>>;

// A chain of `count` nodes of size 1, each edge tied by `weight(i)`, i the node that it starts from.
template <class Weight>
split_problem chain(std::uint32_t count, Weight weight) {
    split_problem p;
    p.sizes.assign(count, 1);
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
        p.edges.emplace_back(i, i + 1);
        p.ties.push_back({{i, i + 1}, weight(i)});
    }
    return p;
}

split_problem random_problem(std::uint64_t seed, std::uint32_t most) {
    random_stream r{seed};
    split_problem p;
    auto const count = static_cast<std::uint32_t>(2 + r.below(most));
    for (std::uint32_t i = 0; i < count; ++i) p.sizes.push_back(r.below(3));
    for (std::uint32_t to = 1; to < count; ++to)
        for (auto n = r.below(3); n-- > 0;) p.edges.emplace_back(static_cast<std::uint32_t>(r.below(to)), to);
    for (auto n = r.below(2 * count); n-- > 0;) {
        search::tie t{{}, r.below(5)};
        for (auto m = 2 + r.below(3); m-- > 0;) t.nodes.push_back(static_cast<std::uint32_t>(r.below(count)));
        p.ties.push_back(std::move(t));
    }
    return p;
}

std::uint64_t size_of(split_problem const& p, std::vector<std::uint32_t> const& part) {
    return std::accumulate(part.begin(), part.end(), std::uint64_t{0},
                           [&](std::uint64_t sum, auto n) { return sum + p.sizes[n]; });
}

} // namespace split_test

TEST_CASE("parts hold every node once, are in order, and as large as the bound at most") {
    using namespace split_test;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        auto const p = random_problem(seed, 60);
        auto const bound = 1 + seed % 9;
        auto const s = split(p, {.bound = bound});
        CHECK(s.cuts.size() + 1 == s.parts.size());
        std::vector<std::size_t> part_of(p.sizes.size(), 1000);
        for (std::size_t i = 0; i < s.parts.size(); ++i) {
            CHECK(std::is_sorted(s.parts[i].begin(), s.parts[i].end()));
            auto const sized =
                std::count_if(s.parts[i].begin(), s.parts[i].end(), [&](auto n) { return p.sizes[n] > 0; });
            CHECK((size_of(p, s.parts[i]) <= bound || sized == 1));
            if (s.parts.size() > 1) CHECK(sized > 0);
            for (auto n : s.parts[i]) {
                CHECK(part_of[n] == 1000);
                part_of[n] = i;
            }
        }
        CHECK(std::count(part_of.begin(), part_of.end(), std::size_t{1000}) == 0);
        for (auto const& e : p.edges) CHECK(part_of[e.first] <= part_of[e.second]);
        CHECK(split(p, {.bound = bound}).parts == s.parts);
    }
}

TEST_CASE("a first cut is the cheapest of all that hold the ends apart, and its weight counts each tie once") {
    using namespace split_test;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        INFO("seed " << seed);
        auto const p = random_problem(seed, 9);
        auto const count = static_cast<std::uint32_t>(p.sizes.size());
        auto const total = std::accumulate(p.sizes.begin(), p.sizes.end(), std::uint64_t{0});
        if (std::count_if(p.sizes.begin(), p.sizes.end(), [](auto s) { return s > 0; }) < 2) continue;
        auto const s = split(p, {.bound = total - 1, .least_share = 0.01}); // one node at each end is held
        REQUIRE(s.cuts.size() >= 1);
        std::uint32_t first = 0, last = count - 1;
        while (p.sizes[first] == 0) ++first;
        while (p.sizes[last] == 0) --last;
        auto least = ~std::uint64_t{0};
        for (std::uint32_t side = 0; side < (1u << count); ++side) {
            auto const on = [&](std::uint32_t n) { return (side >> n & 1) != 0; };
            auto legal = on(first) && !on(last);
            for (std::uint32_t n = 0; n < count; ++n) legal &= (n > first || on(n)) && (n < last || !on(n));
            for (auto const& e : p.edges) legal &= !on(e.second) || on(e.first);
            if (!legal) continue;
            std::uint64_t weight = 0;
            for (auto const& t : p.ties)
                if (std::any_of(t.nodes.begin(), t.nodes.end(), on) && !std::all_of(t.nodes.begin(), t.nodes.end(), on))
                    weight += t.weight;
            least = std::min(least, weight);
        }
        CHECK(s.cuts.front() == least);
    }
}

TEST_CASE("a sequence of equal pieces is cut between them") {
    using namespace split_test;
    for (std::uint32_t const pieces : {2u, 3u, 8u, 13u}) {
        auto const s = split(chain(6 * pieces, [](std::uint32_t i) { return i % 6 == 5 ? 1u : 3u; }), {.bound = 8});
        REQUIRE(s.parts.size() == pieces);
        for (std::uint32_t i = 0; i < pieces; ++i) {
            CHECK(s.parts[i].size() == 6);
            CHECK(s.parts[i].front() == 6 * i);
        }
        CHECK(std::all_of(s.cuts.begin(), s.cuts.end(), [](auto w) { return w == 1; }));
    }
}

TEST_CASE("of equally cheap cuts the one in the middle is taken") {
    using namespace split_test;
    CHECK(split(chain(8, [](std::uint32_t) { return 1u; }), {.bound = 7}).parts == parts{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(split(chain(8, [](std::uint32_t) { return 1u; }), {.bound = 2}).parts ==
          parts{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
}

TEST_CASE("no cheap cut near an end is taken") {
    using namespace split_test;
    auto const s = split(chain(100, [](std::uint32_t i) { return i == 3 || i == 96 ? 0u : 5u; }), {.bound = 60});
    REQUIRE(s.parts.size() == 2);
    CHECK(s.parts[0].size() == 50);
    for (auto const bound : {10u, 20u, 30u}) {
        auto const many = split(chain(200, [](std::uint32_t i) { return i * 7 % 5; }), {.bound = bound});
        for (auto const& part : many.parts) CHECK(part.size() * 4 >= bound);
    }
}

TEST_CASE("branches go to one side as long as that is cheaper") {
    using namespace split_test;
    // 0 -> {1 2, 3 4} -> 5 -> {6 7, 8 9} -> 10: the node 5 is what all paths lead through.
    split_problem p;
    p.sizes.assign(11, 1);
    for (auto const& e : {std::pair{0u, 1u},
                          {1u, 2u},
                          {0u, 3u},
                          {3u, 4u},
                          {2u, 5u},
                          {4u, 5u},
                          {5u, 6u},
                          {6u, 7u},
                          {5u, 8u},
                          {8u, 9u},
                          {7u, 10u},
                          {9u, 10u}})
        p.edges.emplace_back(e);
    for (auto const& value :
         parts{{0, 1, 3}, {1, 2}, {3, 4}, {2, 5}, {4, 5}, {5, 6, 8}, {6, 7}, {8, 9}, {7, 10}, {9, 10}})
        p.ties.push_back({value, 1});
    auto const s = split(p, {.bound = 8});
    CHECK(s.cuts == std::vector<std::uint64_t>{1});
    CHECK(s.parts == parts{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}});
}

TEST_CASE("what is small enough stays whole, nothing gives nothing, and a large node is a part") {
    using namespace split_test;
    CHECK(split({}, {}).parts.empty());
    CHECK(split(chain(8, [](std::uint32_t) { return 1u; }), {.bound = 8}).parts.size() == 1);
    split_problem large;
    large.sizes = {0, 50, 0, 50, 1};
    CHECK(split(large, {.bound = 10}).parts.size() == 3);
    large.sizes = {0, 0, 0};
    CHECK(split(large, {.bound = 1}).parts.size() == 1);
}
