#include "catch.hpp"
#include <gsub/core/random.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace random_test {

using namespace gsub;

static_assert(std::uniform_random_bit_generator<random_stream>);
static_assert(std::is_trivially_copyable_v<random_stream>);
static_assert(
    [] {
        random_stream a{7}, b{7};
        return a() == b() && a.below(10) < 10 && a.uniform() < 1;
    }(),
    "streams work while compiling");

std::vector<std::uint64_t> draws(random_stream r, std::size_t count) {
    std::vector<std::uint64_t> out(count);
    for (auto& x : out) x = r();
    return out;
}

TEST_CASE("a stream is determined by its seed alone") {
    for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, ~std::uint64_t{0}}) {
        CAPTURE(seed);
        CHECK(draws(random_stream{seed}, 100) == draws(random_stream{seed}, 100));
        CHECK(draws(random_stream{seed}, 100) != draws(random_stream{seed + 1}, 100));
        random_stream a{seed};
        static_cast<void>(a()), static_cast<void>(a());
        auto b = a; // a copy goes on from the same place
        CHECK(draws(a, 10) == draws(b, 10));
    }
}

TEST_CASE("recorded draws stay what they were") {
    // A change here changes every seeded result that users have stored.
    random_stream r{1};
    CHECK(r() == 0xd770f778ca92f0eau);
    CHECK(r() == 0xc67e5efa6c022183u);
    CHECK(r.split(7)() == 0x7128197d7c0e2d13u);
}

TEST_CASE("a split stream does not depend on how much its parent has drawn") {
    random_stream parent{5};
    auto const before = draws(parent.split(3), 20);
    for (int i = 0; i < 1000; ++i) static_cast<void>(parent());
    CHECK(draws(parent.split(3), 20) == before);
    CHECK(draws(parent.split(4), 20) != before);
    CHECK(draws(parent.split(3).split(0), 20) != before);
    // The path matters, not the set of parts.
    CHECK(draws(parent.split(1).split(2), 5) != draws(parent.split(2).split(1), 5));
}

TEST_CASE("many streams split from many seeds share no draws") {
    std::set<std::uint64_t> seen;
    std::size_t count = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed)
        for (std::uint64_t part = 0; part < 30; ++part)
            for (auto x : draws(random_stream{seed}.split(part), 20)) seen.insert(x), ++count;
    CHECK(seen.size() == count); // 18,000 draws of 64 bits: a repetition has probability 1e-11
}

TEST_CASE("neighbouring streams are not correlated") {
    constexpr int n = 20'000;
    for (std::uint64_t part = 0; part < 4; ++part) {
        auto a = random_stream{9}.split(part), b = random_stream{9}.split(part + 1);
        double sum = 0;
        for (int i = 0; i < n; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
        // Standard deviation of the mean product is (1/12) / sqrt(n) = 0.0006.
        CHECK(std::abs(sum / n) < 0.003);
    }
}

TEST_CASE("numbers below a bound lie below it and reach all of it evenly") {
    random_stream r{10};
    for (std::uint64_t bound : {1u, 2u, 3u, 7u, 10u, 64u}) {
        CAPTURE(bound);
        std::vector<int> hits(bound, 0);
        constexpr int n = 20'000;
        for (int i = 0; i < n; ++i) {
            auto const x = r.below(bound);
            REQUIRE(x < bound);
            ++hits[x];
        }
        auto const expected = double(n) / double(bound);
        for (auto h : hits) CHECK(std::abs(h - expected) <= 6 * std::sqrt(expected));
    }
    for (int i = 0; i < 100; ++i) CHECK(r.below(~std::uint64_t{0}) < ~std::uint64_t{0});
    std::uint64_t largest = 0;
    for (int i = 0; i < 100; ++i) largest = std::max(largest, r.below(std::uint64_t{1} << 63));
    CHECK(largest > (std::uint64_t{1} << 62));
}

TEST_CASE("uniform numbers fill their interval with the right mean and variance") {
    random_stream r{11};
    constexpr int n = 50'000;
    double sum = 0, squares = 0;
    std::array<int, 16> cells{};
    for (int i = 0; i < n; ++i) {
        auto const u = r.uniform();
        REQUIRE((u >= 0 && u < 1));
        sum += u, squares += u * u;
        ++cells[static_cast<std::size_t>(u * 16)];
    }
    CHECK(std::abs(sum / n - 0.5) < 0.01);
    CHECK(std::abs(squares / n - 1.0 / 3) < 0.01);
    for (auto c : cells) CHECK(std::abs(c - n / 16.0) < 6 * std::sqrt(n / 16.0));
    for (int i = 0; i < 1000; ++i) {
        auto const u = r.uniform(-3, 5);
        CHECK((u >= -3 && u < 5));
    }
}

TEST_CASE("normal numbers are finite and have mean zero and variance one") {
    random_stream r{12};
    constexpr int n = 50'000;
    double sum = 0, squares = 0, fourth = 0;
    for (int i = 0; i < n; ++i) {
        auto const x = r.normal();
        REQUIRE(std::isfinite(x));
        sum += x, squares += x * x, fourth += x * x * x * x;
    }
    CHECK(std::abs(sum / n) < 0.03);
    CHECK(std::abs(squares / n - 1) < 0.05);
    CHECK(std::abs(fourth / n - 3) < 0.3);
}

TEST_CASE("each bit of a draw is set in half of the cases") {
    random_stream r{13};
    constexpr int n = 20'000;
    std::array<int, 64> set{};
    for (int i = 0; i < n; ++i) {
        auto const x = r();
        for (std::size_t b = 0; b < 64; ++b) set[b] += static_cast<int>(x >> b & 1);
    }
    for (auto s : set) CHECK(std::abs(s - n / 2) < 6 * std::sqrt(n / 4.0));
}

TEST_CASE("a stream drives the standard library's algorithms") {
    std::vector<int> deck(52);
    std::iota(deck.begin(), deck.end(), 0);
    auto shuffled = deck;
    std::shuffle(shuffled.begin(), shuffled.end(), random_stream{14});
    CHECK(shuffled != deck);
    CHECK(std::is_permutation(shuffled.begin(), shuffled.end(), deck.begin()));
}

} // namespace random_test
