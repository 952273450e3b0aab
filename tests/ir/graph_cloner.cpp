#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/text.hpp>

#include <vector>

namespace graph_cloner_test {

using namespace gsub;

// All of a graph in another, whose inputs are given.
any_graph copy_of(any_graph const& g, cloned_text text) {
    any_graph out{g.operators()};
    std::vector<value_id> inputs;
    for (auto n : g.inputs()) inputs.push_back(out.add_input(g.type_of({n, 0}), g.name({n, 0})));
    auto const outputs = graph_cloner{g, out, text}.clone_body(inputs);
    out.set_outputs(outputs, g.info().output_names);
    return out;
}

TEST_CASE("a copy of all nodes is the graph, with its elements shared") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        any_graph const g = random_graph::make(seed, 30);
        auto const copy = copy_of(g, cloned_text::names);
        CHECK(copy == g);
        for (std::size_t i = 0; i < g.order().size(); ++i) {
            auto const n = g.order()[i], m = copy.order()[i];
            if (g.is<ops::constant>(n)) CHECK(g.blob(n) == copy.blob(m));
        }
    }
}

TEST_CASE("names and sources are copied as far as they are asked for") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x"), y = b.add<ops::relu>(x);
    g.set_name(y, "y");
    g.set_source(y.node, "layer");
    b.outputs({y});
    auto const of = [&](cloned_text text) {
        auto const copy = copy_of(g, text);
        auto const v = copy.output(0);
        return std::pair{std::string{copy.name(v)}, copy.sources(v.node).size()};
    };
    CHECK(of(cloned_text::names) == std::pair{std::string{"y"}, std::size_t{1}});
    CHECK(of(cloned_text::sources) == std::pair{std::string{}, std::size_t{1}});
    CHECK(of(cloned_text::nothing) == std::pair{std::string{}, std::size_t{0}});
}

TEST_CASE("values stand for others, and copies have other operands, types and attributes where they are given") {
    graph g, out;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 6}, "x");
    auto const parts = b.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {x}, 2).node;
    auto const y = b.add<ops::transpose>({.perm = {1, 0}}, {value_id{parts, 1}});
    b.outputs({y});
    graph_cloner copies{g, out};
    CHECK_FALSE(copies.has(x));
    auto const in = copies.add_input(x);
    CHECK(copies(x) == in);
    CHECK(out.name(in) == "x");
    CHECK(copies(value_id{}) == value_id{});
    auto const split = copies.clone(parts);
    CHECK(copies({parts, 1}) == value_id{split, 1});
    auto const other = out.add_input(tensor_type{dtype::f32, ints{3, 7}}, "other");
    copies.stand({parts, 1}, other);
    type_id const type = tensor_type{dtype::f32, ints{7, 3}};
    auto const turned = copies.clone(y.node, copies.operands(y.node), {{&type, 1}, {}});
    CHECK(out.operand(turned, 0) == other);
    CHECK(out.type_of({turned, 0}) == type);
    auto const attributes = intern<ops::transpose>({.perm = {0, 1}});
    auto const same = out.type_of(other);
    auto const kept = copies.clone(y.node, copies.operands(y.node), {{&same, 1}, attributes});
    CHECK(out.attributes<ops::transpose>(kept).perm == ints{0, 1});
}

} // namespace graph_cloner_test
