#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "optimize/prepared_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/search_part.hpp>

namespace search_part_test {

using namespace gsub;
using namespace prepared_graph;

TEST_CASE("one search gives the cheapest graph of its path, a rewrite for each step, and costs that add up") {
    auto const rules = chosen_rules("all");
    rule_index const index{rules};
    auto const model = cost::roofline{};
    auto const erased = cost::erase(model);
    std::vector<any_graph> graphs{prepared(models::residual_chain(1, 8, 7, 2)), prepared(models::fire_module(1))};
    for (std::uint64_t seed = 0; seed < 8; ++seed) graphs.push_back(prepared(random_graph::make(seed, 20)));
    for (auto const& g : graphs) {
        auto const found = search_part(g, erased, index, {.budget = {30}});
        CHECK(found.stats.start_cost == Approx(model(g).amount));
        CHECK(found.stats.best_cost == Approx(model(found.best).amount));
        CHECK(found.stats.best_cost <= found.stats.start_cost);
        REQUIRE(found.rewrites.size() == found.stats.path.size());
        if (!found.rewrites.empty()) CHECK(found.rewrites.front().before->hash() == g.hash());
        auto const again = search_part(g, erased, index, {.budget = {30}});
        CHECK(again.best.hash() == found.best.hash());
        CHECK(again.stats.path == found.stats.path);
    }
}

TEST_CASE("the label of a move is taken apart into rule and site") {
    CHECK(detail::rule_and_site("fuse_conv_bn(layer1.bn(2))") ==
          std::pair<std::string_view, std::string_view>{"fuse_conv_bn", "layer1.bn(2)"});
}

} // namespace search_part_test
