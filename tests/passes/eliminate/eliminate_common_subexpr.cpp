#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/eliminate/eliminate_common_subexpr.hpp>

#include <array>
#include <limits>

namespace eliminate_common_subexpr_test {

using namespace gsub;
using namespace pass_trial;
using cse = passes::eliminate_common_subexpr;

value_id relu_plus_one(net& n, value_id x) {
    return n.op<ops::add>(n.op<ops::relu>(x), n.number(1));
}

TEST_CASE("EliminateCommonSubexpr P1, P4: equal chains become one, with equal constants in nodes of their own") {
    net n;
    auto const x = n.input({2, 3});
    auto const g = n.after(cse{}, {n.op<ops::mul>(relu_plus_one(n, x), relu_plus_one(n, x))});
    CHECK(n.outcome.matches == 3);
    CHECK(g.size() == 6);
    auto const product = g.output(0).node;
    CHECK(g.operand(product, 0) == g.operand(product, 1));
}

TEST_CASE("EliminateCommonSubexpr P2: nodes that the predicate names stay apart") {
    net n;
    auto const x = n.input({2, 3});
    auto const no_add = cse{.skip = [](any_graph const& g, node_id at) { return g.is<ops::add>(at); }};
    auto const g = n.after(no_add, {n.op<ops::mul>(relu_plus_one(n, x), relu_plus_one(n, x))});
    CHECK(count<ops::relu>(g) == 1);
    CHECK(count<ops::add>(g) == 2);
}

TEST_CASE("EliminateCommonSubexpr P3: of an operator with several results each is one value") {
    net n;
    auto const x = n.input({4});
    auto const parts = [&] { return n.b.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {x}, 2).node; };
    auto const a = parts(), b = parts();
    auto const g = n.after(cse{}, {n.op<ops::add>(value_id{a, 1}, value_id{b, 1}), {b, 0}});
    CHECK(count<ops::split>(g) == 1);
    CHECK(g.operand(g.output(0).node, 0) == g.operand(g.output(0).node, 1));
}

TEST_CASE("EliminateCommonSubexpr P4: constants are compared by their bits and types") {
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    auto const pairs = [&](tensor const& a, tensor const& b) {
        net m;
        auto const y = m.input({2}, "y", a.element()), z = m.input({2}, "z", b.element());
        m.after(cse{}, {m.op<ops::add>(y, m.b.constant(a)), m.op<ops::mul>(z, m.b.constant(b))});
        return m.outcome.matches;
    };
    CHECK(pairs(tensor::scalar(nan), tensor::scalar(nan)) == 1);
    CHECK(pairs(tensor::scalar(0.0f), tensor::scalar(-0.0f)) == 0);
    CHECK(pairs(tensor::scalar<std::int32_t>(0), tensor::scalar(0.0f)) == 0);
    CHECK(pairs(tensor::from<float>({1}, {2}), tensor::scalar(2.0f)) == 0);
}

// P5: a tuple is the operands themselves: equal ones are equal whatever holds them.
TEST_CASE("EliminateCommonSubexpr P5: lists of operands are equal where all are") {
    net n;
    auto const x = n.input({2}), y = n.input({2}, "y");
    auto const join = [&](value_id a, value_id b) { return n.b.add<ops::concat>({.axis = 0}, {a, b}); };
    auto const g = n.after(cse{}, {n.op<ops::add>(join(x, y), join(x, y)), join(y, x)});
    CHECK(count<ops::concat>(g) == 2);
}

TEST_CASE("EliminateCommonSubexpr N1, N3: opaque nodes, which may be random, and calls stay apart") {
    net n;
    auto const x = n.input({2});
    auto const type = n.g.type_of(x);
    auto const random = [&] {
        auto const made = n.g.add_opaque({.domain = "", .op_type = "RandomNormalLike"},
                                         tensor::zeros(dtype::u8, ints{1}), {&x, 1}, {&type, 1});
        return value_id{made, 0};
    };
    CHECK(n.untouched(cse{}, {n.op<ops::add>(random(), random())}, false));
    gsub::module m;
    graph callee;
    graph_builder b{callee};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {2}, "x"))});
    m.add("f", callee);
    graph g;
    auto const y = g.add_input(tensor_type{dtype::f32, shape{2}}, "x");
    std::array const both{value_id{add_call(g, m, "f", {&y, 1}), 0}, value_id{add_call(g, m, "f", {&y, 1}), 0}};
    g.set_outputs(both);
    m.add("main", g);
    CHECK_FALSE(run(cse{}, m).changed);
}

TEST_CASE("EliminateCommonSubexpr N2: operators without operands stay apart") {
    net n;
    auto const ones = [&] { return n.b.add<ops::fill>({.shape = {2}, .value = 1}, {}); };
    auto const x = n.input({2});
    CHECK(n.untouched(cse{}, {n.op<ops::add>(n.op<ops::mul>(x, ones()), ones())}));
}

TEST_CASE("EliminateCommonSubexpr N4: other attributes are another value") {
    net n;
    auto const x = n.input({2, 3});
    auto const high = [&](double max) { return n.b.add<ops::clip>({.min = 0, .max = max}, {x}); };
    CHECK(n.untouched(cse{}, {n.op<ops::add>(high(1), high(6))}));
}

TEST_CASE("EliminateCommonSubexpr N5: two addends count unordered, three do not, for rounding depends on their order") {
    net n;
    auto const x = n.input({8}), y = n.input({8}, "y"), z = n.input({8}, "z");
    auto const g = n.after(cse{}, {n.op<ops::sub>(n.op<ops::add>(x, y), n.op<ops::add>(y, x)),
                                   n.op<ops::sub>(n.op<ops::sum>(x, y, z), n.op<ops::sum>(z, y, x)),
                                   n.op<ops::sub>(x, y), n.op<ops::sub>(y, x)});
    CHECK(count<ops::add>(g) == 1);
    CHECK(count<ops::sum>(g) == 2);
    CHECK(count<ops::sub>(g) == 4);
}

TEST_CASE("EliminateCommonSubexpr N6: branches share nothing with each other nor with what is around them") {
    gsub::module m;
    graph branch;
    graph_builder b{branch};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {2}, "x"))});
    m.add("yes", branch), m.add("no", branch);
    graph g;
    graph_builder outer{g};
    auto const c = outer.input(dtype::boolean, shape{}, "c"), x = outer.input(dtype::f32, {2}, "x");
    auto const chosen = [&] { return value_id{add_if(g, m, c, "yes", "no", {&x, 1}), 0}; };
    outer.outputs({chosen(), chosen(), outer.add<ops::relu>(x)});
    m.add("main", g);
    CHECK_FALSE(run(cse{}, m, false).changed);
}

TEST_CASE("EliminateCommonSubexpr: no bit of a random graph changes, and no two nodes are equal afterwards") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 40));
        run(cse{}, m, true, seed + 1);
    }
}

TEST_CASE("EliminateCommonSubexpr: a long chain written twice is one") {
    net n;
    auto a = n.input({2}), b = a;
    for (int i = 0; i < 50000; ++i) a = n.op<ops::tanh>(a), b = n.op<ops::tanh>(b);
    n.g.set_outputs(std::vector{a, b});
    auto m = module_of(n.g);
    CHECK(run_pass(cse{}, m).value().matches == 50000);
}

TEST_CASE("EliminateCommonSubexpr finds nothing in ResNet-50, equal weights alone in others as built here") {
    auto const of = [](any_graph g) {
        auto m = module_of(std::move(g));
        auto const before = m.find("main")->body.size(), constants = count<ops::constant>(m.find("main")->body);
        run(cse{}, m, false);
        auto const& body = m.find("main")->body;
        CHECK(before - body.size() == constants - count<ops::constant>(body));
        return before - body.size();
    };
    CHECK(of(models::resnet50({.image = 32})) == 0);
    // In the export, bounds of Clip are 68 equal constants; here they are attributes.
    CHECK(of(models::mobilenet_v2({.image = 32})) == 0);
    // In the export, every layer computes shapes anew; here they are known.
    CHECK(of(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50})) == 0);
}

} // namespace eliminate_common_subexpr_test
