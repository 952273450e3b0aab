#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/relative.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace relative_test {

using namespace gsub;
using cost::any_cost;
using cost::erase;
using cost::relative_cost;

cost::flop_cost const arithmetic;
cost::byte_cost const traffic;
cost::fused_roofline const kernels;
cost::peak_memory const memory;

struct clocked : cost::byte_cost {
    static constexpr bool by_clock = true;
    static constexpr bool concurrent = false;
};

any_cost mean(std::vector<cost::weighted_cost> terms, any_graph const& start) {
    return relative_cost(std::move(terms), start).value();
}
// A graph with arithmetic in it, and one that is compared with it.
std::pair<any_graph, any_graph> pair_of(std::uint64_t seed) {
    return {random_graph::make(seed, 20), random_graph::make(seed + 1000, 25)};
}

TEST_CASE("the graph that all is held against costs 100 percent, whatever the weights") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const start = random_graph::make(seed, 20);
        for (auto const& [a, b, c] : {std::array{1.0, 0.0, 0.0}, std::array{0.7, 0.3, 0.0}, std::array{3e9, 5.0, 1e-9}})
            CHECK(mean({{erase(kernels), a}, {erase(traffic), b}, {erase(memory), c}}, start).of_graph(start) ==
                  Approx(100).epsilon(1e-12));
        CHECK(mean({{erase(kernels), 1}}, start).unit == "%");
    }
}

TEST_CASE("one weight alone gives the model that it stands at, in percent") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const [start, other] = pair_of(seed);
        auto const percent = 100 * kernels(other).amount / kernels(start).amount;
        for (auto weight : {1.0, 0.3, 1e6}) {
            auto const model = mean({{erase(kernels), weight}, {erase(memory), 0}}, start);
            CHECK(model.of_graph(other) == Approx(percent).epsilon(1e-12));
            CHECK(model.is_sum()); // memory, which is no sum over nodes, takes no part
            CHECK(model.of_groups);
        }
    }
}

TEST_CASE("only ratios of weights count, and the order of two models does not") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const [start, other] = pair_of(seed);
        auto const cost = mean({{erase(kernels), 0.7}, {erase(traffic), 0.3}}, start).of_graph(other);
        CHECK(mean({{erase(traffic), 0.3}, {erase(kernels), 0.7}}, start).of_graph(other) == cost);
        CHECK(mean({{erase(kernels), 14}, {erase(traffic), 6}}, start).of_graph(other) == Approx(cost));
        auto const slow = kernels(other) / kernels(start), wide = traffic(other) / traffic(start);
        CHECK(cost == Approx(70 * slow + 30 * wide).epsilon(1e-12));
    }
}

TEST_CASE("a mean of sums over nodes is one, and is grouped as its one grouping model") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const [start, other] = pair_of(seed);
        auto const model = mean({{erase(traffic), 2}, {erase(kernels), 1}}, start);
        auto const costs = model.of_nodes(other);
        CHECK(model.of_graph(other) == Approx(std::accumulate(costs.begin(), costs.end(), 0.0)).epsilon(1e-12));
        std::vector<node_id> const all{other.order().begin(), other.order().end()};
        auto const known = model.remembered(other);
        auto const sum = [](std::vector<cost::node_cost> const& nodes) {
            return std::accumulate(nodes.begin(), nodes.end(), 0.0,
                                   [](double total, cost::node_cost const& p) { return total + p.amount; });
        };
        changed_nodes const everywhere{as_span(all), as_span(all)};
        CHECK(model.of_graph(other) == Approx(sum(known.nodes)).epsilon(1e-12));
        for (auto const& nodes : {model.of_groups_near(other, known.memory.get(), everywhere),
                                  model.remembered_near(other, known.memory.get(), everywhere).nodes})
            CHECK(model.of_graph(other) == Approx(sum(nodes)).epsilon(1e-12));
    }
    auto const start = random_graph::make(1, 20);
    CHECK_FALSE(mean({{erase(arithmetic), 1}, {erase(traffic), 1}}, start).of_groups);
    for (auto const& second : {erase(memory), erase(kernels)}) {
        auto const whole = mean({{erase(kernels), 1}, {second, 1}}, start);
        CHECK_FALSE(whole.is_sum());
        CHECK_FALSE(whole.of_groups_near);
        CHECK(whole.of_graph(start) == Approx(100));
    }
}

TEST_CASE("a mean is as safe for threads and as far from the clock as the worst of its models") {
    auto const start = random_graph::make(1, 20);
    clocked const timed;
    auto const plain = mean({{erase(arithmetic), 1}, {erase(traffic), 1}, {erase(timed), 0}}, start);
    CHECK(plain.concurrent);
    CHECK_FALSE(plain.by_clock);
    auto const mixed = mean({{erase(arithmetic), 1}, {erase(timed), 1}}, start);
    CHECK_FALSE(mixed.concurrent);
    CHECK(mixed.by_clock);
}

TEST_CASE("weights that are none, and graphs that cost nothing, are refused") {
    auto const start = random_graph::make(1, 20);
    constexpr auto infinite = std::numeric_limits<double>::infinity();
    for (auto wrong : {-1.0, -1e-300, std::nan(""), infinite, -infinite}) {
        auto const made = relative_cost({{erase(arithmetic), 1}, {erase(traffic), wrong}}, start);
        REQUIRE_FALSE(made);
        CHECK(made.error().id() == errors::goal_weights);
    }
    for (auto const& terms : {std::vector<cost::weighted_cost>{},
                              {{erase(arithmetic), 0}, {erase(traffic), 0}},
                              {{erase(arithmetic), 1.7e308}, {erase(traffic), 1.7e308}}}) {
        auto const made = relative_cost(terms, start);
        REQUIRE_FALSE(made);
        CHECK(made.error().id() == errors::goal_weights);
    }
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::transpose>({.perm = {1, 0}}, {b.input(dtype::f32, {4, 6}, "x")})});
    auto const made = relative_cost({{erase(arithmetic), 1}, {erase(kernels), 1}}, g);
    REQUIRE_FALSE(made);
    CHECK(made.error().id() == errors::no_cost);
    CHECK(made.error().message().find("FLOP") != std::string::npos);
    CHECK(relative_cost({{erase(arithmetic), 0}, {erase(kernels), 1}}, g));
}

} // namespace relative_test
