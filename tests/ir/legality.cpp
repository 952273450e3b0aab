#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/legality.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace legality_test {

using namespace gsub;

inline constexpr stage every_stage[] = {stage::imported, stage::canonical};

// The reasons of all violations, one a line.
std::string violations(any_graph const& g, stage at) {
    std::string text;
    for (auto const& p : check(g, at)) text += fmt::format("{}: {}\n", p.op, p.reason);
    return text;
}

bool reports(any_graph const& g, stage at, std::string_view words) {
    return violations(g, at).find(words) != std::string::npos;
}

template <class F>
graph built(F&& f) {
    graph g;
    graph_builder b{g};
    f(b, b.input(dtype::f32, {1, 4, 5, 5}, "x"));
    return g;
}

attributes_of<ops::conv> pointwise(activation act = activation::none) {
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.pads = {0, 0, 0, 0}, a.dilations = {1, 1}, a.act = act;
    return a;
}

TEST_CASE("graphs that the builder makes are legal where they are imported") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto const g = random_graph::make(seed, 25);
        // The generator fuses activations and uses the identity's kernel; nothing else may be found.
        for (auto const& p : check(g, stage::imported)) {
            CAPTURE(seed, to_string(p));
            CHECK((p.reason == "breaks the rule that no activation is fused into a convolution" ||
                   p.reason == "breaks the rule that no operator is internal"));
            CHECK(p.id == errors::illegal_graph);
            CHECK_FALSE(p.node.empty());
        }
    }
    for (auto at : every_stage) CHECK(check(graph{}, at).empty());
}

TEST_CASE("every rule of the table says in a sentence what it wants, at some stage") {
    std::set<std::string_view> sentences;
    for (auto const& rule : legality_rules()) {
        CHECK(sentences.insert(rule.sentence).second);
        CHECK(rule.stages != 0);
        CHECK(rule.stages < 16);
        CHECK(rule.holds != nullptr);
    }
    CHECK(legality_rules().size() >= 7);
}

TEST_CASE("an activation is fused after the import only") {
    auto const g = built([](graph_builder& b, value_id x) {
        auto const w = b.constant(tensor::zeros(dtype::f32, ints{2, 4, 1, 1}));
        b.outputs({b.add<ops::conv>(pointwise(activation::relu), {x, w})});
    });
    CHECK(violations(g, stage::imported) == "Conv: breaks the rule that no activation is fused into a convolution\n");
    CHECK(violations(g, stage::canonical).empty());
}

TEST_CASE("an internal operator does not come from a file") {
    auto const g = built([](graph_builder& b, value_id x) {
        auto const w = b.add<ops::dirac>({.shape = {4, 4, 1, 1}, .position = {0, 0}}, std::span<value_id const>{});
        b.outputs({b.add<ops::conv>(pointwise(), {x, w})});
    });
    CHECK(violations(g, stage::imported) == "Dirac: breaks the rule that no operator is internal\n");
    CHECK(violations(g, stage::canonical).empty());
}

TEST_CASE("identities, unread dropouts and short sums do not survive cleaning up") {
    auto const with_identity = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::identity>(x)}); });
    auto const with_dropout = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::dropout>(x)}); });
    auto const with_mask = built([](graph_builder& b, value_id x) {
        auto const y = b.add<ops::dropout>({}, {x}, 2);
        b.outputs({y, {y.node, 1}});
    });
    auto const with_unread_mask =
        built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::dropout>({}, {x}, 2)}); });
    auto const sum_of_two = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::sum>(x, x)}); });
    auto const sum_of_three = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::sum>(x, x, x)}); });
    for (auto at : every_stage) {
        if (at == stage::imported) continue;
        CHECK(violations(with_identity, at) == "Identity: breaks the rule that no node is the identity\n");
        CHECK(violations(with_dropout, at) == "Dropout: breaks the rule that no dropout whose mask is not read\n");
        CHECK(reports(with_unread_mask, at, "no dropout whose mask is not read"));
        CHECK(violations(with_mask, at).empty());
        CHECK(violations(sum_of_two, at) == "Sum: breaks the rule that no sum of fewer than three operands\n");
        CHECK(violations(sum_of_three, at).empty());
    }
    for (auto const* g : {&with_identity, &with_dropout, &with_mask, &with_unread_mask, &sum_of_two})
        CHECK(violations(*g, stage::imported).empty());
}

TEST_CASE("a node that nobody reads is reported once the graph is cleaned up") {
    auto const g = built([](graph_builder& b, value_id x) {
        b.add<ops::relu>(x);
        b.outputs({b.add<ops::tanh>(x)});
    });
    CHECK(violations(g, stage::imported).empty());
    CHECK(violations(g, stage::canonical) == "Relu: breaks the rule that every node but inputs is used\n");
    auto const unread_input = built([](graph_builder& b, value_id x) {
        b.input(dtype::f32, {1}, "unread"); // part of the signature
        b.outputs({b.add<ops::tanh>(x)});
    });
    CHECK(violations(unread_input, stage::canonical).empty());
}

TEST_CASE("an illegal graph behind a step is an error that names the step") {
    auto const g = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::identity>(x)}); });
    CHECK(verify_behind("import", g, stage::imported));
    auto const found = verify_behind("canonicalization", g, stage::canonical);
    REQUIRE_FALSE(found);
    CHECK(found.error().id() == errors::illegal_graph);
    auto const text = found.error().message();
    CAPTURE(text);
    CHECK(text.find("canonicalization left an illegal graph") != text.npos);
    CHECK(text.find("no node is the identity") != text.npos);
}

TEST_CASE("a wrong number of operands is found") {
    auto g = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::tanh>(x)}); });
    auto const x = g.operand(g.output(0).node, 0);
    type_id const t = g.type_of(x);
    auto const n = g.append_node(row_of<ops::add>(standard_ops{}), {}, 0, {&x, 1}, {&t, 1});
    value_id const y{n, 0};
    g.set_outputs({&y, 1});
    for (auto at : every_stage)
        CHECK(reports(g, at, "Add: breaks the rule that the number of operands is what the operator takes"));
}

TEST_CASE("a type that inference does not give is found") {
    auto g = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::tanh>(x)}); });
    auto const x = g.operand(g.output(0).node, 0);
    type_id const lie{tensor_type{dtype::f32, shape{dim{1}}}};
    auto const n = g.append_node(row_of<ops::relu>(standard_ops{}), {}, 0, {&x, 1}, {&lie, 1});
    value_id const y{n, 0};
    g.set_outputs({&y, 1});
    CHECK(reports(g, stage::imported, "Relu: result 0 has type f32[1], inference gives f32[1,4,5,5]"));
    // Less is no lie.
    type_id const vague{tensor_type{dtype::f32, shape{dim{}, dim{4}, dim{}, dim{}}}};
    auto const m = g.append_node(row_of<ops::relu>(standard_ops{}), {}, 0, {&x, 1}, {&vague, 1});
    value_id const z{m, 0};
    g.set_outputs({&z, 1});
    g.erase_dead();
    CHECK(violations(g, stage::canonical).empty());
}

TEST_CASE("an ill-typed node is found with the reason of inference") {
    auto g = built([](graph_builder& b, value_id x) { b.outputs({b.add<ops::tanh>(x)}); });
    auto const tanh = g.output(0).node;
    graph_builder b{g};
    auto const small = b.constant(tensor::zeros(dtype::f32, ints{3}));
    value_id const operands[] = {g.operand(tanh, 0), small};
    type_id const t = g.type_of(g.output(0));
    auto const n = g.append_node(row_of<ops::add>(standard_ops{}), {}, 0, operands, {&t, 1});
    value_id const y{n, 0};
    g.set_outputs({&y, 1});
    CHECK(reports(g, stage::imported, "Add: is ill-typed: f32[1,4,5,5] and f32[3] do not broadcast"));
}

TEST_CASE("an operand that stands behind its user is found") {
    auto g = built([](graph_builder& b, value_id x) {
        auto const y = b.add<ops::relu>(x);
        b.outputs({b.add<ops::tanh>(y), y});
    });
    graph_builder b{g};
    auto const late = b.add<ops::sigmoid>(g.output(1));
    auto const tanh = g.output(0).node;
    g.set_operand(tanh, 0, late); // the order is not yet restored
    CHECK(reports(g, stage::imported, "Tanh: operand 0 comes after the node"));
    REQUIRE(g.sort());
    CHECK(violations(g, stage::canonical).empty());
}

TEST_CASE("all violations of a graph are told together, each with its node") {
    auto const g = built([](graph_builder& b, value_id x) {
        auto const a = b.add<ops::identity>(x), c = b.add<ops::dropout>(a);
        b.add<ops::relu>(c);
        b.outputs({c});
        b.graph().set_source(a.node, "first");
        b.graph().set_source(c.node, "second");
    });
    auto const found = check(g, stage::canonical);
    REQUIRE(found.size() == 3);
    CHECK(found[0].node == "first");
    CHECK(found[1].node == "second");
    CHECK(error{found}.message().rfind("3 problems\n", 0) == 0);
}

} // namespace legality_test
