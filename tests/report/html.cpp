#include "catch.hpp"
#include "report/well_formed.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/report/html.hpp>

namespace html_test {

using namespace gsub;
using well_formed::count;
using well_formed::problem_of;

TEST_CASE("a page is well-formed, stands alone, and tells every applied rewrite with its law") {
    auto const g = models::fire_module(1);
    cost::roofline const model;
    auto const costs = cost::erase(model);
    for (bool verify : {false, true}) {
        auto const best = optimize(g, model, {.verify = verify}).value();
        auto const page = report::to_html(g, best, best.report,
                                          {.model = "fire",
                                           .cost_model = "a roofline",
                                           .settings = {{"alpha", "1.05"}},
                                           .rules = standard_rules(),
                                           .costs = &costs});
        CHECK(problem_of(page) == "");
        CHECK(count(page, "<script") + count(page, "href=") + count(page, "src=") + count(page, "@import") +
                  count(page, "url(") ==
              0);
        CHECK(count(page, "<tr><td") == best.report.applied.size());
        REQUIRE_FALSE(best.report.applied.empty());
        for (auto const& a : best.report.applied) {
            CHECK(count(page, a.rule) >= 1);
            CHECK((a.check == rewrite_check::not_asked) == !verify);
        }
        CHECK((count(page, "not checked in this run") > 0) == !verify);
        CHECK((count(page, "equal in the prime field") > 0) == verify);
        CHECK(count(page, "alpha") == 1);
        CHECK(count(page, " new\"") >= 2);       // what was replaced, and what was made
        CHECK(count(page, "\xef\xbf\xbd") == 0); // lines of tooltips are lines
        CHECK(count(page, "<title>1: " + best.report.applied[0].rule + "\n") == 1);
        CHECK(count(page, "everything within the bound was explored") == 1);
    }
}

TEST_CASE("costs that are not additive, graphs without rewrites and too large ones have pages too") {
    auto const g = models::fire_module(1);
    cost::peak_memory const model;
    auto const costs = cost::erase(model);
    auto const best = optimize(g, model, {.budget = {0}}).value();
    auto const page = report::to_html(g, best, best.report,
                                      {.model = "fire", .cost_model = "peak memory", .costs = &costs, .max_boxes = 2});
    CHECK(problem_of(page) == "");
    CHECK(count(page, "Where the cost lies") == 0);
    CHECK(count(page, "No picture: ") == 2);
    CHECK(count(page, "no path of rewrites led to a cheaper graph") == 1);
    CHECK(problem_of(report::to_html(graph{}, graph{}, {}, {})) == "");
}

TEST_CASE("texts of strangers stay texts") {
    auto const g = models::fire_module(1);
    for (auto const& name : well_formed::hostile_names()) {
        CAPTURE(name);
        optimize_report r;
        r.unit = "s";
        r.applied.push_back({name, name, 1, rewrite_check::different});
        r.verification.attempted = true;
        r.verification.notes = {name};
        auto const page = report::to_html(g, g, r, {.model = name, .cost_model = name, .settings = {{name, name}}});
        CHECK(problem_of(page) == "");
        CHECK(count(page, "<script") == 0);
    }
}

} // namespace html_test
