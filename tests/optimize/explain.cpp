#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>

namespace explain_test {

using namespace gsub;

cost::roofline const model;

rule_explanation explained(any_graph const& g, std::string_view rule, std::string_view node = {}) {
    return explain_rule(g, cost::erase(model), *find_rule(standard_rules(), rule).value(), {.node = node}).value();
}
bool has(std::string const& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// relu(conv(x)) with the parts named, and a tanh of the convolution where it is shared.
graph conv_relu(bool shared) {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {1, 2, 4, 4}, "x");
    auto const c = b.add<ops::conv>({{.strides = {1, 1}, .pads = {0, 0, 0, 0}, .dilations = {1, 1}}},
                                    {x, b.constant(tensor::zeros(dtype::f32, ints{3, 2, 1, 1}))});
    g.set_source(c.node, "conv");
    auto const r = b.add<ops::relu>(c);
    g.set_source(r.node, "act");
    if (!shared) return b.outputs({r}), g;
    auto const t = b.add<ops::tanh>(c);
    g.set_source(t.node, "squash");
    return b.outputs({r, t}), g;
}

TEST_CASE("a rule that applies tells the cost of the graph with the rewrite made") {
    auto const e = explained(conv_relu(false), "fuse_conv_relu");
    REQUIRE(e.places.size() == 1);
    CHECK(e.places[0].outcome == rule_outcome::applies);
    CHECK(e.places[0].site == "act");
    REQUIRE(e.places[0].cost_after);
    CHECK(*e.places[0].cost_after < e.cost);
    CHECK(e.unit == "s");
    // The node inside of the pattern leads to the same place.
    auto const inside = explained(conv_relu(false), "fuse_conv_relu", "conv");
    REQUIRE(inside.places.size() == 1);
    CHECK(inside.places[0].outcome == rule_outcome::applies);
}

TEST_CASE("a rewrite that shares its inside is refused, naming the other reader") {
    auto const e = explained(conv_relu(true), "fuse_conv_relu");
    REQUIRE(e.places.size() == 1);
    CHECK(e.places[0].outcome == rule_outcome::refused);
    CHECK(has(e.places[0].reason, "\"conv\""));
    CHECK(has(e.places[0].reason, "Tanh \"squash\""));
    CHECK_FALSE(e.places[0].cost_after);
}

TEST_CASE("a mismatch names what was found and what the pattern wants") {
    graph g;
    graph_builder b{g};
    auto const t = b.add<ops::tanh>(b.input(dtype::f32, {1, 2, 4, 4}, "x"));
    g.set_source(t.node, "squash");
    auto const r = b.add<ops::relu>(t);
    g.set_source(r.node, "act");
    b.outputs({r});
    auto const e = explained(g, "fuse_conv_relu");
    REQUIRE(e.places.size() == 1);
    CHECK(e.places[0].outcome == rule_outcome::no_match);
    CHECK(e.places[0].reason == "operand 0 of Relu \"act\" is Tanh \"squash\", the pattern wants Conv");
    CHECK(e.places[0].kind == "found Tanh where the pattern wants Conv");
    // A node that no part of the pattern can be, and a convolution read by something else.
    CHECK(has(explained(g, "fuse_conv_relu", "squash").places[0].reason, "no part of the pattern"));
    auto h = conv_relu(false);
    auto const miss = explained(h, "fuse_conv_bn", "conv");
    REQUIRE(miss.places.size() == 1);
    CHECK(miss.places[0].reason == "the reader of Conv \"conv\" is Relu \"act\", the pattern wants BatchNormalization");
}

TEST_CASE("a condition that fails is told with its sentence") {
    std::size_t failing = 0;
    for (auto const& g : {models::grouped_siblings(1, 2), models::sibling_products(1, true),
                          models::residual_conv(1, true), models::biased_pointwise(1, 1), models::low_rank(1, 8)})
        for (auto const& rule : standard_rules()) {
            auto const e = explained(g, rule.name);
            for (auto const& p : e.places) {
                CHECK((p.outcome == rule_outcome::applies) == p.reason.empty());
                if (p.outcome != rule_outcome::condition_fails && p.outcome != rule_outcome::hint_fails) continue;
                ++failing;
                auto const list = p.outcome == rule_outcome::condition_fails ? rule.where : rule.prefer;
                auto known = false;
                for (auto const& c : list) known |= p.kind == c.sentence;
                CHECK(known);
            }
        }
    CHECK(failing > 0);
}

TEST_CASE("explanations agree with the matcher: every anchor has a match or a reason") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 25);
        g.order_canonically();
        canonicalize(g);
        for (auto const& rule : standard_rules()) {
            std::size_t found = 0;
            auto const e = explained(g, rule.name);
            for (auto n : g.order())
                if (n != g.return_node() && !g.constant(n)) find_matches_at(g, rule, n, [&](match const&) { ++found; });
            CHECK(e.count(rule_outcome::applies) + e.count(rule_outcome::refused) == found);
            for (auto const& p : e.places)
                if (p.outcome == rule_outcome::no_match) CHECK_FALSE(p.reason.empty());
        }
    }
}

TEST_CASE("names that do not exist are usage errors that tell the nearest") {
    auto const rule = find_rule(standard_rules(), "fuse_conv_rellu");
    REQUIRE_FALSE(rule);
    CHECK(rule.error().id() == errors::unknown_rule);
    CHECK(has(rule.error().message(), "\"fuse_conv_relu\""));
    auto const e = explain_rule(conv_relu(false), cost::erase(model),
                                *find_rule(standard_rules(), "fuse_conv_relu").value(), {.node = "convv"});
    REQUIRE_FALSE(e);
    CHECK(e.error().code() == error_code::usage);
    CHECK(has(e.error().message(), "\"conv\""));
}

TEST_CASE("a node that canonicalization takes away is told as such") {
    graph g;
    graph_builder b{g};
    auto const d = b.add<ops::dropout>(b.add<ops::relu>(b.input(dtype::f32, {4}, "x")));
    g.set_source(d.node, "drop");
    b.outputs({b.add<ops::tanh>(d)});
    auto const e = explained(g, "fuse_conv_relu", "drop");
    REQUIRE(e.places.size() == 1);
    CHECK(has(e.places[0].reason, "canonicalization"));
}

} // namespace explain_test
