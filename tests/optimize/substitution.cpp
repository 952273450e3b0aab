#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "rewrite/small_graphs.hpp"
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/relative.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/substitution.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/search/backtracking.hpp>
#include <gsub/search/concepts.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace substitution_test {

using namespace gsub;
using state = substitution_problem::state;
static_assert(search::sized_problem<substitution_problem>);

std::vector<rule_program> rules(std::string_view list = "all") {
    return choose_rules(standard_rules(), list).value();
}
any_graph in_normal_form(any_graph g) {
    canonicalize(g);
    g.order_canonically();
    g.compact();
    return g;
}
std::vector<state> successors(substitution_problem& p, state const& s) {
    std::vector<state> out;
    p.expand(s, [&](state next) {
        out.push_back(std::move(next));
        return true;
    });
    return out;
}
// The test graphs, some random ones, and sums of many terms.
std::vector<any_graph> graphs() {
    std::vector<any_graph> out;
    for (auto const& entry : models::test_graph_entries) out.push_back(in_normal_form(entry.build(1)));
    for (std::uint64_t seed = 0; seed < 25; ++seed) out.push_back(in_normal_form(random_graph::make(seed, 25)));
    for (std::uint64_t seed = 0; seed < 8; ++seed) out.push_back(in_normal_form(small_graphs::sums_graph(seed, 6)));
    return out;
}

// Costs whole graphs alone.
struct whole_roofline {
    using unit = seconds;
    seconds operator()(any_graph const& g) const { return cost::roofline{}(g); }
};
struct bad_cost {
    using unit = joules;
    double cost;
    joules operator()(any_graph const& g, node_id n) const { return {g.is<ops::conv>(n) ? cost : 1}; }
    joules operator()(any_graph const&) const { return {1}; }
};

// A walk of random moves; f(problem, state) at each.
template <class F>
void walk(substitution_problem& p, std::uint64_t seed, int steps, F&& f) {
    random_stream r{seed};
    auto here = p.start();
    for (int i = 0; i < steps; ++i) {
        f(here);
        auto next = successors(p, here);
        if (next.empty()) return;
        here = next[r.below(next.size())];
    }
}

// Successors of a walk against the graphs that they stand for.
template <class Cost>
void check_walk(Cost const& machine) {
    auto const chosen = rules();
    rule_index const index{chosen};
    auto const model = cost::erase(machine);
    std::size_t seen = 0;
    for (auto const& g : graphs()) {
        substitution_problem p{g, model, index};
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
            walk(p, seed, 5, [&](state const& s) {
                auto const opened = p.materialize(s);
                CHECK(opened->graph.hash() == p.key(s));
                CHECK(opened->total == p.cost(s));
                // Exact in ticks, close in units: every node is rounded to 2^-40 of the start's cost.
                auto const sum = machine(opened->graph).amount;
                CHECK(std::abs(p.in_units(p.cost(s)) - sum) <= 1e-9 * machine(g).amount);
                auto const costs = cost::erase(machine).of_nodes(opened->graph);
                for (auto n : opened->graph.order())
                    CHECK(std::abs(p.in_units(opened->node_cost[n.index]) - costs[n.index]) <=
                          1e-11 * machine(g).amount);
                auto copy = opened->graph;
                copy.compact(); // forgets stored hashes
                CHECK(copy.hash() == p.key(s));
                CHECK(canonicalize(copy).total() == 0);
                ++seen;
            });
    }
    CHECK(seen > 300);
}

TEST_CASE("what a successor is said to be and to cost, it is and costs when it is opened") {
    check_walk(cost::roofline{});
}

TEST_CASE("the same where a node's cost depends on the kernel that it belongs to") {
    static_assert(grouping_cost_model<cost::fused_roofline>);
    check_walk(cost::fused_roofline{});
}

TEST_CASE("the same where kernels are predicted") {
    check_walk(cost::lowered::on(parse_target("x86-64-avx512,threads=1,l1=48K,l2=1M,l3=32M,cpu=zen4").value()));
}

// Kernels and single nodes weighed together: what the first groups, the second costs one by one.
struct mixed {
    using unit = joules;
    cost::fused_roofline kernels;
    cost::energy nodes;
    cost::any_cost mean = cost::relative_cost({{cost::erase(kernels), 2}, {cost::erase(nodes), 1}},
                                              in_normal_form(random_graph::make(1, 25)))
                              .value();
    unit operator()(any_graph const& g) const { return {mean.of_graph(g)}; }
    std::vector<cost::node_cost> node_costs(any_graph const& g) const { return mean.of_groups(g); }
    cost::grouped_costs remembered(any_graph const& g) const { return mean.remembered(g); }
    cost::grouped_costs remembered(any_graph const& g, void const* memory, changed_nodes const& changes) const {
        return mean.remembered_near(g, memory, changes);
    }
    std::vector<cost::node_cost> node_costs_near(any_graph const& g, void const* memory,
                                                 changed_nodes const& changes) const {
        return mean.of_groups_near(g, memory, changes);
    }
};
TEST_CASE("the same where costs of kernels and of nodes are weighed together") {
    static_assert(grouping_cost_model<mixed>);
    check_walk(mixed{});
}

TEST_CASE("several threads find the successors that one finds, in the same order") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    CHECK(model.concurrent);
    fork_join_executor threads{3};
    sharing_executor together{threads};
    std::size_t compared = 0;
    auto came = false; // all threads: where they are late, on a busy machine, a task has none of them
    auto const compare = [&] {
        using clock = std::chrono::steady_clock;
        for (auto const begin = clock::now(); together.concurrency() < 3;) {
            if (clock::now() - begin > std::chrono::milliseconds{100}) return;
            std::this_thread::yield();
        }
        came = true;
        for (auto const& g : graphs())
            for (auto const ordered : {explored_moves::every, explored_moves::one_order}) {
                substitution_problem alone{g, model, index, nullptr, ordered},
                    helped{g, model, index, &together, ordered}, path{g, model, index};
                walk(path, 2, 3, [&](state const& s) {
                    auto const expected = successors(alone, s), found = successors(helped, s);
                    REQUIRE(found.size() == expected.size());
                    for (std::size_t i = 0; i < found.size(); ++i, ++compared) {
                        CHECK(found[i].key == expected[i].key);
                        CHECK(found[i].cost == expected[i].cost);
                        CHECK(found[i].path == expected[i].path);
                        CHECK(helped.label(found[i]) == alone.label(expected[i]));
                    }
                });
                CHECK(alone.inapplicable() == helped.inapplicable());
                CHECK(alone.reordered() == helped.reordered());
            }
    };
    for (int attempt = 0; attempt < 100 && !came; ++attempt) together.run_here(compare);
    CHECK(compared > 1000);
}

TEST_CASE("a state's move is found again, and leads where the state says") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    std::size_t found = 0;
    for (auto const& g : graphs()) {
        substitution_problem p{g, model, index};
        walk(p, 2, 3, [&](state const& s) {
            for (auto const& next : successors(p, s)) {
                auto const m = p.move(next);
                CHECK(&m.rule() == next.rule);
                CHECK(m.site() == next.site);
                CHECK(&m.graph() == &next.parent->graph);
                CHECK(p.materialize(next)->graph.hash() == next.key);
                ++found;
            }
        });
    }
    CHECK(found > 500);
}

// The same search with moves in every order, and in one order where that does not matter.
template <class Cost>
void check_orders(Cost const& machine, std::vector<rule_program> const& chosen) {
    rule_index const index{chosen};
    auto const model = cost::erase(machine);
    std::uint64_t all = 0, reordered = 0;
    for (auto const& g : graphs())
        for (auto const plateau : {false, true}) {
            substitution_problem every{g, model, index}, one{g, model, index, nullptr, explored_moves::one_order};
            search::options const options{.alpha = 1.2, .plateau = plateau, .budget = 150};
            auto const expected = search::backtracking(every, every.start(), options);
            auto const found = search::backtracking(one, one.start(), options);
            CHECK(found.best.key == expected.best.key);
            CHECK(found.stats.path == expected.stats.path);
            CHECK(found.stats.history == expected.stats.history);
            CHECK(found.stats.expanded == expected.stats.expanded);
            CHECK(found.stats.distinct == expected.stats.distinct);
            CHECK(found.stats.refused == expected.stats.refused);
            CHECK(found.stats.generated + one.reordered() == expected.stats.generated);
            CHECK(found.stats.why == expected.stats.why);
            all += expected.stats.generated, reordered += one.reordered();
        }
    INFO(reordered << " of " << all);
    CHECK(static_cast<double>(reordered) > 0.01 * static_cast<double>(all));
}

TEST_CASE("moves that have nothing to do with each other are made in one order, and nothing is lost") {
    check_orders(cost::roofline{}, rules());
    check_orders(cost::roofline{}, rules("atomic"));
    check_orders(cost::fused_roofline{}, rules());
    check_orders(whole_roofline{}, rules());
}

TEST_CASE("a model that is not said to be safe for several threads is asked by one") {
    struct counting {
        using unit = seconds;
        mutable int asked = 0;
        seconds operator()(any_graph const&, node_id) const { return {static_cast<double>(++asked > 0)}; }
        seconds operator()(any_graph const& g) const { return cost::sum_over_nodes(*this, g); }
    };
    CHECK(!cost::erase(counting{}).concurrent);
    CHECK(!cost::erase(counting{}).of_groups);
}

TEST_CASE("successors are the graphs that applying each match gives") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::byte_cost const bytes_moved;
    auto const model = cost::erase(bytes_moved);
    for (auto const& g : graphs()) {
        substitution_problem p{g, model, index};
        std::vector<hash128> expected;
        std::uint64_t refused = 0;
        auto const start = p.materialize(p.start());
        find_matches(start->graph, index, [&](match const& m) {
            auto copy = start->graph;
            auto const patch = prepare(m);
            if (patch.failed() || !patch.apply_to(copy, shared_interior::refuse)) {
                ++refused;
                return;
            }
            canonicalize(copy);
            expected.push_back(copy.hash());
        });
        std::vector<hash128> found;
        for (auto const& s : successors(p, p.start())) found.push_back(p.key(s));
        CHECK(found == expected);
        CHECK(p.inapplicable() == refused);
    }
}

TEST_CASE("what is passed over because nothing near it has changed has no match") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    std::size_t seen = 0;
    for (auto const& g : graphs())
        for (std::uint64_t seed = 1; seed <= 4; ++seed) {
            substitution_problem p{g, model, index};
            walk(p, seed, 6, [&](state const& s) {
                // The same graph, with nothing known of it.
                auto fresh = s;
                fresh.parent_cache = nullptr;
                auto const expected = successors(p, fresh), found = successors(p, s);
                REQUIRE(found.size() == expected.size());
                for (std::size_t i = 0; i < found.size(); ++i, ++seen) {
                    CHECK(found[i].move_id == expected[i].move_id);
                    CHECK(found[i].key == expected[i].key);
                    CHECK(found[i].cost == expected[i].cost);
                }
            });
        }
    CHECK(seen > 1000);
}

TEST_CASE("the memory that states share is counted as long as one of them is there") {
    static_assert(search::sharing_problem<substitution_problem>);
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    for (auto const& g : graphs()) {
        substitution_problem p{g, model, index};
        CHECK(p.shared_bytes() == 0);
        auto first = successors(p, p.start());
        if (first.empty()) continue;
        auto const of_moves = p.shared_bytes();
        CHECK(of_moves >= first.size() * sizeof(substitution_problem::known_move));
        auto second = successors(p, first.front());
        if (!second.empty()) CHECK(p.shared_bytes() > of_moves + g.order().size() * sizeof(node_id));
        auto const both = p.shared_bytes();
        second.clear();
        CHECK(p.shared_bytes() <= both);
        first.clear();
        CHECK(p.shared_bytes() == 0);
    }
}

// How much memory a search held, before each expansion.
struct memory_watch : search::null_observer {
    substitution_problem const& problem;
    std::uint64_t most = 0;
    explicit memory_watch(substitution_problem const& p) : problem(p) {}
    void on_expand(std::uint64_t, double) { most = std::max(most, problem.shared_bytes()); }
};

TEST_CASE("a search is held to the memory that its states share") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const g = in_normal_form(models::find_model("squeezenet1_1")->build(1));
    search::options options{.alpha = 1.05, .budget = {100}};
    substitution_problem free{g, model, index}, held{g, model, index};
    memory_watch all{free}, some{held};
    auto const expected = search::backtracking(free, free.start(), options, all).stats;
    options.budget.bytes = all.most / 2;
    auto const found = search::backtracking(held, held.start(), options, some).stats;
    CHECK(found.why == search::stop_reason::memory);
    CHECK(found.expanded < expected.expanded);
    CHECK(some.most <= options.budget.bytes);
    CHECK(some.most > options.budget.bytes / 4); // and makes use of it; the states themselves count too
}

TEST_CASE("a model that is not additive costs whole graphs, to the same effect") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    whole_roofline const whole;
    auto const additive = cost::erase(machine), plain = cost::erase(whole);
    for (auto const& g : graphs()) {
        substitution_problem a{g, additive, index}, b{g, plain, index};
        auto const x = successors(a, a.start()), y = successors(b, b.start());
        REQUIRE(x.size() == y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            CHECK(a.key(x[i]) == b.key(y[i]));
            CHECK(std::abs(a.in_units(a.cost(x[i])) - b.in_units(b.cost(y[i]))) <= 1e-9 * machine(g).amount);
            CHECK(b.materialize(y[i])->total == b.cost(y[i]));
            CHECK(b.materialize(y[i])->node_cost.empty());
        }
    }
}

TEST_CASE("a state tells its rule and site, and how it was reached") {
    auto const chosen = rules("fuse_conv_relu");
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    substitution_problem p{in_normal_form(models::fire_module(1)), model, index};
    CHECK(p.label(p.start()).empty());
    auto const first = successors(p, p.start());
    REQUIRE(first.size() == 2);
    CHECK(p.label(first[0]) == "fuse_conv_relu(relu1)");
    CHECK(p.label(first[1]) == "fuse_conv_relu(relu3)");
    auto const second = successors(p, first[0]);
    REQUIRE(second.size() == 1);
    CHECK(p.label(second[0]) == p.label(first[1]));
    REQUIRE(second[0].before);
    CHECK(p.key(*second[0].before) == p.key(first[0]));
    CHECK(p.key(*second[0].before->before) == p.key(p.start()));
    CHECK(second[0].parent->graph.hash() == p.key(first[0]));
    // The order of independent rewrites does not matter.
    CHECK(p.key(second[0]) == p.key(successors(p, first[1])[0]));
    CHECK(p.bytes(first[0]) > 0);
}

TEST_CASE("an expansion stops when it is told to") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    substitution_problem p{in_normal_form(models::recurrent_cell(1)), model, index};
    auto const all = successors(p, p.start()).size();
    REQUIRE(all > 10);
    for (std::size_t limit : {std::size_t{1}, std::size_t{5}, all}) {
        std::size_t seen = 0;
        p.expand(p.start(), [&](state const&) { return ++seen < limit; });
        CHECK(seen == limit);
    }
}

TEST_CASE("opening a state changes no other") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::roofline const machine;
    auto const model = cost::erase(machine);
    auto const g = in_normal_form(models::inception_module(1));
    substitution_problem p{g, model, index};
    auto const start = p.start();
    for (auto const& s : successors(p, start)) {
        auto const once = p.materialize(s), twice = p.materialize(s);
        CHECK(once->graph.hash() == twice->graph.hash());
        CHECK_FALSE(once->graph.hash() == g.hash());
    }
    CHECK(p.materialize(start)->graph.hash() == g.hash());
}

TEST_CASE("a cost that is none is an error that names node and unit") {
    auto const chosen = rules();
    rule_index const index{chosen};
    auto const g = in_normal_form(models::fire_module(1));
    for (auto cost : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        bad_cost const model{cost};
        auto const erased = cost::erase(model);
        auto const r = capture([&] { substitution_problem{g, erased, index}; });
        REQUIRE_FALSE(r);
        CHECK(r.error().id() == errors::cost_value);
        CHECK(r.error().problems()[0].op == "Conv");
        CHECK(r.error().problems()[0].node == "expand1x1");
        CHECK(r.error().message().find(" J; costs are finite and >= 0") != std::string::npos);
    }
}

TEST_CASE("a graph that costs nothing is a problem too") {
    auto const chosen = rules();
    rule_index const index{chosen};
    cost::flop_cost const model_flop;
    auto const model = cost::erase(model_flop);
    substitution_problem p{in_normal_form(models::transposed_relu(1)), model, index};
    CHECK(p.in_units(p.cost(p.start())) == model_flop(p.materialize(p.start())->graph).amount);
    graph empty;
    substitution_problem none{empty, model, index};
    CHECK(none.cost(none.start()) == 0);
    CHECK(successors(none, none.start()).empty());
}

} // namespace substitution_test
