#include "catch.hpp"
#include "oracles/interpret.hpp"
#include <gsub/core/random.hpp>
#include <gsub/loop/affine.hpp>

#include <limits>
#include <string>
#include <vector>

namespace affine_test {

using namespace gsub;
using loop::affine;
using loop::interval;
using loop::variable;

constexpr std::uint64_t variables = 6;

affine random_sum(random_stream& r) {
    affine a{static_cast<std::int64_t>(r.below(21)) - 10};
    for (auto terms = r.below(6); terms-- > 0;)
        a += affine::of(static_cast<variable>(r.below(variables)), static_cast<std::int64_t>(r.below(11)) - 5);
    return a;
}
interpret::positions random_point(random_stream& r) {
    interpret::positions p;
    for (std::uint64_t i = 0; i < variables; ++i) p.push_back(static_cast<std::int64_t>(r.below(41)) - 20);
    return p;
}
// Sorted by variable, without zeros: so equality is equality of functions.
bool normal(affine const& a) {
    for (std::size_t i = 0; i < a.terms().size(); ++i)
        if (a.terms()[i].factor == 0 || (i && a.terms()[i - 1].of >= a.terms()[i].of)) return false;
    return true;
}

TEST_CASE("arithmetic of sums is arithmetic of their values") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const a = random_sum(r), b = random_sum(r);
        auto const p = random_point(r);
        auto const v = static_cast<variable>(r.below(variables));
        auto const by = static_cast<std::int64_t>(r.below(9)) - 4;
        auto const x = interpret::at(a, p), y = interpret::at(b, p);
        CHECK(interpret::at(a + b, p) == x + y);
        CHECK(interpret::at(a - b, p) == x - y);
        CHECK(interpret::at(a * by, p) == x * by);
        auto moved = p;
        moved[static_cast<std::size_t>(v)] = y;
        CHECK(interpret::at(a.with(v, b), p) == interpret::at(a, moved));
        for (auto const& s : {a, b, a + b, a - b, a * by, a.with(v, b)}) CHECK(normal(s));
        auto twice = a;
        twice += twice;
        CHECK(twice == a * 2);
    }
}

TEST_CASE("sums are equal where they are the same function") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        auto const a = random_sum(r), b = random_sum(r);
        CHECK(a + b == b + a);
        CHECK(a + b - b == a);
        CHECK(a * 0 == affine{});
        CHECK(a.with(1, affine::of(1)) == a);
        auto differ = false;
        for (int i = 0; i < 20; ++i) {
            auto const p = random_point(r);
            differ = differ || interpret::at(a, p) != interpret::at(b, p);
        }
        CHECK((a == b) == !differ);
    }
}

TEST_CASE("a sum depends on the variables that have a factor") {
    auto const a = affine::of(3, 2) + affine::of(1) - affine::of(3) * 2 + affine{7};
    CHECK(a.factor(1) == 1);
    CHECK(a.factor(3) == 0);
    CHECK(a.depends_on(1));
    CHECK_FALSE(a.depends_on(3));
    CHECK_FALSE(a.is_constant());
    CHECK((a - affine::of(1)).is_constant());
    CHECK((a - affine::of(1)).constant() == 7);
}

TEST_CASE("the range of a sum is exact") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        std::vector<interval> box;
        for (std::uint64_t i = 0; i < variables; ++i) {
            auto const low = static_cast<std::int64_t>(r.below(9)) - 4;
            box.push_back({low, low + static_cast<std::int64_t>(r.below(3))});
        }
        auto const a = random_sum(r);
        auto low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();
        interpret::positions p(variables);
        for (std::uint64_t i = 0, all = 729; i < all; ++i) {
            auto rest = i;
            for (std::size_t v = 0; v < variables; ++v, rest /= 3)
                p[v] = std::min(box[v].low + static_cast<std::int64_t>(rest % 3), box[v].high);
            low = std::min(low, interpret::at(a, p));
            high = std::max(high, interpret::at(a, p));
        }
        CHECK(range_of(a, box) == interval{low, high});
    }
}

TEST_CASE(
    "a resolved sum has numbers for the variables with one value, and is the same function within the intervals") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        std::vector<interval> box;
        interpret::positions p;
        for (std::uint64_t i = 0; i < variables; ++i) {
            auto const low = static_cast<std::int64_t>(r.below(9)) - 4;
            box.push_back({low, low + static_cast<std::int64_t>(r.below(2))});
            p.push_back(low + static_cast<std::int64_t>(r.below(2)) * (box.back().high - low));
        }
        auto const a = random_sum(r), here = a.resolved(box);
        CHECK(normal(here));
        CHECK(interpret::at(here, p) == interpret::at(a, p));
        auto replaced = a;
        for (std::size_t v = 0; v < variables; ++v)
            if (box[v].low == box[v].high) replaced = replaced.with(static_cast<variable>(v), box[v].low);
        CHECK(here == replaced);
    }
}

TEST_CASE("a renamed sum is the same function of the variables that were renamed") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        std::vector<variable> to;
        for (std::uint64_t i = 0; i < variables; ++i) to.push_back(static_cast<variable>(r.below(variables)));
        auto const a = random_sum(r), there = a.renamed(to);
        auto const p = random_point(r);
        interpret::positions before;
        for (auto const v : to) before.push_back(p[static_cast<std::size_t>(v)]);
        CHECK(normal(there));
        CHECK(interpret::at(there, p) == interpret::at(a, before));
    }
}

TEST_CASE("a sum is printed as it is written") {
    std::vector<std::string> const names{"i", "j", "k"};
    CHECK(to_string(affine::of(1) + affine::of(0, 16) + affine{3}, names) == "16*i + j + 3");
    CHECK(to_string(affine::of(2, -2) + affine::of(0) - affine{1}, names) == "i - 2*k - 1");
    CHECK(to_string(affine::of(0, -1), names) == "-i");
    CHECK(to_string(affine{-5}, names) == "-5");
    CHECK(to_string(affine{}, names) == "0");
}

} // namespace affine_test
