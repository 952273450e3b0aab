#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/compare_speed.hpp>
#include <gsub/models/network_builder.hpp>

namespace compare_speed_test {

using namespace gsub;

graph products(int count, std::int64_t size) {
    graph g;
    models::network_builder net{g, models::weight_source{1}};
    auto x = net.input(dtype::f32, {size, size}, "x");
    for (int i = 0; i < count; ++i) x = net.linear(fmt::format("p{}", i), x, size);
    net.output(x, "y");
    return g;
}

// What they take is for benches to say.
TEST_CASE("medians, and the interval that holds their ratio, come from rounds of both programs") {
    auto const once = products(1, 64), often = products(3, 64);
    auto const one = build(once).value(), three = build(often).value();
    auto const of_one = random_inputs(once, 1), of_three = random_inputs(often, 1);
    for (auto const rounds : {1U, 2U, 9U, 21U}) {
        CAPTURE(rounds);
        auto const told = compare_speed(one, of_one, three, of_three, {.rounds = rounds, .least_seconds = 0}).value();
        CHECK(told.first > 0);
        CHECK(told.second > 0);
        CHECK(told.low <= told.ratio);
        CHECK(told.ratio <= told.high);
    }
}

TEST_CASE("inputs that a program does not take are an error") {
    auto const g = products(1, 16);
    auto const built = build(g).value();
    CHECK_FALSE(compare_speed(built, {}, built, random_inputs(g, 1)));
}

} // namespace compare_speed_test
