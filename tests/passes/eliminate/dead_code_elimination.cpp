#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/passes/eliminate/dead_code_elimination.hpp>

namespace dead_code_test {

using namespace gsub;
using passes::dead_code_elimination;

gsub::module of(any_graph g) {
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

TEST_CASE("P1, P4: a long dead chain goes in one run, without recursion, inputs stay") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    b.input(dtype::f32, {2}, "unread");
    b.constant(tensor::zeros(dtype::f32, ints{2}));
    auto v = x;
    for (int i = 0; i < 200000; ++i) v = b.add<ops::relu>(v);
    b.outputs({b.add<ops::tanh>(x)});
    auto m = of(g);
    auto const outcome = run_pass(dead_code_elimination{}, m).value();
    CHECK(outcome.changed);
    CHECK(outcome.matches == 200001);
    CHECK(m.find("main")->body.size() == 4);
    CHECK(m.find("main")->body.inputs().size() == 2);
    CHECK_FALSE(run_pass(dead_code_elimination{}, m).value().changed);
}

TEST_CASE("N2: of an operator with several results one that is read keeps all") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x");
    auto const parts = b.add<ops::split>({.axis = 0, .sizes = {2, 2}}, {x}, 2);
    b.outputs({parts});
    auto m = of(g);
    CHECK_FALSE(run_pass(dead_code_elimination{}, m).value().changed);
}

TEST_CASE("after one run nothing is dead, outputs are as before, and the pass says that it has no effect") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        graph g;
        random_graph::generator make{g, seed};
        make.grow(30);
        make.finish();
        std::vector<value_id> some;
        for (std::size_t i = 0; i < g.output_count(); i += 2) some.push_back(g.output(i));
        g.set_outputs(some);
        auto m = of(g);
        auto const had = dead_code_elimination::may_apply(histogram_of(m));
        CHECK(run_pass(dead_code_elimination{}, m).value().changed == had);
        auto const& body = m.find("main")->body;
        CHECK_FALSE(dead_code_elimination::may_apply(histogram_of(m)));
        CHECK(body.output_count() == g.output_count());
        for (std::size_t i = 0; i < g.output_count(); ++i)
            CHECK(body.hash(body.output(i).node) == g.hash(g.output(i).node));
    }
}

} // namespace dead_code_test
