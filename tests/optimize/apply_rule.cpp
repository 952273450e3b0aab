#include "catch.hpp"
#include "optimize/prepared_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

namespace apply_rule_test {

using namespace gsub;

cost::roofline const model;
auto const evaluators = table_of<eval_row, standard_ops>();

rule_at at(std::string_view rule, std::string node) {
    return {find_rule(standard_rules(), rule).value(), std::move(node)};
}
result<std::pair<any_graph, application_report>> applied(any_graph const& g, std::vector<rule_at> const& rules) {
    return apply_rules(g, cost::erase(model), evaluators, rules, {.verify = true});
}

TEST_CASE("a kernel is enlarged by itself, though that costs more: pads grow by half of what the kernel does") {
    auto const [g, report] = applied(models::residual_module(1, 4, 5), {at("enlarge_conv", "shortcut")}).value();
    REQUIRE(report.made.size() == 1);
    auto const& made = report.made[0];
    CHECK(made.rule == "enlarge_conv");
    CHECK(made.site == "shortcut");
    CHECK(made.hint.empty());
    CHECK(made.choices == 1);
    CHECK(made.cost_before == report.cost_start);
    CHECK(made.cost_after == report.cost_after);
    CHECK(report.cost_after > report.cost_before);
    REQUIRE(made.removed.size() == 1);
    REQUIRE(made.added.size() == 1);
    auto const has = [](std::string const& text, std::string_view part) { return text.find(part) != text.npos; };
    CHECK(made.removed[0].name == "shortcut");
    CHECK(made.removed[0].operands == std::vector<std::string>{"\"x\"", "f32[4,4,1,1]"});
    CHECK(has(made.removed[0].attributes, "pads = [0, 0, 0, 0]"));
    CHECK(made.added[0].operands == std::vector<std::string>{"\"x\"", "f32[4,4,3,3]"});
    CHECK(has(made.added[0].attributes, "pads = [1, 1, 1, 1]"));
    CHECK(made.removed[0].type == made.added[0].type);
    CHECK(made.check == rewrite_check::equal);
    CHECK(report.verification.equal);
    CHECK(report.verification.rewrites_checked == 1);
}

TEST_CASE("rewrites one after another are those of the search: figure 3.1") {
    auto const g = models::residual_module(1, 8, 7);
    auto const done =
        applied(g, {at("enlarge_conv", "shortcut"), at("fuse_conv_relu", "relu1"), at("fuse_conv_relu", "relu2"),
                    at("merge_conv_siblings", "conv1"), at("add_fuse", "add"), at("fuse_conv_relu", "relu3")});
    REQUIRE(done);
    auto const& [result_graph, report] = *done;
    CHECK(report.verification.equal);
    CHECK(report.verification.rewrites_checked == 6);
    auto const atomic = prepared_graph::chosen_rules("atomic");
    auto const best = optimize(g, cost::erase(model), evaluators, {.alpha = 1.15, .rules = atomic}).value();
    CHECK(best.second.cost_after == report.cost_after);
    CHECK(best.first == result_graph);
    for (std::size_t i = 1; i < report.made.size(); ++i)
        CHECK(report.made[i].cost_before == report.made[i - 1].cost_after);
}

TEST_CASE("a rule whose hint fails is applied all the same, and the hint is told") {
    auto const done = applied(models::residual_module(1, 4, 5), {at("add_fuse", "add")});
    REQUIRE(done);
    CHECK(done->second.made[0].hint.find("parts of one split") != std::string::npos);
    CHECK(done->second.verification.equal);
}

TEST_CASE("a node inside of the pattern names the place too") {
    auto const done = applied(models::residual_module(1, 4, 5), {at("fuse_conv_relu", "conv1")});
    REQUIRE(done);
    CHECK(done->second.made[0].site == "relu1");
}

TEST_CASE("a rule that does not apply there says why, and names that do not exist have neighbours") {
    auto const g = models::residual_module(1, 4, 5);
    auto const refused = applied(g, {at("enlarge_conv", "conv2")});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == errors::rule_does_not_apply);
    CHECK(refused.error().message().find("no other Conv reads") != std::string::npos);
    auto const condition = applied(g, {at("enlarge_conv", "conv1")});
    REQUIRE_FALSE(condition);
    CHECK(condition.error().message().find("condition fails") != std::string::npos);
    auto const unknown = applied(g, {at("enlarge_conv", "shortcat")});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code() == error_code::usage);
    CHECK(unknown.error().message().find("\"shortcut\"") != std::string::npos);
    // Where the second does not apply, nothing is given.
    CHECK_FALSE(applied(g, {at("fuse_conv_relu", "relu1"), at("fuse_conv_relu", "relu1")}));
}

TEST_CASE("without rules the graph comes back in canonical form") {
    auto const g = models::residual_module(1, 4, 5);
    auto const done = applied(g, {});
    REQUIRE(done);
    CHECK(done->second.made.empty());
    CHECK(done->first == prepared_graph::prepared(g));
    CHECK(done->second.cost_before == done->second.cost_after);
}

} // namespace apply_rule_test
