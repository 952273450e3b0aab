// A graph made by hand: types are inferred on the way, equal graphs are equal, the text form is exact.
#include "require.hpp"
#include <gsub/eval.hpp>
#include <gsub/ir.hpp>

#include <array>
#include <cmath>
#include <iostream>

namespace {

// y = softmax(relu(x w) v)
gsub::graph two_layers() {
    gsub::graph g;
    gsub::graph_builder b{g};
    auto const batch = gsub::dim{gsub::symbol{"batch"}}; // a size that is named and not known
    auto const x = b.input(gsub::dtype::f32, {batch, 3}, "x");
    auto const w = b.constant(gsub::tensor::from<float>({3, 2}, {1, 0, 0, 1, -1, -1}), "w");
    auto const v = b.constant(gsub::tensor::from<float>({2, 2}, {1, -1, -1, 1}), "v");
    auto const hidden = b.add<gsub::ops::relu>(b.add<gsub::ops::mat_mul>(x, w));
    b.outputs({b.add<gsub::ops::softmax>({.axis = -1}, {b.add<gsub::ops::mat_mul>(hidden, v)})}, {"y"});
    return g;
}

void types_are_inferred() {
    auto const g = two_layers();
    require(to_string(g.type(g.output(0))) == "f32[batch,2]", "the named size passes through to the output");

    gsub::graph other;
    gsub::graph_builder b{other};
    auto const x = b.input(gsub::dtype::f32, {4, 3}, "x"), y = b.input(gsub::dtype::f32, {4, 3}, "y");
    auto const wrong = gsub::capture([&] { return b.add<gsub::ops::mat_mul>(x, y); });
    require(!wrong && wrong.error().code() == gsub::error_code::invalid_input, "an ill-typed node is refused");
    std::cout << wrong.error().message() << '\n';
}

void equality_is_structural() {
    auto const g = two_layers();
    auto copy = g; // four memory copies; weights are shared
    require(copy == g && two_layers() == g, "graphs of one structure are equal");
    copy.set_outputs(std::array{copy.operand(copy.output(0).node, 0)});
    copy.erase_dead();
    require(!(copy == g), "a graph without its last node is another one");
}

void text_is_exact() {
    auto const g = two_layers();
    auto const text = to_text(g);
    std::cout << text;
    require(gsub::parse_graph<gsub::standard_ops>(text).value() == g, "printing and parsing give the same graph");
}

void graphs_can_be_computed() {
    auto const x = gsub::tensor::from<float>({1, 3}, {2, 1, 0});
    auto const y = gsub::evaluate_graph(two_layers(), std::array{x}).value().at(0);
    std::cout << y << '\n';
    auto const p = y.data<float>();
    require(p[0] > p[1] && std::abs(p[0] + p[1] - 1) < 1e-6f, "the larger logit has the larger share");
}

} // namespace

int main() {
    types_are_inferred();
    equality_is_structural();
    text_is_exact();
    graphs_can_be_computed();
}
