#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/passes/normal_form/to_a_normal_form.hpp>
#include <gsub/passes/normal_form/to_graph_normal_form.hpp>

#include <string>

namespace a_normal_form_test {

using namespace gsub;
using pass_trial::count;
using pass_trial::module_of;
using pass_trial::net;
using passes::to_a_normal_form;
using passes::to_graph_normal_form;

// Every value that is read is read by one let alone.
void check_form(any_graph const& g) {
    for (auto n : g.order())
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            value_id const v{n, port};
            if (g.is<ops::input>(n) || g.is<ops::let>(n) || !g.used(v)) continue;
            CHECK(g.use_count(v) == 1);
            g.for_each_use(v, [&](use u) { CHECK(g.is<ops::let>(u.user)); });
        }
}

// x + y * z of three numbers, made in one of two orders.
any_graph sum_of_product(bool product_first) {
    net n;
    value_id x, y, z, p;
    if (product_first) {
        z = n.number(3), y = n.number(2), p = n.op<ops::mul>(y, z), x = n.number(1);
    } else {
        x = n.number(1), y = n.number(2), z = n.number(3), p = n.op<ops::mul>(y, z);
    }
    n.g.set_outputs({{n.op<ops::add>(x, p)}});
    return n.g;
}

TEST_CASE("ToANormalForm P1: x + y * z is five bindings in one order, whatever the order of construction") {
    auto first = module_of(sum_of_product(false)), second = module_of(sum_of_product(true));
    CHECK(pass_trial::run(to_a_normal_form{}, first).matches == 5);
    pass_trial::run(to_a_normal_form{}, second);
    CHECK(to_text(first) == to_text(second));
    CHECK(count<ops::let>(first.find("main")->body) == 5);
    check_form(first.find("main")->body);
}

TEST_CASE("ToANormalForm P2: a value that several read is bound once") {
    net n;
    auto const y = n.op<ops::relu>(n.input({3}));
    auto const g = n.after(to_a_normal_form{}, {n.op<ops::mul>(n.op<ops::tanh>(y), y), y});
    CHECK(count<ops::let>(g) == 3);
    check_form(g);
}

// P3, a value of one branch alone is bound inside of it: a branch is a function, so a value stands in the branch where
// it is computed and is never moved into it. What both branches take is an operand of the condition, computed before.
TEST_CASE("ToANormalForm P3: what branches take is bound once before the condition, what they compute inside of them") {
    for (bool const condition : {false, true}) {
        gsub::module m;
        for (auto const* name : {"yes", "no"}) {
            net branch;
            auto const x = branch.input({2});
            branch.g.set_outputs({{*name == 'y' ? branch.op<ops::relu>(x) : branch.op<ops::neg>(x)}});
            m.add(name, branch.g);
        }
        net n;
        auto const shared = n.op<ops::tanh>(n.input({2}));
        auto const p = n.b.input(dtype::boolean, {}, "p");
        n.g.set_outputs({{{add_if(n.g, m, p, "yes", "no", {{shared}}), 0}}});
        m.add("main", n.g);
        auto const before = m;
        CHECK(run_pass(to_a_normal_form{}, m).value().matches == 4);
        auto const inputs = std::vector{tensor::from<float>({2}, {-1, 2}), tensor::scalar(condition)};
        auto const table = table_of<eval_row, standard_ops>();
        CHECK(evaluate_module(m, table, inputs).value()[0].hash() ==
              evaluate_module(before, table, inputs).value()[0].hash());
        CHECK_FALSE(run_pass(to_a_normal_form{}, m).value().changed);
        static_cast<void>(run_pass(to_graph_normal_form{}, m).value());
        CHECK(m.hash().value() == before.hash().value());
    }
}

TEST_CASE("ToANormalForm P4: functions that call each other in a circle are bound without end of the world") {
    gsub::module m;
    for (auto const* callee : {"a", "main"}) {
        net n;
        auto const y = n.op<ops::relu>(n.input({2}));
        type_id const type = n.g.type_of(y);
        n.g.set_outputs(
            {{{n.g.append_node(structural::call, intern<ops::call>({.callee = callee}), 0, {&y, 1}, {&type, 1}), 0}}});
        m.add(*callee == 'a' ? "main" : "a", n.g);
    }
    CHECK(run_pass(to_a_normal_form{}, m).value().matches == 4);
    CHECK_FALSE(run_pass(to_a_normal_form{}, m).value().changed);
}

TEST_CASE("ToANormalForm P5: a let of a let, or of a parameter, is that itself") {
    net n;
    auto const x = n.op<ops::let>(n.op<ops::let>(n.input({2})));
    auto const y = n.op<ops::let>(n.op<ops::let>(n.op<ops::mul>(x, x)));
    auto const g = n.after(to_a_normal_form{}, {y});
    CHECK(count<ops::let>(g) == 1);
    check_form(g);
}

TEST_CASE("ToANormalForm N1, N2: what is in the form stays, and so do kernels and what others compile") {
    auto m = module_of(sum_of_product(true));
    m.add("kernel", sum_of_product(true), {.primitive = true});
    m.add("abroad", sum_of_product(true), {.compiler = "somebody"});
    auto const untouched = to_text(m.find("kernel")->body) + to_text(m.find("abroad")->body);
    CHECK(run_pass(to_a_normal_form{}, m).value().skips("opaque function") == 2);
    CHECK(to_text(m.find("kernel")->body) + to_text(m.find("abroad")->body) == untouched);
    auto const text = to_text(m);
    CHECK_FALSE(run_pass(to_a_normal_form{}, m).value().changed);
    CHECK(to_text(m) == text);
}

// N3, effects keep their order: no operator has any; random numbers are made outside of graphs.

TEST_CASE("the let form computes the same, survives as text, and goes back to an equal graph with the same names") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 10 + seed % 30);
        for (auto n : g.order())
            if (n != g.return_node() && n.index % 3 == 0) g.set_name({n, 0}, fmt::format("v{}", n.index));
        auto m = module_of(g);
        pass_trial::run(to_a_normal_form{}, m, true, seed);
        auto const& bound = m.find("main")->body;
        check_form(bound);
        CHECK(to_text(parse_graph(to_text(bound), g.operators()).value()) == to_text(bound));
        CHECK_FALSE(bound == g);
        pass_trial::run(to_graph_normal_form{}, m, true, seed);
        auto const& back = m.find("main")->body;
        CHECK(back == g);
        auto sorted = g;
        sorted.order_canonically();
        sorted.compact();
        CHECK(to_text(back) == to_text(sorted));
    }
}

TEST_CASE("sets of operators without let are told") {
    struct few : op_set<ops::relu> {};
    basic_graph<few> g;
    graph_builder b{g};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {2}, "x"))});
    auto m = module_of(g);
    CHECK(run_pass(to_a_normal_form{}, m).value().skips("the set of operators has no let") == 1);
}

TEST_CASE("deep graphs are bound and unbound in a moment, without recursion") {
    net n;
    auto v = n.input({2});
    for (int i = 0; i < 100000; ++i) v = n.op<ops::relu>(v);
    n.g.set_outputs({{v}});
    auto m = module_of(n.g);
    CHECK(run_pass(to_a_normal_form{}, m).value().matches == 100000);
    CHECK(run_pass(to_graph_normal_form{}, m).value().matches == 100000);
    CHECK(m.find("main")->body == n.g);
}

} // namespace a_normal_form_test
