#include "catch.hpp"
#include "legal_graphs.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/lower/legalize.hpp>
#include <gsub/lower/lowering_rows.hpp>

#include <set>
#include <string>

namespace legalize_test {

using namespace gsub;

auto const rows = table_of<lowering_row, standard_ops>();

std::set<std::string> operators_of(any_graph const& g) {
    std::set<std::string> all;
    for (auto n : g.order()) all.insert(std::string{g.op(n).name});
    return all;
}

} // namespace legalize_test

TEST_CASE("what stands for operators computes what they compute, and stays as it is") {
    using namespace legalize_test;
    for (auto const& [name, g] : legal_graphs::all()) {
        INFO(name);
        auto legal = g;
        std::vector<std::uint32_t> within;
        legalize(legal, rows, within);
        CHECK(check(legal, stage{}).empty());
        auto const inputs = random_inputs(g, 1);
        auto const want = evaluate_graph(g, inputs).value(), got = evaluate_graph(legal, inputs).value();
        REQUIRE(got.size() == want.size());
        for (std::size_t i = 0; i < want.size(); ++i) {
            INFO("result " << i);
            auto const d = compare(got[i], want[i]).value();
            CHECK(d.same_specials);
            // Of halves: rounded once, or not at all in between.
            auto const half = want[i].element() == dtype::f16 || want[i].element() == dtype::bf16;
            CHECK(d.max_relative < (half ? 1e-2 : is_floating(want[i].element()) ? 1e-5 : 1e-12));
        }
        auto again = legal;
        CHECK_FALSE(legalize(again, rows, within));
    }
}

TEST_CASE("operators that no kernel computes are gone") {
    using namespace legalize_test;
    std::set<std::string> left;
    for (auto const& [name, g] : legal_graphs::all()) {
        if (name.starts_with("network")) continue; // normalised by constants
        auto legal = g;
        std::vector<std::uint32_t> within;
        legalize(legal, rows, within);
        for (auto const& op : operators_of(legal)) left.insert(op);
    }
    for (auto const* const gone : {"QuantizeLinear", "DequantizeLinear", "MatMulInteger", "QLinearMatMul", "GatherND",
                                   "BatchNormTraining", "BatchNormalization", "Dropout"}) {
        INFO(gone);
        CHECK_FALSE(left.contains(gone));
    }
}

TEST_CASE("arithmetic on halves goes on in f32 behind contractions") {
    using namespace legalize_test;
    for (auto const t : {dtype::f16, dtype::bf16}) {
        legal_graphs::graph_list l;
        l.add("network", [=](auto& list) { return legal_graphs::residual_network(list, t); });
        auto legal = l.take()[0].g;
        std::vector<std::uint32_t> within;
        REQUIRE(legalize(legal, rows, within));
        // What has the type: the input, and the two results, rounded once.
        std::size_t halves = 0;
        for (auto n : legal.order())
            if (n != legal.return_node() && legal.type({n, 0}).element == t && !legal.constant(n)) ++halves;
        CHECK(halves == 3);
        CHECK(operators_of(legal).contains("RoundTo"));
    }
}

TEST_CASE("the mean of all pixels is a pooling where a convolution gives the images, and elsewhere stays what it is") {
    using namespace legalize_test;
    for (auto const images : {true, false})
        for (auto const& axes : {ints{2, 3}, ints{-1, -2}, ints{1, 2}, ints{3}}) {
            graph g;
            graph_builder b{g};
            auto x = b.input(dtype::f32, {2, 3, 5, 4}, "x");
            attributes_of<ops::conv> pointwise;
            pointwise.strides = pointwise.dilations = {1, 1}, pointwise.pads = {0, 0, 0, 0};
            if (images) {
                auto const weights = b.constant(tensor::zeros(dtype::f32, ints{3, 3, 1, 1}));
                x = b.add<ops::relu>(b.add<ops::conv>(pointwise, {x, weights}));
            }
            b.outputs({b.add<ops::mul>(x, b.add<ops::reduce_mean>({.axes = axes, .keepdims = true}, {x}))});
            std::vector<std::uint32_t> within;
            auto const pooled = images && (axes == ints{2, 3} || axes == ints{-1, -2});
            CHECK(legalize(g, rows, within) == pooled);
            CHECK(operators_of(g).contains("GlobalAveragePool") == pooled);
            CHECK(check(g, stage{}).empty());
        }
}

TEST_CASE("a filter of a row by steps reads what lies side by side, where the step divides its taps") {
    using namespace legalize_test;
    for (std::int64_t const step : {1, 2, 5, 16}) {
        graph g;
        graph_builder b{g};
        attributes_of<ops::conv> a;
        a.strides = {1, step}, a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
        auto const x = b.input(dtype::f32, {1, 1, 1, 2048}, "x");
        b.outputs({b.add<ops::conv>(a, {x, b.constant(tensor::zeros(dtype::f32, ints{1, 1, 1, 64}))})});
        std::vector<std::uint32_t> within;
        CHECK(legalize(g, rows, within) == (step == 2));
        for (auto n : g.order())
            if (g.is<ops::conv>(n)) CHECK(g.attributes<ops::conv>(n).strides.back() == (step == 2 ? 1 : step));
    }
}

TEST_CASE("what stands for a node has its group and its names") {
    using namespace legalize_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::u8, {4}, "x");
    auto const y = b.add<ops::dequantize>(x, b.input(dtype::f32, {}, "scale"));
    g.set_source(y.node, "scaled");
    b.outputs({y});
    std::vector<std::uint32_t> within(g.capacity());
    within[y.node.index] = 7;
    REQUIRE(legalize(g, rows, within));
    for (auto n : g.order()) {
        if (g.is<ops::input>(n) || n == g.return_node()) continue;
        REQUIRE(n.index < within.size());
        CHECK(within[n.index] == 7);
        CHECK(g.sources(n) == std::vector<std::string>{"scaled"});
    }
}

TEST_CASE("what kernels compute as it is, constants, and what has unknown sizes, stays") {
    using namespace legalize_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 5}, "x");
    auto const places = b.add<ops::non_zero>(x);
    auto const turned = b.add<ops::transpose>({.perm = {1, 0}}, {places});
    b.outputs({b.add<ops::mat_mul>(x, b.input(dtype::f32, {5, 3}, "w")), b.add<ops::gather_nd>(x, turned)});
    std::vector<std::uint32_t> within;
    auto const before = g.hash();
    CHECK_FALSE(legalize(g, rows, within));
    CHECK(g.hash() == before);
}
