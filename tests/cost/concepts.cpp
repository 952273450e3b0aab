#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>

#include <cmath>

namespace cost_concepts_test {

using namespace gsub;

// Energy of moving bytes, as a user would write it.
struct energy {
    using unit = joules;
    double joules_per_byte = 31.2e-12;
    unit operator()(any_graph const& g, node_id n) const { return {joules_per_byte * cost::bytes_moved(g, n)}; }
    unit operator()(any_graph const& g) const { return cost::sum_over_nodes(*this, g); }
};
struct depth { // not additive
    using unit = seconds;
    unit operator()(any_graph const& g) const { return {static_cast<double>(g.size())}; }
};
struct without_unit {
    double operator()(any_graph const&) const { return 0; }
};
struct other_unit_for_nodes {
    using unit = seconds;
    unit operator()(any_graph const&) const { return {}; }
    bytes operator()(any_graph const&, node_id) const { return {}; }
};
struct bare_number {
    using unit = seconds;
    double operator()(any_graph const&) const { return 0; }
};

static_assert(additive_cost_model<energy> && cost_model<energy, graph>);
static_assert(cost_model<depth> && !additive_cost_model<depth>);
static_assert(!cost_model<without_unit> && !cost_model<bare_number> && !cost_model<int>);
static_assert(cost_model<other_unit_for_nodes> && !additive_cost_model<other_unit_for_nodes>);
static_assert(additive_cost_model<cost::flop_cost> && additive_cost_model<cost::byte_cost> &&
              additive_cost_model<cost::roofline>);
static_assert(cost_model<cost::peak_memory> && !additive_cost_model<cost::peak_memory>);

TEST_CASE("a model as plain functions says what the model says, in the model's unit") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 20);
        energy const model{.joules_per_byte = 2};
        auto const plain = cost::erase(model);
        CHECK(plain.unit == "J");
        CHECK(plain.of_graph(g) == model(g).amount);
        for (auto n : g.order()) CHECK(plain.of_node(g, n) == model(g, n).amount);
    }
    depth const whole;
    CHECK_FALSE(cost::erase(whole).of_node);
    CHECK(cost::erase(whole).unit == "s");
}

TEST_CASE("a weighted sum has the unit that was asked for and the cost of both parts") {
    using both = cost::weighted_sum<joules, cost::flop_cost, cost::byte_cost>;
    static_assert(additive_cost_model<both>);
    both const model{{}, {}, 3, 5};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const g = random_graph::make(seed, 20);
        auto const parts = 3 * cost::flop_cost{}(g).amount + 5 * cost::byte_cost{}(g).amount;
        CHECK(std::abs(model(g).amount - parts) <= 1e-12 * parts);
        for (auto n : g.order())
            CHECK(model(g, n).amount == 3 * cost::flop_cost{}(g, n).amount + 5 * cost::byte_cost{}(g, n).amount);
    }
}

} // namespace cost_concepts_test
