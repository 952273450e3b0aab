#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/core/strong.hpp>

#include <map>
#include <type_traits>

namespace strong_test {

using namespace gsub;

struct row_tag {};
using row_id = strong_id<row_tag>;

static_assert(!std::is_convertible_v<node_id, row_id>, "ids of different kinds do not mix");
static_assert(!std::is_convertible_v<std::uint32_t, node_id> || std::is_aggregate_v<node_id>);
static_assert(!std::is_convertible_v<node_id, std::uint32_t>);
static_assert(!std::is_convertible_v<seconds, bytes>, "seconds are not bytes");
static_assert(!std::is_convertible_v<double, seconds>);
static_assert(!std::is_convertible_v<seconds, double>);
static_assert(!std::is_invocable_v<std::plus<>, seconds, bytes>);
static_assert(!std::is_invocable_v<std::multiplies<>, seconds, seconds>, "there are no square seconds");
static_assert(std::is_invocable_r_v<seconds, std::plus<>, seconds, seconds>);
static_assert(std::is_invocable_r_v<double, std::divides<>, flops, flops>, "a ratio has no unit");
static_assert(std::is_trivially_copyable_v<node_id>);
static_assert(sizeof(node_id) == 4);
static_assert(sizeof(value_id) == 8);

TEST_CASE("a default id names nothing") {
    STATIC_REQUIRE_FALSE(node_id{}.valid());
    STATIC_REQUIRE_FALSE(value_id{}.valid());
    STATIC_REQUIRE(node_id{0}.valid());
    STATIC_REQUIRE(value_id{{3}, 1}.valid());
    STATIC_REQUIRE(node_id{} == node_id{});
    STATIC_REQUIRE(node_id{node_id::none} == node_id{});
}

TEST_CASE("ids compare by index, values by node and then port") {
    STATIC_REQUIRE(node_id{1} < node_id{2});
    STATIC_REQUIRE(value_id{{1}, 5} < value_id{{2}, 0});
    STATIC_REQUIRE(value_id{{1}, 0} < value_id{{1}, 1});
    STATIC_REQUIRE_FALSE(value_id{{1}, 0} == value_id{{1}, 1});
    std::map<value_id, int> const ordered{{{{2}, 0}, 3}, {{{1}, 1}, 2}, {{{1}, 0}, 1}};
    int place = 0;
    for (auto const& [v, expected] : ordered) CHECK(++place == expected);
}

TEST_CASE("quantities form a vector space over the numbers") {
    random_stream r{1};
    for (int i = 0; i < 500; ++i) {
        // Integers, so that sums are exact and the laws hold as equalities.
        auto const draw = [&] { return seconds{static_cast<double>(r.below(1u << 20)) - (1 << 19)}; };
        auto const a = draw(), b = draw(), c = draw();
        auto const k = static_cast<double>(r.below(64));
        CHECK(a + b == b + a);
        CHECK((a + b) + c == a + (b + c));
        CHECK(a + seconds{} == a);
        CHECK(a - a == seconds{});
        CHECK(k * (a + b) == k * a + k * b);
        auto sum = a;
        sum += b;
        CHECK(sum == a + b);
        sum -= b;
        CHECK(sum == a);
        CHECK((a < b) == (a.amount < b.amount));
        if (b.amount != 0) CHECK(a / b == a.amount / b.amount);
    }
}

TEST_CASE("a quantity knows the symbol of its unit") {
    CHECK(seconds::symbol == "s");
    CHECK(flops::symbol == "FLOP");
    CHECK(bytes::symbol == "B");
    CHECK(joules::symbol == "J");
}

} // namespace strong_test
