#include "catch.hpp"
#include "report/well_formed.hpp"
#include "tune/tuned_network.hpp"
#include <gsub/core/random.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/report/tuning_page.hpp>
#include <gsub/report/units.hpp>
#include <gsub/target/target.hpp>

#include <limits>
#include <string>
#include <vector>

namespace tuning_page_test {

using namespace tuned_network;
using tune::tuned_task;
using tune::tuning_method;
using well_formed::count;
using well_formed::problem_of;

std::vector<tune::tuning_task> const& all() {
    static auto const made = tasks(isa::avx512);
    return made;
}

// A report as a tuner makes it, with times out of a hat: `trials` candidates of each task, of which each fifth fails.
tune::tuning_report report_of(std::uint64_t seed, std::size_t trials, bool predicts = true) {
    random_stream random{seed};
    tune::tuning_report r;
    for (auto const& task : all()) {
        tuned_task t;
        t.best = task.untuned;
        t.predicted = t.untuned_predicted = random.uniform(1e-6, 1e-3);
        if (predicts) {
            t.scored = 100;
            t.history = {{1, 2 * t.predicted}, {10, 0.9 * t.predicted}, {70, 0.5 * t.predicted}};
        }
        for (std::size_t i = 0; i < trials; ++i) {
            auto const a = i == 0 ? task.untuned.algorithm : random.below(task.algorithms.size());
            auto const& space = *task.algorithms[a].space;
            tune::candidate const c{a, i == 0 ? task.untuned.index : random.below(space.size())};
            t.timed.push_back({c, random.uniform(1e-6, 1e-3), random.uniform(1e-6, 1e-3)});
            if (i % 5 == 4) t.timed.back().measured.reset(), ++t.failed;
        }
        t.trials = trials;
        if (trials > 0) {
            t.untuned_measured = t.measured = t.timed[0].measured;
            for (auto const& c : t.timed)
                if (c.measured && *c.measured < *t.measured) t.best = c.what, t.measured = c.measured;
        }
        r.tasks.push_back(t);
    }
    r.tuned = all().size(), r.seconds = 36;
    return r;
}
std::string page_of(tune::tuning_report const& r, report::tuning_facts const& facts = {"net", "x86-64", "a model"}) {
    return report::to_html(all(), r, facts);
}
std::string row_of(std::string const& page, std::size_t number) {
    auto at = page.find("<h2>Tasks");
    for (std::size_t i = 0; i <= number; ++i) at = page.find("<tr><td", at + 1);
    return page.substr(at, page.find("</tr>", at) - at);
}

TEST_CASE("a page is well-formed, stands alone, is the same again, and tells every task") {
    for (std::size_t const trials : {0u, 1u, 12u})
        for (bool const predicts : {false, true}) {
            CAPTURE(trials, predicts);
            auto const r = report_of(5, trials, predicts);
            auto const page = page_of(r);
            CHECK(problem_of(page) == "");
            CHECK(page == page_of(r));
            CHECK(count(page, "<script") + count(page, "href=") + count(page, "src=") + count(page, "@import") +
                      count(page, "url(") ==
                  0);
            CHECK(count(page, "<details>") == all().size());
            CHECK(count(page, "Best prediction") == (predicts ? 1 : 0));
            CHECK(count(page, "Best measurement") == (trials > 0 ? 1 : 0));
            CHECK(count(page, "Nothing was timed") == (trials == 0 ? 1 : 0));
        }
}

TEST_CASE("each candidate that was timed is a mark of its kind, those that failed are counted, the chosen ones stand "
          "out") {
    auto const r = report_of(9, 12);
    auto const page = page_of(r), picture = report::scatter_svg(all(), r).value();
    auto const totals = totals_of(all(), r);
    CHECK(problem_of(picture) == "");
    CHECK(picture == report::scatter_svg(all(), r).value());
    CHECK(picture.starts_with("<svg class=\"gsub chart\" xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(count(picture, "<title>") == totals.trials - totals.failed);
    CHECK(count(picture, " best\"") == all().size() + 1); // and that of the legend
    CHECK(count(page, "\npredicted ") == totals.trials - totals.failed);
    CHECK(count(page, std::to_string(totals.trials) + " timed, " + std::to_string(totals.failed) + " failed") == 1);
    for (auto const* kind : {"conv2d", "matmul", "winograd F2", "winograd F4"}) {
        CAPTURE(kind);
        CHECK(count(picture, std::string{">"} + kind + "</text>") == 1);
    }
    CHECK_FALSE(report::scatter_svg(all(), report_of(9, 0)));

    // What has no place on logarithmic axes has no mark.
    auto odd = r;
    odd.tasks[0].timed[1].predicted = std::numeric_limits<double>::infinity();
    odd.tasks[0].timed[2].predicted = 0;
    odd.tasks[0].timed[3].measured = 0;
    CHECK(count(report::scatter_svg(all(), odd).value(), "<title>") == totals.trials - totals.failed - 3);
    for (auto& t : odd.tasks)
        for (auto& c : t.timed) c.predicted = 0;
    CHECK_FALSE(report::scatter_svg(all(), odd));
    CHECK(problem_of(page_of(odd)) == "");
}

TEST_CASE("Kendall's tau counts pairs within tasks alone") {
    auto const r = report_of(2, 9);
    cost::ranked_pairs pairs;
    for (auto const& t : r.tasks) {
        std::vector<double> predicted, measured;
        for (auto const& c : t.timed)
            if (c.measured) predicted.push_back(c.predicted), measured.push_back(*c.measured);
        pairs += cost::rank_pairs(predicted, measured, 0.03);
    }
    CHECK(count(page_of(r), "Kendall's tau within tasks is " + report::fixed(pairs.tau(), 2) + " over the ") == 1);
    // Predictions in the order of the clock, however wrong in scale from task to task.
    auto ranked = r;
    for (std::size_t i = 0; i < ranked.tasks.size(); ++i)
        for (auto& c : ranked.tasks[i].timed) c.predicted = c.measured.value_or(1) * (i % 2 == 0 ? 100 : 0.01);
    CHECK(count(page_of(ranked), "Kendall's tau within tasks is 1.00 over the ") == 1);
    CHECK(count(page_of(report_of(2, 1)), "Kendall's tau within tasks is no number over the 0 pairs") == 1);
}

TEST_CASE("tasks come by the time that they gain in all kernels") {
    auto r = report_of(3, 4);
    for (std::size_t i = 0; i < all().size(); ++i) {
        auto& t = r.tasks[i];
        t.untuned_measured = 1e-3, t.measured = 1e-3, t.best = all()[i].untuned;
    }
    auto const best = all().size() - 1;
    r.tasks[best].measured = 0.25e-3;
    r.tasks[best].best = r.tasks[best].timed[1].what;
    auto const page = page_of(r);
    CHECK(count(row_of(page, 0), "0.250</td>") == 1);
    CHECK(count(row_of(page, 0), "1.00 ms \xe2\x86\x92 250 us") == 1);
    CHECK(count(row_of(page, 0), "untuned") == 0);
    CHECK(count(row_of(page, 1), "1.000</td>") == 1);
    CHECK(count(row_of(page, 1), "untuned") == 1);
    auto const kernels = static_cast<double>(all()[best].kernels);
    CHECK(count(row_of(page, 0), report::human(kernels * 0.75e-3, "s")) >= 1);
}

TEST_CASE("cards tell the network by the clock where it was timed, and what tuning has cost") {
    auto const r = report_of(4, 3);
    auto const plain = page_of(r);
    CHECK(count(plain, ">Network<") == 0);
    CHECK(count(plain, "costs ") == 0);
    report::tuning_facts facts{.model = "net",
                               .target = "x86-64",
                               .cost_model = "a model",
                               .method = tuning_method::measured,
                               .network = report::network_times{2e-3, 1e-3, 0.51, 0.45, 0.55},
                               .per_hour = 2.5,
                               .settings = {{"seed", "17"}}};
    auto const page = page_of(r, facts);
    CHECK(problem_of(page) == "");
    CHECK(count(page, ">Network<") == 1);
    CHECK(count(page, "2.00 ms \xe2\x86\x92 1.00 ms") == 1);
    CHECK(count(page, "0.510 of untuned by the clock (95 %: 0.450 to 0.550)") == 1);
    CHECK(count(page, "class=\"card main\"") == 1);
    facts.network->high = 1.1; // the clock does not tell which is faster
    CHECK(count(page_of(r, facts), "class=\"card main even\"") == 1);
    facts.network->low = 1.05;
    CHECK(count(page_of(r, facts), "class=\"card main bad\"") == 1);
    CHECK(count(page, "costs 0.0250 at 2.50 an hour") == 1);
    CHECK(count(page, "<dt>seed</dt><dd>17</dd>") == 1);
    CHECK(count(page, "A hybrid tuner times") == 0);
    CHECK(count(plain, "A hybrid tuner times") == 1);
}

TEST_CASE("texts of strangers stay texts, and reports about nothing have pages too") {
    auto const r = report_of(6, 6);
    for (auto const& name : well_formed::hostile_names()) {
        CAPTURE(name);
        auto const page =
            page_of(r, {.model = name, .target = name, .cost_model = name, .network = {}, .settings = {{name, name}}});
        CHECK(problem_of(page) == "");
        CHECK(count(page, "<script") == 0);
    }
    CHECK(problem_of(report::to_html({}, {}, {})) == "");
    CHECK_FALSE(report::scatter_svg({}, {}));
    tune::tuning_report untouched; // nothing known of any task
    untouched.tasks.resize(all().size());
    untouched.why = search::stop_reason::time;
    auto const page = page_of(untouched);
    CHECK(problem_of(page) == "");
    CHECK(count(page, "the budget of time was spent") == 1);
    CHECK(count(page, "nan") + count(page, "inf ") == 0);
}

TEST_CASE("what a tuner reports is a page") {
    auto const machine = parse_target("x86-64-avx512").value();
    tune::tuning_options options;
    options.method = tuning_method::predicted, options.points = 30, options.trials = 2;
    auto const r = tune::tune(all(), cost::lowered::on(machine), machine, options).value();
    auto const page = page_of(r);
    CHECK(problem_of(page) == "");
    CHECK(count(page, "Best prediction") == 1);
    CHECK(count(page, "all tasks were looked at") == 1);
}

} // namespace tuning_page_test
