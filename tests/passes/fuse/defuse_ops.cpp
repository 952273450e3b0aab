#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/inception.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <string>

namespace defuse_test {

using namespace gsub;
using pass_trial::count;
using pass_trial::module_of;
using pass_trial::net;
using passes::defuse_ops;
using passes::fuse_ops;

// A module of main, which calls one function with the same operand at every input.
gsub::module calling(any_graph const& callee, function_attributes const& attributes) {
    gsub::module m;
    m.add("f", callee, attributes);
    net n;
    auto const v = n.op<ops::tanh>(n.input({2}));
    std::vector<value_id> const operands(callee.inputs().size(), v);
    auto const call = add_call(n.g, m, "f", operands);
    std::vector<value_id> outputs;
    for (std::uint32_t port = 0; port < n.g.result_count(call); ++port) outputs.push_back({call, port});
    n.g.set_outputs(outputs);
    m.add("main", n.g);
    return m;
}

TEST_CASE("DefuseOps P1: add, tanh, squeeze fused and put back are as they were") {
    net n;
    auto const v =
        n.b.add<ops::squeeze>({.axes = {0}}, {n.op<ops::tanh>(n.op<ops::add>(n.input({1, 3}), n.number(1)))});
    n.g.set_outputs({{v}});
    auto m = module_of(n.g);
    static_cast<void>(run_pass(fuse_ops{}, m).value());
    CHECK(pass_trial::run(defuse_ops{}, m).matches == 1);
    CHECK(m.find("main")->body == n.g);
    CHECK(m.functions().size() == 1);
}

TEST_CASE("DefuseOps P2: a network of parallel branches likewise") {
    auto const g = models::inception_v3({.image = 75});
    auto m = module_of(g);
    static_cast<void>(run_pass(fuse_ops{}, m).value());
    CHECK(run_pass(defuse_ops{}, m).value().changed);
    CHECK(m.find("main")->body == g);
    CHECK(m.functions().size() == 1);
}

TEST_CASE("DefuseOps P3: functions of several results, and of results that are inputs or constants, are put back") {
    net f;
    auto const x = f.input({2}), y = f.op<ops::relu>(x);
    f.g.set_outputs({{y, x, y, f.number(4)}});
    auto m = calling(f.g, {.primitive = true});
    auto const before = m.inlined().value();
    CHECK(pass_trial::run(defuse_ops{}, m).matches == 1);
    CHECK(m.functions().size() == 1);
    CHECK(m.find("main")->body == before);
    CHECK(m.find("main")->body.output(1) == m.find("main")->body.operand(m.find("main")->body.output(0).node, 0));
}

TEST_CASE("DefuseOps N1: functions that are no kernels, or that others compile, stay") {
    net f;
    f.g.set_outputs({{f.op<ops::relu>(f.input({2}))}});
    for (auto const& attributes : {function_attributes{}, function_attributes{.composite_name = "relu"},
                                   function_attributes{.primitive = true, .compiler = "somebody"}}) {
        auto m = calling(f.g, attributes);
        CHECK_FALSE(pass_trial::run(defuse_ops{}, m).changed);
        CHECK(m.functions().size() == 2);
    }
}

TEST_CASE("DefuseOps N2: operands go to inputs by place, whatever their names") {
    net f;
    auto const a = f.input({2}, "same"), b = f.input({2}, "same");
    f.g.set_outputs({{f.op<ops::sub>(a, f.op<ops::neg>(b))}});
    gsub::module m;
    m.add("f", f.g, {.primitive = true});
    net n;
    auto const x = n.input({2}), y = n.input({2}, "y");
    n.g.set_outputs({{{add_call(n.g, m, "f", {{y, x}}), 0}}});
    m.add("main", n.g);
    pass_trial::run(defuse_ops{}, m);
    auto const& g = m.find("main")->body;
    CHECK(g.operand(g.output(0).node, 0).node == g.inputs()[1]);
}

TEST_CASE("DefuseOps: a module in which nothing is fused stays, and the pass says so beforehand") {
    net n;
    n.g.set_outputs({{n.op<ops::relu>(n.input({2}))}});
    auto m = module_of(n.g);
    CHECK_FALSE(defuse_ops::may_apply(histogram_of(m)));
    CHECK_FALSE(pass_trial::run(defuse_ops{}, m).changed);
}

TEST_CASE("DefuseOps: kernels called from kernels are inlined from the inside, and a circle of calls is refused") {
    auto const caller_of = [](std::string const& callee) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {2, 3}, "x"), y = b.add<ops::relu>(x);
        type_id const t = g.type_of(x);
        b.outputs({{g.append_node(structural::call, intern<ops::call>({.callee = callee}), 0, {&y, 1}, {&t, 1}), 0}});
        return any_graph{g};
    };
    gsub::module m;
    m.add("main", caller_of("a"));
    m.add("a", caller_of("b"), {.primitive = true});
    m.add("b", caller_of("c"), {.primitive = true});
    m.add("c", caller_of("abroad"), {.primitive = true});
    auto circle = m;
    circle.add("c", caller_of("a"), {.primitive = true});
    auto const r = run_pass(defuse_ops{}, circle);
    REQUIRE_FALSE(r);
    CHECK(r.error().message() == "pass defuse-ops: invalid input: call (node \"call_3\"): function \"c\" calls itself");
    CHECK(run_pass(defuse_ops{}, m).value().matches == 3);
    REQUIRE(m.functions().size() == 1);
    CHECK(m.find("main")->body.size() == 7); // input, four relus, the call abroad, results
}

} // namespace defuse_test
