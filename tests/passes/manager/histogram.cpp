#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/passes/manager/histogram.hpp>

#include <map>

namespace histogram_test {

using namespace gsub;

graph dead_relu() {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    b.input(dtype::f32, {2}, "unread");
    auto const w = b.add<ops::relu>(b.constant(tensor::zeros(dtype::f32, ints{2})));
    b.add<ops::relu>(b.add<ops::tanh>(x));
    b.outputs({b.add<ops::add>(x, w)});
    return g;
}

TEST_CASE("a histogram counts what a walk over the graph counts") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        graph g;
        random_graph::generator make{g, seed};
        make.grow(25);
        make.finish();
        std::map<op_id, std::size_t> expected;
        for (auto n : g.order()) ++expected[g.op(n).id];
        auto const h = histogram_of(g);
        CHECK(h.entries.size() == expected.size());
        for (auto const& [op, count] : expected) CHECK(h.count(op) == count);
        CHECK(h.nodes == g.size());
        CHECK(h.unread == 0);
    }
}

TEST_CASE("operators that are not there count zero, several add up") {
    auto const h = histogram_of(dead_relu());
    CHECK(h.count<ops::relu>() == 2);
    CHECK(h.count<ops::relu, ops::tanh, ops::conv>() == 3);
    CHECK(h.count<ops::conv>() == 0);
    CHECK(h.any_of<ops::conv, ops::add>());
    CHECK_FALSE(h.any_of<ops::conv, ops::mat_mul>());
    CHECK_FALSE(op_histogram{}.any_of<ops::add>());
}

TEST_CASE("nodes and inputs that nothing reads, and weight arithmetic, are told") {
    auto const h = histogram_of(dead_relu());
    CHECK(h.unread == 1);
    CHECK(h.unread_inputs == 1);
    CHECK(h.weights == 1);
}

TEST_CASE("functions that a pass does not see are not counted, but their number is") {
    gsub::module m;
    m.add("main", dead_relu());
    m.add("kernel", dead_relu(), {.primitive = true});
    m.add("foreign", dead_relu(), {.compiler = "somebody"});
    CHECK(histogram_of(m).count<ops::relu>() == 2);
    CHECK(histogram_of(m, {.enters_primitive = true}).count<ops::relu>() == 4);
    CHECK(histogram_of(m).functions == 3);
    CHECK(histogram_of(gsub::module{}) == op_histogram{});
}

} // namespace histogram_test
