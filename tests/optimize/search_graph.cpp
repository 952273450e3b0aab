#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "optimize/prepared_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/rewrite/pattern/rule.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace search_graph_test {

using namespace gsub;

using namespace prepared_graph;

auto run(graph const& g, std::size_t bound, std::uint64_t steps = 1000, std::string_view list = "all") {
    auto const chosen = chosen_rules(list);
    return optimize(g, cost::roofline{}, {.budget = {steps}, .split = bound, .rules = chosen}).value();
}

// Cannot cost what the rewrites make.
struct failing {
    using unit = seconds;
    static constexpr bool concurrent = true;
    seconds operator()(any_graph const& g, node_id n) const {
        if (g.is<ops::split>(n)) throw std::runtime_error{"no cost for it"}; // which the model has none of
        return cost::roofline{}(g, n);
    }
    seconds operator()(any_graph const& g) const { return cost::roofline{}(g); }
};
// Counts what it hears, and sees from where.
struct listening : observer {
    std::thread::id caller = std::this_thread::get_id();
    bool here = true;
    int heard = 0;
    void on_progress(progress const&) override { here = here && std::this_thread::get_id() == caller, ++heard; }
};

// Expansions of the search that began last, and where that began.
struct last_search : search_observer {
    hash128 key;
    std::uint64_t expanded = 0;
    void on_event(search_event const& e) override {
        if (e.what == search_event::kind::begin) key = e.key, expanded = 0;
        expanded += e.what == search_event::kind::expanded;
    }
};

// x, then `count` times: times a constant, sigmoid. Every second constant is negative.
graph alternating(int count) {
    graph g;
    graph_builder b{g};
    auto x = b.input(dtype::f32, {4}, "x");
    for (int i = 0; i < count; ++i) {
        auto const sign = i % 2 ? -1.0f : 1.0f;
        auto const size = static_cast<float>(2 + i);
        x = b.add<ops::mul>(x, b.constant(tensor::from<float>({4}, {sign * size, sign, sign, sign})));
        x = b.add<ops::sigmoid>(x);
    }
    b.outputs({x});
    return g;
}

// No law at all, but a rule whose condition reads a constant's elements.
inline constexpr auto x = pattern::var<"x">;
inline constexpr auto w = pattern::var<"w">;
inline constexpr auto drop_positive = rule<"drop_positive">(
    pattern::mul(x, w), x,
    pattern::where(pattern::condition("the constant begins with a positive number",
                                      [](match const& m) {
                                          auto const n = m[w].node;
                                          auto const& g = m.graph();
                                          return g.is<ops::constant>(n) && g.constant_data(n).data<float>()[0] > 0;
                                      })),
    provenance{"a wrong rule, to be caught"});

} // namespace search_graph_test

TEST_CASE("a chain of eight equal modules gains eight times what one gains, from one search of one of them") {
    using namespace search_graph_test;
    auto const chain = models::residual_chain(1, 64, 7, 8);
    auto const one = run(models::residual_module(1, 64, 7), 0, 200, "atomic").report;
    for (std::uint64_t const steps : {12u, 200u}) {
        auto const parts = run(chain, 8, steps, "atomic").report;
        CHECK(parts.split.parts == 8);
        CHECK(parts.split.distinct_parts == 1);
        CHECK(parts.split.cuts.size() == 7);
        CHECK(parts.search.expanded <= steps);
        CHECK(parts.cost_before - parts.cost_after == Approx(8 * (one.cost_before - one.cost_after)));
        // Every module is rewritten in the same way, and every rewrite is told.
        CHECK(parts.applied.size() >= 8 * one.applied.size());
        std::map<std::string, std::size_t> modules;
        for (auto const& a : parts.applied) ++modules[a.site.substr(0, a.site.find('.'))];
        CHECK(modules.size() == 8);
    }
    // The whole needs more steps than there are here.
    CHECK(run(chain, 0, 12, "atomic").report.cost_after > run(chain, 8, 12, "atomic").report.cost_after * 1.2);
}

TEST_CASE("parts leave an eighth of the steps to a search of the whole") {
    using namespace search_graph_test;
    auto const chosen = chosen_rules("all");
    auto const g = models::inception_v3({.image = 75});
    // Where the last search began, and how many graphs it expanded.
    auto const last_of = [&](std::uint64_t steps, std::size_t bound) {
        last_search told;
        auto const r =
            optimize(g, cost::roofline{}, {.budget = {steps}, .split = bound, .rules = chosen, .trace = &told}).value();
        CHECK(r.report.search.why == search::stop_reason::steps);
        return std::pair{told.key, told.expanded};
    };
    auto const whole = last_of(16, 0).first;
    for (std::uint64_t const steps : {8u, 80u, 400u}) { // which the parts alone would use up
        auto const [key, expanded] = last_of(steps, 24);
        CHECK(key == whole);
        CHECK(expanded >= steps / 8);
    }
}

TEST_CASE("what a search in parts tells adds up: costs after each rewrite, history, steps") {
    using namespace search_graph_test;
    auto const g = models::inception_v3({.image = 75});
    auto const r = run(g, 24, 300).report;
    CHECK(r.split.parts > 4);
    CHECK(r.split.windows > 2);
    CHECK(r.split.bound == 24);
    CHECK(r.split.why_whole.empty());
    CHECK(r.search.expanded <= 300);
    REQUIRE_FALSE(r.applied.empty());
    CHECK(r.search.start_cost == Approx(r.cost_start));
    CHECK(r.applied.back().cost_after == Approx(r.cost_after));
    CHECK(r.search.best_cost == Approx(r.cost_after));
    for (auto const& a : r.applied) {
        CHECK(a.cost_after < r.cost_start * 1.05);
        CHECK(a.cost_after > r.cost_after * (1 - 1e-9));
        CHECK_FALSE(a.site.empty());
    }
    REQUIRE(r.search.history.size() > 1);
    for (std::size_t i = 1; i < r.search.history.size(); ++i) {
        CHECK(r.search.history[i].cost < r.search.history[i - 1].cost);
        CHECK(r.search.history[i].steps >= r.search.history[i - 1].steps);
    }
    CHECK(r.search.history.back().cost == Approx(r.cost_after));
}

TEST_CASE("a network searched in parts is as cheap as searched whole, by fewer steps, and verified in every part") {
    using namespace search_graph_test;
    auto const g = models::resnet50({.image = 32, .classes = 10});
    auto const whole = run(g, 0).report, parts = run(g, 16).report;
    CHECK(parts.cost_after <= whole.cost_after * (1 + 1e-9));
    CHECK(parts.search.history.back().steps < whole.search.history.back().steps);
    CHECK(parts.split.distinct_parts < parts.split.parts);
    auto const verified = optimize(g, cost::roofline{}, {.split = 16, .verify = true}).value();
    auto const& v = verified.report.verification;
    CHECK(v.equal);
    CHECK_FALSE(v.different);
    CHECK(v.on_numbers);
    CHECK(v.rewrites_checked + v.rewrites_skipped == verified.report.applied.size());
    CHECK(v.rewrites_checked > v.rewrites_skipped);
}

TEST_CASE("a wrong rewrite in a part is found and named") {
    using namespace search_graph_test;
    auto const wrong = rule_list(drop_positive);
    auto const r = optimize(alternating(4), cost::roofline{}, {.split = 2, .rules = wrong, .verify = true}).value();
    auto const& v = r.report.verification;
    CHECK(v.different);
    CHECK(std::any_of(v.notes.begin(), v.notes.end(), [](auto const& n) { return n.find("drop_positive at") == 0; }));
}

TEST_CASE("a rewrite that does not match in an equal part is not made there") {
    using namespace search_graph_test;
    auto const conditional = rule_list(drop_positive);
    auto const r = optimize(alternating(8), cost::roofline{}, {.split = 2, .rules = conditional}).value();
    CHECK(r.report.split.parts == 8);
    std::size_t left = 0;
    for (auto n : r.order())
        if (r.is<ops::mul>(n)) {
            ++left;
            CHECK(r.constant_data(r.operand(n, 1).node).data<float>()[0] < 0);
        }
    CHECK(left == 4);
    CHECK(r.report.applied.size() == 4);
}

TEST_CASE("random graphs cut into small parts compute what they did") {
    using namespace search_graph_test;
    std::size_t rewritten = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        CAPTURE(seed);
        graph g{random_graph::make(seed, 30)};
        auto const bound = 2 + seed % 5;
        auto const r =
            optimize(g, cost::roofline{}, {.budget = {60}, .split = bound, .fold = false, .verify = true}).value();
        // In the field; a few of these graphs make much of how floats are rounded, rewritten or not.
        CHECK(r.report.verification.whole_in_field);
        for (auto const& n : r.report.verification.notes) CHECK(n.rfind("numbers", 0) == 0);
        CHECK(r.report.cost_after <= r.report.cost_before * (1 + 1e-9));
        rewritten += !r.report.applied.empty();
        CHECK(r.inputs().size() == g.inputs().size());
        for (std::size_t i = 0; i < r.output_count(); ++i) CHECK(r.type_of(r.output(i)) == g.type_of(g.output(i)));
    }
    CHECK(rewritten > 20);
}

TEST_CASE("the same search in parts gives the same graph and the same report") {
    using namespace search_graph_test;
    auto const g = models::inception_v3({.image = 75});
    auto const a = run(g, 20, 150), b = run(g, 20, 150);
    CHECK(a.hash() == b.hash());
    CHECK(a.report.search.expanded == b.report.search.expanded);
    CHECK(a.report.search.path == b.report.search.path);
    CHECK(a.report.search.history == b.report.search.history);
    // Whoever lends threads gets parts searched side by side, and the same of it.
    for (std::size_t threads : {2u, 3u, 16u}) {
        fork_join_executor several{threads};
        auto const chosen = chosen_rules("all");
        optimize_options const options{.budget = {150}, .split = 20, .rules = chosen, .threads = &several};
        auto const c = optimize(g, cost::roofline{}, options).value();
        CHECK(c.hash() == a.hash());
        CHECK(c.report.search.expanded == a.report.search.expanded);
        CHECK(c.report.search.path == a.report.search.path);
        CHECK(c.report.search.history == a.report.search.history);
    }
}

TEST_CASE("parts searched side by side fail as they do one after the other, and are heard on the caller's thread") {
    using namespace search_graph_test;
    auto const g = models::inception_v3({.image = 75});
    fork_join_executor three{3};
    listening observe;
    auto const chosen = chosen_rules("all");
    optimize_options options{.budget = {300}, .split = 20, .rules = chosen, .threads = &three, .observe = &observe};
    CHECK(optimize(g, cost::roofline{}, options));
    CHECK(observe.heard > 0);
    CHECK(observe.here);
    CHECK_THROWS_WITH(optimize(g, failing{}, options), Catch::Contains("no cost for it"));
}

TEST_CASE("no budget is exceeded, however it is divided") {
    using namespace search_graph_test;
    using namespace std::chrono_literals;
    auto const g = models::resnet18({.image = 32, .classes = 10});
    double before = 1e9;
    for (std::uint64_t const steps : {0u, 1u, 2u, 5u, 20u, 80u, 400u}) {
        auto const r = run(g, 12, steps).report;
        CHECK(r.search.expanded <= steps);
        CHECK(r.cost_after <= before);
        before = r.cost_after;
        if (r.search.why == search::stop_reason::steps) CHECK(r.search.expanded == steps);
    }
    auto const none = optimize(g, cost::roofline{}, {.budget = 0ns, .split = 12}).value().report;
    CHECK(none.search.expanded == 0);
    CHECK(none.search.why == search::stop_reason::time);
    std::stop_source stop;
    stop.request_stop();
    auto const cancelled = optimize(g, cost::roofline{}, {.split = 12, .stop = stop.get_token()}).value().report;
    CHECK(cancelled.search.why == search::stop_reason::cancelled);
    CHECK(cancelled.applied.empty());
}

TEST_CASE("a graph of more than 4096 kernels is searched in parts alone, and says so") {
    using namespace search_graph_test;
    auto const of_kernels = [](std::size_t count) {
        graph g;
        graph_builder b{g};
        auto v = b.input(dtype::f32, {4}, "x");
        for (std::size_t i = 0; i < count; ++i) v = i % 2 ? b.add<ops::tanh>(v) : b.add<ops::sigmoid>(v);
        g.set_outputs({&v, 1});
        return g;
    };
    struct hearing : observer {
        std::vector<std::string> notes;
        void on_note(std::string_view text) override { notes.emplace_back(text); }
    };
    auto const searched = [](graph const& g, hearing& heard) {
        return optimize(g, cost::roofline{}, {.budget = {100}, .observe = &heard}).value().report;
    };
    hearing below, above;
    auto const whole = searched(of_kernels(4096), below), parts = searched(of_kernels(4097), above);
    CHECK(whole.search.why == search::stop_reason::exhausted);
    CHECK(below.notes.empty());
    CHECK(parts.search.why == search::stop_reason::steps);
    REQUIRE(above.notes.size() == 1);
    CHECK(above.notes[0] == "4097 kernels are searched in parts alone: a whole has 4096 at most");
    CHECK(parts.split.parts > 80);
    CHECK(parts.cost_after == parts.cost_before);
}

TEST_CASE("small graphs, costs that are no sums, and those who do not ask get one search of the whole") {
    using namespace search_graph_test;
    auto const g = models::residual_chain(1, 8, 7, 2); // 14 kernels
    auto const whole = run(g, 0);
    CHECK(whole.report.split.why_whole == "it was not asked for");
    auto const small = run(g, 14);
    CHECK(small.report.split.why_whole == "the graph is not larger than a part");
    CHECK(small.hash() == whole.hash());
    CHECK(small.report.search.path == whole.report.search.path);
    CHECK(small.report.search.generated == whole.report.search.generated);
    CHECK(run(g, 13).report.split.why_whole.empty());
    auto const peak = optimize(g, cost::peak_memory{}, {.split = 4}).value();
    CHECK(peak.report.split.why_whole == "the cost model is not additive");
    CHECK(peak.report.split.parts == 0);
}

TEST_CASE("names and sources survive being cut out and put back") {
    using namespace search_graph_test;
    auto const g = models::resnet18({.image = 32, .classes = 10});
    auto const r = run(g, 12);
    CHECK(r.info().output_names == g.info().output_names);
    CHECK(r.name(r.output(0)) == g.name(g.output(0)));
    std::set<std::string> before, after;
    for (auto n : g.order())
        for (auto const& s : g.sources(n)) before.insert(s);
    for (auto n : r.order())
        for (auto const& s : r.sources(n)) after.insert(s);
    CHECK(std::includes(before.begin(), before.end(), after.begin(), after.end()));
    CHECK(after.contains("layer1.0.conv1"));
    CHECK(after.contains("layer1.0.bn1"));
    CHECK(after.contains("layer4.1.relu2"));
}
