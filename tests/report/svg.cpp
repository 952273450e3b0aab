#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "report/well_formed.hpp"
#include <gsub/core/quoted.hpp>
#include <gsub/report/svg.hpp>

namespace svg_test {

using namespace gsub;
using report::to_svg;
using well_formed::count;
using well_formed::problem_of;

TEST_CASE("a picture is well-formed and has a box for each node and output, constants left out") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 25);
        std::size_t boxes = g.output_count(), lines = g.output_count();
        for (auto n : g.order()) {
            if (n == g.return_node() || g.constant(n)) continue;
            ++boxes;
            for (auto v : g.operands(n)) lines += v.valid() && !g.constant(v);
        }
        for (std::size_t i = 0; i < g.output_count(); ++i) lines -= g.constant(g.output(i));
        auto const text = to_svg(g).value();
        CHECK(problem_of(text) == "");
        CHECK(count(text, "<g class=\"b ") == boxes);
        CHECK(count(text, "<path class=\"w\"") == lines);
        CHECK(to_svg(g).value() == text);
    }
}

TEST_CASE("a box tells operator with kernel, shape, name, share, a mark points it out") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {1, 3, 8, 8}, "image");
    auto const w = b.constant(tensor::zeros(dtype::f32, ints{4, 3, 3, 3}));
    auto const y =
        b.add<ops::conv>({{.strides = {2, 2}, .pads = {1, 1, 1, 1}, .dilations = {1, 1}}, 1, activation::relu}, {x, w});
    g.set_source(y.node, "stem");
    b.outputs({y}, {"logits"});
    CHECK(report::caption(g, y.node) == "Conv 3\xc3\x97"
                                        "3/2 + relu");
    std::vector<double> share(g.capacity(), 0);
    std::vector<bool> marked(g.capacity(), false);
    share[y.node.index] = 0.25, marked[y.node.index] = true;
    auto const text = to_svg(g, {.share = share, .marked = marked, .mark = "new here"}).value();
    for (auto const* part : {"Conv 3\xc3\x97"
                             "3/2 + relu",
                             "1\xc3\x97"
                             "4\xc3\x97"
                             "4\xc3\x97"
                             "4",
                             "stem", "25.0 %", "new here", "image", "logits", "prefers-color-scheme"})
        CHECK(count(text, part) >= 1);
    CHECK(count(text, "sum new\"") == 1);
    auto const part_of_page = to_svg(g, {.alone = false}).value();
    CHECK(count(part_of_page, "<style>") == 0);
    CHECK(count(part_of_page, " %") == 0);
}

TEST_CASE("names from a model stay names") {
    for (auto const& name : well_formed::hostile_names()) {
        CAPTURE(name);
        graph g;
        auto const x = g.add_input(tensor_type{dtype::f32, {dim{symbol{name}}, 2}}, name);
        auto const type = g.type_of(x);
        auto const strange = g.add_opaque({.domain = name, .op_type = name}, tensor::zeros(dtype::u8, ints{1}),
                                          std::vector{x}, std::vector{type});
        g.set_source(strange, name);
        graph_builder b{g};
        b.outputs({b.add<ops::relu>(value_id{strange, 0})}, {name});
        auto const text = to_svg(g).value();
        CHECK(problem_of(text) == "");
        CHECK(count(text, "<script") == 0);
        CHECK(count(text, "<g class=\"b ") == 4);
    }
}

TEST_CASE("graphs that nobody could read are refused, the empty one is drawn") {
    auto const g = random_graph::make(1, 25);
    auto const refused = to_svg(g, {.max_boxes = 3});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == error_code::unsupported);
    CHECK(problem_of(to_svg(graph{}).value()) == "");
}

TEST_CASE("a graph has a counterpart of each of its own nodes, and none of those that another lacks") {
    graph g, h;
    for (auto* to : {&g, &h}) {
        graph_builder b{*to};
        auto const x = b.input(dtype::f32, {4}, "x");
        auto const y = b.add<ops::relu>(x);
        to->set_source(y.node, "first");
        auto const z = to == &g ? b.add<ops::tanh>(y) : b.add<ops::sigmoid>(y);
        to->set_source(z.node, "second");
        b.outputs({z});
    }
    for (auto missing : report::nodes_without_counterpart(g, g)) CHECK_FALSE(missing);
    auto const missing = report::nodes_without_counterpart(g, h);
    for (auto n : g.order()) CHECK(missing[n.index] == g.is<ops::tanh>(n));
}

} // namespace svg_test
