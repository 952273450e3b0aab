#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "optimize/prepared_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/models/inception.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/graph_parts.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace graph_parts_test {

using namespace gsub;
using namespace prepared_graph;

// Convex parts in order, each node once, none of the kinds that stay, no part larger than the bound.
void are_parts(any_graph const& g, graph_parts const& s, std::size_t bound) {
    std::vector<std::size_t> part(g.capacity(), 0); // from 1 on
    std::size_t placed = 0;
    for (std::size_t i = 0; i < s.parts.size(); ++i) {
        std::size_t kernels = 0;
        CHECK_FALSE(s.parts[i].empty());
        for (auto n : s.parts[i]) {
            CHECK(part[n.index] == 0);
            CHECK_FALSE((g.constant(n) || g.is<ops::input>(n) || g.is<ops::opaque>(n) || n == g.return_node()));
            part[n.index] = i + 1;
            kernels += cost::is_executed(g, n);
            ++placed;
        }
        CHECK(kernels <= bound);
    }
    for (auto n : g.order())
        placed += g.constant(n) || g.is<ops::input>(n) || g.is<ops::opaque>(n) || n == g.return_node();
    CHECK(placed == g.size());
    std::vector<std::size_t> latest(g.capacity(), 0); // part that a value comes from at the latest, however far back
    for (auto n : g.order()) {
        for (auto v : g.operands(n))
            if (v.valid()) latest[n.index] = std::max(latest[n.index], latest[v.node.index]);
        if (part[n.index] == 0) continue;
        CHECK(latest[n.index] <= part[n.index]);
        latest[n.index] = part[n.index];
    }
}

} // namespace graph_parts_test

TEST_CASE("parts of a graph are convex, in order, and small enough") {
    using namespace graph_parts_test;
    auto const chosen = chosen_rules("all");
    rule_index const index{chosen};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const g = prepared(random_graph::make(seed, 40));
        for (std::size_t const bound : {1u, 3u, 9u}) are_parts(g, split_graph(g, index, bound), bound);
    }
    auto const g = prepared(models::inception_v3({.image = 75}));
    auto const first = split_graph(g, index, 24);
    are_parts(g, first, 24);
    // Cut again so that no cut is where one was.
    std::vector<std::uint32_t> piece(g.capacity(), 0);
    for (std::size_t i = 0; i < first.parts.size(); ++i)
        for (auto n : first.parts[i]) piece[n.index] = static_cast<std::uint32_t>(i + 1);
    auto const second = split_graph(g, index, 24, {}, piece);
    are_parts(g, second, 24);
    std::size_t same = 0;
    for (auto const& part : second.parts) same += std::count(first.parts.begin(), first.parts.end(), part) > 0;
    CHECK(same == 0);
}

TEST_CASE("a cut avoids what a cost model groups") {
    using namespace graph_parts_test;
    std::vector<rule_program> const none;
    rule_index const index{none};
    graph g;
    graph_builder b{g};
    auto last = b.input(dtype::f32, {64}, "x");
    std::vector<value_id> chain;
    for (int i = 0; i < 6; ++i) chain.push_back(last = i % 2 ? b.add<ops::tanh>(last) : b.add<ops::sigmoid>(last));
    b.outputs({last});
    for (std::size_t const first :
         {1u, 2u, 3u}) { // the place of the first border between groups of `first` and the rest
        std::vector<std::uint32_t> group(g.capacity(), cost::no_group);
        for (std::size_t i = 0; i < chain.size(); ++i) group[chain[i].node.index] = i < first ? 0 : 1;
        auto const parts = split_graph(g, index, 5, group).parts;
        REQUIRE(parts.size() == 2);
        CHECK(parts[0].size() == first);
    }
}

TEST_CASE("a part as a graph computes what its nodes do in the whole") {
    using namespace graph_parts_test;
    auto const chosen = chosen_rules("all");
    rule_index const index{chosen};
    auto const g = prepared(models::fire_module(1));
    std::vector<node_id> all;
    for (auto n : g.order())
        if (!g.constant(n) && !g.is<ops::input>(n) && n != g.return_node()) all.push_back(n);
    CHECK(part_as_graph(g, all).hash() == g.hash());
    // One after the other, the parts of a chain compute what the chain does.
    auto const chain = prepared(models::residual_chain(1, 8, 7, 4));
    auto const whole = evaluate_graph(chain, table_of<eval_row, standard_ops>(), random_inputs(chain, 3)).value();
    std::map<value_id, tensor> known{{{chain.inputs()[0], 0}, random_inputs(chain, 3)[0]}};
    auto const parts = split_graph(chain, index, 5).parts;
    REQUIRE(parts.size() > 2);
    for (auto const& nodes : parts) {
        auto const part = part_as_graph(chain, nodes);
        std::set<node_id> inside(nodes.begin(), nodes.end());
        std::vector<value_id> read, written;
        for (auto n : nodes) {
            for (auto v : chain.operands(n))
                if (!chain.constant(v) && !inside.contains(v.node) && std::count(read.begin(), read.end(), v) == 0)
                    read.push_back(v);
            auto outside = false;
            chain.for_each_use({n, 0}, [&](use u) { outside |= !inside.contains(u.user); });
            if (outside) written.push_back({n, 0});
        }
        std::vector<tensor> inputs;
        for (auto v : read) inputs.push_back(known.at(v));
        auto const made = evaluate_graph(part, table_of<eval_row, standard_ops>(), inputs).value();
        REQUIRE(made.size() == written.size());
        for (std::size_t i = 0; i < made.size(); ++i) known[written[i]] = made[i];
    }
    CHECK(known.at(chain.output(0)).hash() == whole[0].hash());
}

TEST_CASE("unknown operators stay where they are, and no part reaches around them") {
    using namespace graph_parts_test;
    graph g;
    graph_builder b{g};
    auto last = b.input(dtype::f32, {1, 4, 8, 8}, "x");
    auto const conv = [&](value_id v, std::uint64_t seed) {
        auto k = tensor::uninitialized(dtype::f32, ints{4, 4, 3, 3});
        fill_random(k, random_stream{seed});
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
        return b.add<ops::relu>(b.add<ops::conv>(a, {v, b.constant(k)}));
    };
    for (std::uint64_t i = 0; i < 6; ++i) {
        auto const left = conv(last, 3 * i);
        auto const strange =
            g.add_opaque({.domain = "com.example", .op_type = "Strange"}, tensor::zeros(dtype::u8, ints{1}),
                         std::vector{left}, std::vector{g.type_of(left)});
        last = b.add<ops::add>(conv(left, 3 * i + 1), conv(value_id{strange, 0}, 3 * i + 2));
    }
    b.outputs({last});
    auto const chosen = chosen_rules("all");
    rule_index const index{chosen};
    auto const start = prepared(g);
    for (std::size_t const bound : {2u, 5u, 100u}) are_parts(start, split_graph(start, index, bound), bound);
    auto const whole = optimize(g, cost::roofline{}, {.split = 0}).value();
    auto const parts = optimize(g, cost::roofline{}, {.split = 6, .verify = true}).value();
    CHECK(parts.report.split.parts > 6);
    CHECK(parts.report.cost_after == Approx(whole.report.cost_after));
    CHECK(parts.report.verification.equal);
    std::size_t kept = 0;
    for (auto n : parts.order()) kept += parts.is<ops::opaque>(n);
    CHECK(kept == 6);
}
