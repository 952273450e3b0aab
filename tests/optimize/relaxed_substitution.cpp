#include "catch.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/optimize/relaxed_substitution.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/passes/pipeline.hpp>
#include <gsub/passes/simplify/simplify_inference.hpp>

namespace relaxed_substitution_test {

using namespace gsub;

static_assert(pass<relaxed_substitution<>> && pass<relaxed_substitution<cost::roofline>>);

// Two convolutions of one value, which one kernel could compute.
any_graph siblings() {
    graph g;
    models::network_builder b{g, models::weight_source{1}};
    auto const x = b.input(dtype::f32, {1, 16, 8, 8}, "x");
    auto const a = b.relu("a", b.conv("ca", x, {16, {3, 3}, {1, 1}, {1, 1}})),
               c = b.relu("c", b.conv("cc", x, {16, {3, 3}, {1, 1}, {1, 1}}));
    b.output(b.concat("y", {a, c}), "y");
    return any_graph{g};
}

TEST_CASE("a search is a pass, between others, and finds what optimize finds") {
    auto const g = siblings();
    gsub::module m;
    m.add("main", g);
    pass_context cx;
    auto const outcome = run_pass(pipeline{passes::simplify_inference{}, relaxed_substitution{cost::roofline{}},
                                           passes::fold_constant{}},
                                  m, cx)
                             .value();
    CHECK(outcome.changed);
    auto const& found = m.find("main")->body;
    auto const searched = optimize(g, cost::erase(cost::roofline{}), table_of<eval_row, standard_ops>(), {}).value();
    CHECK(found == searched.first);
    CHECK(cost::roofline{}(found) < cost::roofline{}(g));
    CHECK(verify_equal(g, found, table_of<eval_row, standard_ops>()).equal);
}

TEST_CASE("a search stands in a list by name, with its settings") {
    auto known = passes::standard_passes();
    known.add(relaxed_substitution<cost::roofline>{});
    gsub::module m;
    m.add("main", siblings());
    auto const before = m.find("main")->body;
    pass_context cx;
    CHECK_FALSE(known.run("relaxed-substitution(rules=none)", m, cx).value().outcome.changed);
    CHECK(known.run("relaxed-substitution(alpha=1.1 steps=50), fold-constant", m, cx).value().outcome.changed);
    CHECK(m.find("main")->body != before);
    for (auto const* wrong : {"alpha=0.5", "alpha=x", "steps=-1", "rules=no-such-rule", "speed=9", "steps=1 steps=2"}) {
        CAPTURE(wrong);
        auto const refused = substitution_settings::parse(wrong);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().id() ==
              (std::string_view{wrong}.starts_with("rules") ? errors::unknown_rule : errors::search_setting));
    }
    auto const read = substitution_settings::parse(" steps=7  alpha=1.25 ").value();
    CHECK(read.budget.steps == 7);
    CHECK(read.alpha == 1.25);
}

TEST_CASE("values that have layouts are not searched") {
    auto g = any_graph{parse_graph<standard_ops>(R"(graph "" {
        %0 "x": f32[1,16,4,4] = input
        %1: f32[1,16,4,4]:NCHW16c = "gsub".LayoutTransform(%0) {to = "NCHW16c"}
        return %1
    })")
                           .value()};
    pass_context cx;
    auto const outcome = relaxed_substitution<>{}(g, cx).value();
    CHECK_FALSE(outcome.changed);
    CHECK(outcome.skips("values have layouts") == 1);
}

} // namespace relaxed_substitution_test
