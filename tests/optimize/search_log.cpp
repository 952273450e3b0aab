// Searches that go on from a log end as those that were never interrupted, and replays as what they repeat.
#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/executor.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/search_log.hpp>

#include <limits>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace search_log_test {

using namespace gsub;
using kind = search_event::kind;

// The test graphs and some random ones, of several modules too.
std::vector<std::pair<std::string, any_graph>> graphs(std::size_t random) {
    std::vector<std::pair<std::string, any_graph>> out;
    for (auto const& entry : models::test_graph_entries) out.emplace_back(entry.name, entry.build(1));
    out.emplace_back("residual_chain", models::residual_chain(1, 16, 7, 6));
    for (std::uint64_t seed = 0; seed < random; ++seed)
        out.emplace_back(fmt::format("random {}", seed), random_graph::make(seed, 20 + 8 * seed));
    return out;
}

using done = std::pair<any_graph, optimize_report>;
done run(any_graph const& g, cost::any_cost const& model, optimize_options const& options) {
    return optimize(g, model, table_of<eval_row, standard_ops>(), options).value();
}

// The same graph, found in the same way; all that is told but how often a graph was made that was seen before.
void same(done const& a, done const& b) {
    auto const &s = a.second.search, &t = b.second.search;
    CHECK(a.first == b.first);
    CHECK(s.path == t.path);
    CHECK(s.history == t.history);
    CHECK(s.start_cost == t.start_cost);
    CHECK(s.best_cost == t.best_cost);
    CHECK(s.expanded == t.expanded);
    CHECK(s.distinct == t.distinct);
    CHECK(s.refused == t.refused);
    CHECK(s.dropped == t.dropped);
    CHECK(s.generated - s.duplicates == t.generated - t.duplicates);
    CHECK(s.why == t.why);
    CHECK(a.second.cost_after == b.second.cost_after);
    CHECK(a.second.applied.size() == b.second.applied.size());
    CHECK(a.second.split.better_whole == b.second.split.better_whole);
}

void replays(any_graph const& g, cost::any_cost const& model, optimize_options options, search_log const& log,
             done const& expected) {
    options.trace = nullptr, options.resume = nullptr, options.replay = &log;
    auto const again = run(g, model, options);
    CHECK(again.first == expected.first);
    CHECK(again.second.search.path == expected.second.search.path);
    CHECK(again.second.search.history == expected.second.search.history);
    CHECK(again.second.search.best_cost == expected.second.search.best_cost);
    CHECK(again.second.search.expanded == expected.second.search.expanded);
    CHECK(again.second.search.why == expected.second.search.why);
    CHECK(again.second.cost_after == expected.second.cost_after);
    CHECK(again.second.replayed);
}

// Stops after k steps, goes on to m, then to n: each as in one go. Whether each of them made something that was not
// known.
bool check_steps(any_graph const& g, cost::any_cost const& model, optimize_options options, std::uint64_t k,
                 std::uint64_t m, std::uint64_t n) {
    options.budget = {n};
    auto const expected = run(g, model, options);
    search_recorder first, second, third;
    options.budget = {k}, options.trace = &first;
    auto const begun = run(g, model, options);
    CHECK(begun.second.remembered == 0);
    replays(g, model, options, first.log(), begun);
    options.budget = {m}, options.trace = &second, options.resume = &first.log();
    auto const further = run(g, model, options);
    replays(g, model, options, second.log(), further);
    options.budget = {n}, options.trace = &third, options.resume = &second.log();
    auto const ended = run(g, model, options);
    same(ended, expected);
    replays(g, model, options, third.log(), expected);
    // Without parts each step that was made before is known.
    if (options.split == 0) {
        CHECK(further.second.remembered == begun.second.search.expanded);
        CHECK(ended.second.remembered == further.second.search.expanded);
    }
    // Whoever knows all makes no successor.
    options.resume = &third.log(), options.trace = nullptr;
    auto const known = run(g, model, options);
    same(known, expected);
    CHECK(known.second.remembered == expected.second.search.expanded);
    CHECK(known.second.search.generated == ended.second.search.generated);
    CHECK(known.second.inapplicable == ended.second.inapplicable);
    return begun.second.search.expanded > 0 && further.second.search.expanded > further.second.remembered &&
           ended.second.search.expanded > ended.second.remembered;
}

TEST_CASE("a search that goes on from a log is the search in one go, and each can be replayed") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    std::size_t number = 0, interrupted = 0;
    for (auto const& [name, g] : graphs(30))
        for (std::size_t const split : {0u, 4u}) {
            INFO(name << " in parts of " << split);
            random_stream r{++number};
            auto const k = r.below(12), m = k + r.below(12), n = m + r.below(40);
            CAPTURE(k, m, n);
            interrupted += check_steps(g, model, {.alpha = 1.1, .split = split, .fold = false}, k, m, n);
        }
    CHECK(interrupted > 20);
}

TEST_CASE(
    "the same whatever admits, with rising alpha, a short queue, moves of equal cost, kernels as costs, threads") {
    cost::fused_roofline const machine;
    auto const model = cost::erase(machine);
    fork_join_executor threads{3};
    std::size_t number = 100, interrupted = 0;
    for (auto const& [name, g] : graphs(40)) {
        INFO(name);
        random_stream r{++number};
        auto const k = r.below(9), m = k + r.below(9), n = m + r.below(30);
        CAPTURE(k, m, n);
        auto const admit = static_cast<search::admission>(r.below(3));
        auto const climbs = admit != search::admission::first;
        interrupted += check_steps(g, model,
                                   {.alpha = 1,
                                    .schedule = climbs ? std::vector{1.05, 1.3} : std::vector<double>{},
                                    .admit = admit,
                                    .plateau = r.below(2) != 0,
                                    .queue = 2 + r.below(20),
                                    .split = r.below(2) * 5,
                                    .fold = false,
                                    .threads = r.below(2) ? &threads : nullptr},
                                   k, m, n);
    }
    CHECK(interrupted > 10);
}

TEST_CASE("what a log knows holds under any alpha") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    std::uint64_t remembered = 0;
    for (auto const& [name, g] : graphs(30))
        for (double const alpha : {1.0, 1.02, 1.4}) {
            INFO(name << " at " << alpha);
            search_recorder heard;
            optimize_options options{
                .alpha = 1.1, .plateau = true, .budget = {30}, .split = 0, .fold = false, .trace = &heard};
            static_cast<void>(run(g, model, options));
            options.alpha = alpha, options.trace = nullptr, options.budget = {50};
            auto const expected = run(g, model, options);
            options.resume = &heard.log();
            auto const found = run(g, model, options);
            same(found, expected);
            remembered += found.second.remembered;
        }
    CHECK(remembered > 500);
}

// A roofline that asks for a stop when it has been asked so often.
struct stopping_roofline {
    using unit = seconds;
    std::stop_source* source = nullptr;
    mutable std::uint64_t left = 0;
    seconds operator()(any_graph const& g, node_id n) const {
        if (source && --left == 0) source->request_stop();
        return cost::roofline{}(g, n);
    }
    seconds operator()(any_graph const& g) const { return cost::sum_over_nodes(*this, g); }
};

TEST_CASE("a search that was cancelled anywhere goes on as if it had not been") {
    std::size_t cancelled = 0, number = 0;
    for (auto const& [name, g] : graphs(12))
        for (std::size_t const split : {0u, 5u}) {
            INFO(name << " in parts of " << split);
            stopping_roofline const calm;
            auto const expected = run(g, cost::erase(calm), {.budget = {40}, .split = split, .fold = false});
            for (int i = 0; i < 3; ++i) {
                std::stop_source source;
                stopping_roofline const nervous{&source, g.size() * 4 + random_stream{++number}.below(1500)};
                search_recorder heard;
                auto const begun =
                    run(g, cost::erase(nervous),
                        {.budget = {40}, .split = split, .fold = false, .trace = &heard, .stop = source.get_token()});
                cancelled += begun.second.search.why == search::stop_reason::cancelled;
                optimize_options options{.budget = {40}, .split = split, .fold = false};
                replays(g, cost::erase(calm), options, heard.log(), begun);
                options.resume = &heard.log();
                same(run(g, cost::erase(calm), options), expected);
            }
        }
    CHECK(cancelled > 20);
}

TEST_CASE("what goes on from a log is verified as ever, and tells the rewrites by the names of the model") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const g = models::fire_module(1);
    search_recorder heard;
    auto const begun = run(g, model, {.verify = true, .trace = &heard});
    REQUIRE(begun.second.verification.equal);
    REQUIRE(begun.second.applied.size() > 1);
    for (auto const replay : {false, true}) {
        optimize_options options{.verify = true};
        (replay ? options.replay : options.resume) = &heard.log();
        auto const again = run(g, model, options);
        CHECK(again.first == begun.first);
        CHECK(again.second.verification.equal);
        CHECK(again.second.verification.rewrites_checked == begun.second.verification.rewrites_checked);
        for (std::size_t i = 0; i < begun.second.applied.size(); ++i) {
            CHECK(again.second.applied[i].rule == begun.second.applied[i].rule);
            CHECK(again.second.applied[i].site == begun.second.applied[i].site);
        }
    }
}

// The error that optimizing gives.
error refused(any_graph const& g, cost::any_cost const& model, optimize_options const& options) {
    auto const r = optimize(g, model, table_of<eval_row, standard_ops>(), options);
    REQUIRE_FALSE(r);
    return r.error();
}
bool tells(error const& e, std::string_view part) {
    return e.message().find(part) != std::string::npos;
}

TEST_CASE("a log of another search is refused, and what differs is named") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const g = models::fire_module(1);
    search_recorder heard;
    static_cast<void>(run(g, model, {.trace = &heard}));
    for (auto const replay : {false, true}) {
        optimize_options options;
        (replay ? options.replay : options.resume) = &heard.log();
        auto const of_another = refused(models::residual_module(1, 16, 7), model, options);
        CHECK(of_another.id() == errors::other_search);
        CHECK(tells(of_another, "another model"));
        auto const few = choose_rules(standard_rules(), "atomic").value();
        auto other_rules = options;
        other_rules.rules = few;
        CHECK(tells(refused(g, model, other_rules), "other rules"));
        auto other_bound = options;
        other_bound.admit = search::admission::parent;
        CHECK(tells(refused(g, model, other_bound), "other moves: \"one\""));
        auto short_queue = options;
        short_queue.queue = 10;
        CHECK(tells(refused(g, model, short_queue), "other moves: \"one\""));
        cost::flop_cost const flops;
        CHECK(tells(refused(g, cost::erase(flops), options), "counts costs in \"s\""));
        // Here splits cost nothing, for there are none.
        cost::roofline const copies{.splits = cost::split_lowering::copy};
        REQUIRE(copies(g) == machine(g));
        CHECK(tells(refused(g, cost::erase(copies), options), "another cost model"));
        cost::roofline const slow{.launch = 6e-6};
        auto const dear = refused(g, cost::erase(slow), options);
        CHECK(dear.id() == errors::other_search);
        CHECK(tells(dear, "in the trace and"));
        CHECK(tells(dear, "profile"));
    }
    // What was searched until the first cheaper graph says nothing of the rest, and the other way round.
    search_recorder first;
    static_cast<void>(run(g, model, {.admit = search::admission::first, .trace = &first}));
    for (auto const replay : {false, true}) {
        optimize_options options;
        (replay ? options.replay : options.resume) = &first.log();
        CHECK(tells(refused(g, model, options), "other moves: \"until-cheaper\" and not \"one\""));
        options.admit = search::admission::first, options.plateau = true;
        CHECK(tells(refused(g, model, options), "other moves: \"until-cheaper\" and not \"until-no-dearer\""));
        (replay ? options.replay : options.resume) = &heard.log();
        options.plateau = false;
        CHECK(tells(refused(g, model, options), "other moves: \"one\" and not \"until-cheaper\""));
    }
    search_log const empty;
    CHECK(refused(g, model, {.resume = &empty}).id() == errors::other_search);
    search_recorder listener;
    CHECK(refused(g, model, {.trace = &listener, .replay = &heard.log()}).id() == errors::search_setting);
    CHECK(refused(g, model, {.resume = &heard.log(), .replay = &heard.log()}).id() == errors::search_setting);
}

// All events of a search, kept.
struct tape : search_observer {
    struct entry {
        search_event e;
        std::string rule, site;
    };
    std::vector<entry> events;
    search_identity identity;
    void on_event(search_event const& e) override {
        if (e.of) identity = *e.of;
        events.push_back({e, std::string{e.rule}, std::string{e.site}});
    }
    // The log of the events after `change(event, number)`, which may change or, by giving false, drop them.
    template <class Change>
    search_log log(Change&& change) const {
        search_log out;
        for (std::size_t i = 0; i < events.size(); ++i) {
            auto e = events[i].e;
            e.rule = events[i].rule, e.site = events[i].site;
            if (e.of) e.of = &identity;
            if (change(e, i)) out.add(e);
        }
        return out;
    }
};

TEST_CASE("a log that lies is found out where its word would count") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const g = models::fire_module(1);
    tape heard;
    auto const told = run(g, model, {.trace = &heard});
    auto const& path = told.second.search.path;
    // The event of the best state: the last `admit` before the last improvement that has its cost.
    std::size_t best = heard.events.size();
    for (std::size_t i = 0; i < heard.events.size(); ++i)
        if (heard.events[i].e.what == kind::admit && heard.events[i].e.cost == path.back().cost &&
            best == heard.events.size())
            best = i;
    REQUIRE(best < heard.events.size());
    auto const outcome = [&](auto&& change, bool replay) {
        auto const log = heard.log([&](search_event& e, std::size_t i) {
            if (i == best) change(e);
            return true;
        });
        optimize_options options;
        (replay ? options.replay : options.resume) = &log;
        return refused(g, model, options);
    };
    for (bool const replay : {false, true}) {
        auto const other_graph = outcome([](search_event& e) { ++e.key.low; }, replay);
        CHECK(other_graph.id() == errors::damaged_trace);
        CHECK(tells(other_graph, fmt::format("rewrite {} from the start leads to another graph", path.size())));
        CHECK(tells(outcome([](search_event& e) { e.cost *= 0.75; }, replay), "leads to a cost of"));
        CHECK(tells(outcome([](search_event& e) { e.rule = "add_identity"; }, replay), "does not match"));
    }
    CHECK(tells(outcome([](search_event& e) { e.what = kind::known; }, true), "ends at a cost of"));
}

TEST_CASE("any beginning of a log is a search that was interrupted there") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    for (auto const& g : {any_graph{models::fire_module(1)}, any_graph{models::residual_chain(1, 16, 7, 2)}}) {
        optimize_options options{.budget = {25}, .split = 6, .fold = false};
        auto const expected = run(g, model, options);
        tape heard;
        options.trace = &heard;
        same(run(g, model, options), expected);
        options.trace = nullptr;
        for (std::size_t n = 1; n < heard.events.size(); n += 1 + n / 5) {
            CAPTURE(n);
            auto const log = heard.log([&](search_event const&, std::size_t i) { return i < n; });
            options.resume = &log, options.replay = nullptr;
            same(run(g, model, options), expected);
            options.resume = nullptr, options.replay = &log;
            CHECK(tells(refused(g, model, options), "ends before the search did"));
        }
    }
}

TEST_CASE("a replay in other parts says so") {
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const g = models::residual_chain(1, 16, 7, 3);
    search_recorder heard;
    static_cast<void>(run(g, model, {.split = 8, .trace = &heard}));
    for (std::size_t const split : {0u, 4u}) {
        auto const e = refused(g, model, {.split = split, .replay = &heard.log()});
        CHECK(e.id() == errors::damaged_trace);
        CHECK(tells(e, "begins with another graph"));
    }
}

TEST_CASE("events that cannot follow each other are refused") {
    search_identity const identity{{1, 2}, {3, 4}, {5, 6}, "s", 1, explored_moves::one_order};
    search_event const header{.what = kind::header, .cost = 1, .of = &identity};
    auto const event = [](kind what, std::uint64_t steps = 0, double cost = 1) {
        return search_event{.what = what, .steps = steps, .cost = cost};
    };
    auto const refuses = [](std::vector<search_event> const& events) {
        search_log log;
        for (std::size_t i = 0; i + 1 < events.size(); ++i) log.add(events[i]);
        CHECK_THROWS_AS(log.add(events.back()), error);
    };
    refuses({header, header});
    refuses({event(kind::begin), header});
    for (auto what : {kind::expand, kind::admit, kind::refuse, kind::known, kind::expanded, kind::improvement})
        refuses({header, event(what)});
    refuses({event(kind::begin), event(kind::expand, 1)});
    refuses({event(kind::begin), event(kind::expand), event(kind::expand, 1)});
    refuses({event(kind::begin), event(kind::expand), event(kind::expanded, 1)});
    refuses({event(kind::begin), event(kind::expand), event(kind::improvement)});
    refuses({event(kind::begin), event(kind::expand), event(kind::expanded), event(kind::known)});
    refuses({event(kind::begin), event(kind::expand), event(kind::expanded), event(kind::expanded)});
    refuses({event(kind::stop), event(kind::begin)});
    for (double const cost : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        refuses({event(kind::begin, 0, cost)});
}

TEST_CASE("a log keeps whole expansions, the first of each way, and says where each search stands") {
    search_log log;
    auto const tell = [&](kind what, std::uint64_t steps, hash128 path = {}, std::uint64_t move = 0) {
        search_event e{
            .what = what, .steps = steps, .cost = 2, .rule = "r", .site = "there", .path = path, .move = move};
        log.add(e);
    };
    CHECK(log.identity() == nullptr);
    tell(kind::begin, 0, {1, 1});
    tell(kind::expand, 0, {1, 1});
    tell(kind::admit, 0, {}, 7);
    tell(kind::known, 0, {}, 8);
    tell(kind::expanded, 0);
    tell(kind::admit, 0, {}, 9); // under a larger alpha
    tell(kind::expand, 1, {2, 2});
    tell(kind::refuse, 1);
    tell(kind::begin, 0, {1, 1}); // the one before was interrupted
    tell(kind::expand, 0, {1, 1});
    tell(kind::expanded, 0);
    tell(kind::stop, 2);
    REQUIRE(log.sections().size() == 2);
    CHECK(log.sections()[0].count == 1);
    CHECK(log.sections()[1].count == 1);
    CHECK(log.find({2, 2}) == nullptr);
    auto const* e = log.find({1, 1});
    REQUIRE(e);
    auto const next = log.successors(*e);
    REQUIRE(next.size() == 2);
    CHECK(next[0].move == 7);
    CHECK(next[1].fate == kind::known);
    CHECK(log.rule(next[1]) == "r");
    CHECK(log.site(next[1]) == "there");
    CHECK(log.successors(log.expansions(log.sections()[1])[0]).empty());
    CHECK(log.end().recorded);
    CHECK(log.end().expanded == 2);
    CHECK(extend_path({1, 1}, 7) != extend_path({1, 1}, 8));
    CHECK(extend_path({1, 1}, 7) != extend_path({2, 1}, 7));
    search_replay replay{log};
    CHECK(replay.next({1, 1}).first == 0);
    CHECK(replay.next({1, 1}).first == 1);
    CHECK_FALSE(replay.more());
    CHECK_THROWS_AS(replay.next({1, 1}), error);
}

} // namespace search_log_test
