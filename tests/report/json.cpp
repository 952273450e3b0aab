#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/report/json.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

#include <set>

namespace report_json_test {

using namespace gsub;
using report::to_json;

std::set<std::string> keys(io::json const& j) {
    std::set<std::string> out;
    for (auto const& entry : j.items()) out.insert(entry.key());
    return out;
}

TEST_CASE("a graph's figures as JSON are those of its summary") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        CAPTURE(seed);
        auto const s = report::summarize(random_graph::make(seed, 20));
        auto const j = to_json(s);
        CHECK(keys(j) == std::set<std::string>{"inputs", "outputs", "nodes", "constants", "parameters", "weight_bytes",
                                               "flop", "bytes_moved", "peak_bytes", "operators"});
        CHECK(j["nodes"] == s.nodes);
        CHECK(j["parameters"] == s.parameters);
        CHECK(j["flop"] == s.flop);
        CHECK(j["operators"].size() == s.operators.size());
        for (auto const& entry : s.operators) CHECK(j["operators"][entry.first] == entry.second);
        REQUIRE(j["inputs"].size() == s.inputs.size());
        CHECK(j["inputs"][0]["name"] == s.inputs[0].first);
        CHECK(j["inputs"][0]["type"] == s.inputs[0].second);
        CHECK(io::json::parse(j.dump()) == j);
    }
    CHECK(to_json(report::summarize(graph{}))["operators"].is_object());
}

TEST_CASE("an optimization as JSON has costs with units, what was applied, and why the search stopped") {
    auto const r = optimize(models::fire_module(1), cost::roofline{}).value().report;
    auto const j = to_json(r);
    CHECK(j["cost_before"] == io::json{{"value", r.cost_before}, {"unit", "s"}});
    CHECK(j["cost_after"]["value"] == r.cost_after);
    CHECK(j["graphs_explored"] == r.search.expanded);
    CHECK(j["seconds"] == r.search.seconds);
    CHECK(j["stop_reason"] == "exhausted");
    CHECK(j["split"]["whole_because"] == r.split.why_whole);
    CHECK(j["split"]["parts"] == 0);
    REQUIRE(j["applied"].size() == r.applied.size());
    for (std::size_t i = 0; i < r.applied.size(); ++i)
        CHECK(j["applied"][i] == io::json{{"rule", r.applied[i].rule},
                                          {"site", r.applied[i].site},
                                          {"cost_after", r.applied[i].cost_after}});
    REQUIRE_FALSE(j["history"].empty());
    CHECK(j["history"].back()["cost"] == r.search.best_cost);
    CHECK_FALSE(j.contains("verification"));
    CHECK(io::json::parse(j.dump()) == j);
}

TEST_CASE("a search in parts as JSON and as text tells how many there were, and how many of them were searched") {
    auto const r = optimize(models::residual_chain(1, 8, 7, 4), cost::roofline{}, {.split = 7}).value().report;
    auto const j = to_json(r)["split"];
    CHECK(j["whole_because"] == "");
    CHECK(j["bound"] == 7);
    CHECK(j["parts"] == 4);
    CHECK(j["distinct_parts"] == 1);
    CHECK(j["windows"] == r.split.windows);
    CHECK(j["distinct_windows"] == r.split.distinct_windows);
    CHECK(j["cut_weights"].size() == 3);
    CHECK(report::to_text(r).find("split    4 parts (1 distinct), ") != std::string::npos);
}

TEST_CASE("a verification as JSON says what was compared and how") {
    auto const r = optimize(models::fire_module(1), cost::roofline{}, {.verify = true}).value().report;
    auto const v = to_json(r)["verification"];
    CHECK(v["equal"] == true);
    CHECK(v["different"] == false);
    CHECK(v["whole_graph_in_field"] == true);
    CHECK(v["on_numbers"] == true);
    CHECK(v["rewrites_checked"] == r.applied.size());
    CHECK(v["rewrites_skipped"] == 0);
    CHECK(v["max_relative_error"].get<double>() < 1e-5);
    CHECK(v["notes"].empty());
}

TEST_CASE("an optimization that changed nothing is a report too") {
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {4}, "x"))});
    auto const j = to_json(optimize(g, cost::flop_cost{}).value().report);
    CHECK(j["applied"] == io::json::array());
    CHECK(j["cost_before"] == io::json{{"value", 4}, {"unit", "FLOP"}});
    CHECK(j["cost_after"] == j["cost_before"]);
}

TEST_CASE("named rewrites as JSON and as text have their costs, and the nodes that came and went") {
    cost::roofline const model;
    rule_at const enlarge{find_rule(standard_rules(), "enlarge_conv").value(), "shortcut"};
    auto const r = apply_rules(models::residual_module(1, 2, 3), cost::erase(model), table_of<eval_row, standard_ops>(),
                               std::span{&enlarge, 1}, {.verify = true})
                       .value()
                       .second;
    auto const j = to_json(r);
    CHECK(j["cost_before"] == io::json{{"value", r.cost_before}, {"unit", "s"}});
    REQUIRE(j["made"].size() == 1);
    CHECK(j["made"][0]["rule"] == "enlarge_conv");
    CHECK(j["made"][0]["verified"] == "equal");
    CHECK(j["made"][0]["removed"][0]["operands"] == io::json{"\"x\"", "f32[2,2,1,1]"});
    CHECK(j["made"][0]["added"][0]["operands"] == io::json{"\"x\"", "f32[2,2,3,3]"});
    CHECK(j["verification"]["equal"] == true);
    auto const text = report::to_text(r);
    CHECK(text.find("enlarge_conv at \"shortcut\"") != std::string::npos);
    CHECK(text.find("  - Conv \"shortcut\" (\"x\", f32[2,2,1,1])") != std::string::npos);
    CHECK(text.find("  + Conv \"shortcut\" (\"x\", f32[2,2,3,3])") != std::string::npos);
    CHECK(text.find("verified: equal") != std::string::npos);
}

TEST_CASE("weights as JSON have their elements up to a limit") {
    cost::roofline const model;
    auto const places = explain_rule(models::residual_module(1, 2, 3), cost::erase(model),
                                     *find_rule(standard_rules(), "enlarge_conv").value(),
                                     {.weights = table_of<eval_row, standard_ops>()})
                            .value()
                            .places;
    auto const j = to_json(*places[0].weights);
    CHECK(keys(j) == std::set<std::string>{"read", "built"});
    CHECK(j["built"][0]["type"] == "f32[2,2,3,3]");
    CHECK(j["built"][0]["elements"].size() == 36);
    CHECK(j["built"][0]["kernels"] == io::json{{"all", 4}, {"zero", 0}, {"identity", 0}});
    CHECK(j["read"][0]["reader"] == "shortcut");
    auto const few = to_json(*places[0].weights, 4);
    CHECK(few["read"][0].contains("elements"));
    CHECK_FALSE(few["built"][0].contains("elements"));
}

} // namespace report_json_test
