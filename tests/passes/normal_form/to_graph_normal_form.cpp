#include "catch.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/ir/text.hpp>
#include <gsub/passes/normal_form/to_graph_normal_form.hpp>

namespace graph_normal_form_test {

using namespace gsub;
using pass_trial::count;
using pass_trial::net;
using passes::to_graph_normal_form;

TEST_CASE("ToGraphNormalForm P1: let x = 1, let y = x + x, let z = y + y, z + z is three additions") {
    net n;
    auto const x = n.op<ops::let>(n.number(1)), y = n.op<ops::let>(n.op<ops::add>(x, x)),
               z = n.op<ops::let>(n.op<ops::add>(y, y));
    auto const g = n.after(to_graph_normal_form{}, {n.op<ops::add>(z, z)});
    CHECK(n.outcome.matches == 3);
    CHECK(count<ops::let>(g) == 0);
    CHECK(count<ops::add>(g) == 3);
    CHECK(g.size() == 5);
}

TEST_CASE("ToGraphNormalForm P2: a binding that nothing reads disappears with what it alone needs") {
    net n;
    auto const x = n.input({2});
    auto const shared = n.op<ops::tanh>(x);
    n.op<ops::let>(n.op<ops::relu>(n.op<ops::add>(shared, n.number(2))));
    auto const g = n.after(to_graph_normal_form{}, {shared});
    CHECK(g.size() == 3);
}

// P3, the way back from ToANormalForm, is a law of its tests.
// N1: a binding that reads itself has no form here: values are no functions, and nodes stand after their operands.

TEST_CASE("ToGraphNormalForm N2: a graph without let stays as it is, dead nodes and all") {
    net n;
    auto const x = n.input({2});
    n.op<ops::relu>(x);
    CHECK(n.untouched(to_graph_normal_form{}, {n.op<ops::tanh>(x)}));
    CHECK_FALSE(to_graph_normal_form::may_apply(histogram_of(n.g)));
}

TEST_CASE("names of bindings go to what they bind, where that has none") {
    net n;
    auto const inner = n.op<ops::relu>(n.input({2})), outer = n.op<ops::tanh>(inner);
    auto const a = n.op<ops::let>(outer);
    n.g.set_name(outer, "own");
    n.g.set_name(a, "binding");
    auto const b = n.op<ops::let>(n.op<ops::neg>(a));
    n.g.set_name(b, "result");
    auto const g = n.after(to_graph_normal_form{}, {b});
    CHECK(g.name(g.output(0)) == "result");
    CHECK(g.name(g.operand(g.output(0).node, 0)) == "own");
}

} // namespace graph_normal_form_test
