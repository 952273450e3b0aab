#include "passes/pass_bench.hpp"
#include <gsub/eval/fold.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/fold/backward_fold_scale_axis.hpp>

namespace backward_scale_test {

using namespace pass_bench;
constexpr passes::backward_fold_scale_axis backward{};

TEST_CASE("BackwardFoldScaleAxis P1: a scale goes into the weights, the shift behind it stays") {
    for (auto const& sizes : {ints{4, 1, 1}, ints{1, 4, 1, 1}, ints{1}, ints{}}) {
        bench n;
        auto const bias = n.weight({4});
        auto const c = n.conv(n.image(), 4, 3, 1, sizes.size() == 3 ? bias : value_id{});
        auto const scaled = sizes.size() == 1 ? n.op<ops::mul>(n.weight(sizes), c) : n.op<ops::mul>(c, n.weight(sizes));
        auto const r = run(n, {n.op<ops::add>(scaled, n.weight({4, 1, 1}))}, backward);
        CHECK(r.text == "Conv Add");
        CHECK(r.outcome.matches == 1);
    }
}

TEST_CASE("BackwardFoldScaleAxis P2: both sides of a sum are scaled, a constant one is multiplied") {
    bench n;
    auto const x = n.image();
    auto const left = n.conv(x), right = n.conv(x);
    auto const s = n.op<ops::add>(left, n.op<ops::sub>(n.weight({4, 1, 1}), right));
    CHECK(run(n, {n.op<ops::mul>(s, n.weight({4, 1, 1}))}, backward).text == "Conv Sub Conv Add");
}

TEST_CASE("BackwardFoldScaleAxis P3: factors that are not negative pass rectifiers, zero among them") {
    for (auto const shape : {0, 1, 2}) {
        bench n;
        auto const x = n.image();
        auto a = n.window(3);
        if (shape == 2) a.act = activation::relu;
        auto const c = n.b.add<ops::conv>(a, {x, n.weight({4, 4, 3, 3})});
        auto const r = shape == 0 ? n.op<ops::relu>(c) : shape == 1 ? n.op<ops::leaky_relu>({.alpha = -0.5}, {c}) : c;
        auto const y = n.op<ops::mul>(r, n.numbers({4, 1, 1}, {0.5f, 2, 0, 3}));
        CHECK(run(n, {y}, backward).outcome.matches == 1);
    }
}

TEST_CASE("BackwardFoldScaleAxis P4: weights that several convolutions share are scaled for each") {
    bench n;
    auto const w = n.weight({4, 4, 1, 1});
    auto v = n.image();
    for (int i = 0; i < 3; ++i) v = n.op<ops::mul>(n.b.add<ops::conv>(n.window(1), {v, w}), n.weight({4, 1, 1}));
    auto const r = run(n, {v}, backward);
    CHECK(r.text == "Conv Conv Conv");
    CHECK(r.outcome.matches == 3);
}

TEST_CASE("BackwardFoldScaleAxis: scales in a row, computed scales, depthwise weights, products of matrices") {
    bench n;
    auto const twice = n.op<ops::mul>(n.op<ops::mul>(n.conv(n.image(), 4, 3, 4), n.weight({4, 1, 1})), n.number(3));
    auto const factor = n.op<ops::reshape>({.shape = {4, 1, 1}}, {n.op<ops::exp>(n.weight({4}))});
    auto const computed = n.op<ops::mul>(n.op<ops::relu>(n.conv(twice)), factor);
    auto const x = n.input({3, 5});
    auto const product = n.op<ops::mul>(n.op<ops::mat_mul>(x, n.weight({5, 6})), n.weight({6}));
    auto const general =
        n.op<ops::gemm>({.alpha = 0.5, .beta = 2, .transpose_b = true}, {product, n.weight({7, 6}), n.weight({3, 1})});
    auto const r = run(n, {computed, n.op<ops::mul>(general, n.weight({7}))}, backward);
    CHECK(r.text == "Conv Conv Relu MatMul Gemm");
    CHECK(r.outcome.matches == 5);
}

TEST_CASE("BackwardFoldScaleAxis N1: a value that is read elsewhere keeps its number") {
    bench n;
    auto const c = n.conv(n.image());
    auto const r = run(n, {n.op<ops::mul>(c, n.weight({4, 1, 1})), n.op<ops::exp>(c)}, backward);
    CHECK_FALSE(r.outcome.changed);
    CHECK(r.outcome.skips("a value on the way has other readers") == 1);
    bench twice;
    auto const d = twice.conv(twice.image());
    CHECK_FALSE(run(twice, {twice.op<ops::mul>(twice.op<ops::add>(d, d), twice.number(2))}, backward).outcome.changed);
    bench output;
    auto const e = output.conv(output.image());
    CHECK_FALSE(run(output, {output.op<ops::mul>(e, output.number(2)), e}, backward).outcome.changed);
}

TEST_CASE("BackwardFoldScaleAxis N2: the two sides of a sum must have their channels where the scale is") {
    bench n;
    auto const c = n.conv(n.image(6), 6);
    auto const product = n.op<ops::mat_mul>(n.input({6, 6}), n.weight({6, 6}));
    auto const wide = n.op<ops::add>(c, n.op<ops::reshape>({.shape = {1, 1, 6, 6}}, {product}));
    CHECK(run(n, {n.op<ops::mul>(wide, n.weight({6, 1, 1}))}, backward).outcome.skips("an operand that is repeated") ==
          1);
    bench rows; // along the rows of an image
    auto const r = run(rows, {rows.op<ops::mul>(rows.conv(rows.image()), rows.weight({6, 1}))}, backward);
    CHECK(r.outcome.skips("another axis than that of the channels") == 1);
    bench both;
    auto const images = both.input({1, 4, 6, 6}), stacks = both.input({1, 4, 6, 5});
    auto const sum = both.op<ops::add>(both.conv(images), both.op<ops::mat_mul>(stacks, both.weight({5, 6})));
    CHECK_FALSE(run(both, {both.op<ops::mul>(sum, both.weight({4, 1, 1}))}, backward).outcome.changed);
}

TEST_CASE("BackwardFoldScaleAxis N3: rectifiers and activations stop what they do not commute with") {
    auto const stops = [](activation act, value_id (*between)(bench&, value_id), bool constant) {
        bench n;
        auto a = n.window(1);
        a.act = act;
        auto const c = between(n, n.b.add<ops::conv>(a, {n.image(2), n.weight({2, 2, 1, 1})}));
        auto const s = constant ? n.numbers({2, 1, 1}, {1, -1}) : n.input({2, 1, 1});
        CHECK_FALSE(run(n, {n.op<ops::mul>(c, s)}, backward).outcome.changed);
    };
    auto const nothing = [](bench&, value_id v) { return v; };
    stops(
        activation::none, [](bench& n, value_id v) { return n.op<ops::relu>(v); }, true);
    stops(
        activation::none, [](bench& n, value_id v) { return n.op<ops::sigmoid>(v); }, true);
    stops(activation::relu, nothing, true);
    stops(activation::tanh, nothing, true);
    stops(activation::none, nothing, false);
}

TEST_CASE("BackwardFoldScaleAxis: weights from outside, small floats, extreme and several axes of factors stay") {
    bench n;
    auto const x = n.image(2);
    auto const foreign = n.b.add<ops::conv>(n.window(1), {x, n.input({2, 2, 1, 1})});
    auto const half =
        n.b.add<ops::conv>(n.window(1), {n.input({1, 2, 4, 4}, dtype::f16), n.weight({2, 2, 1, 1}, dtype::f16)});
    auto const r =
        run(n,
            {n.op<ops::mul>(foreign, n.number(2)), n.op<ops::mul>(half, n.weight({2, 1, 1}, dtype::f16)),
             n.op<ops::mul>(n.conv(x, 2), n.number(1e30f)), n.op<ops::mul>(n.conv(x, 2), n.weight({2, 6, 1}))},
            backward);
    CHECK_FALSE(r.outcome.changed);
    CHECK(r.outcome.skipped.size() == 4);
}

TEST_CASE("BackwardFoldScaleAxis: all unpacked normalisations of a network go into its convolutions") {
    struct expectation {
        std::string_view model;
        std::size_t norms;
    };
    for (auto const& [name, norms] : {expectation{"resnet50", 53}, {"mobilenet_v2", 52}, {"ssd_resnet50", 53}}) {
        CAPTURE(name);
        any_graph g = models::find_model(name)->build(1);
        CHECK(count_of(g, "BatchNormalization") == norms);
        unpack_norms(g);
        pass_context cx;
        auto const outcome = backward(g, cx).value();
        CHECK(outcome.matches == norms);
        CHECK(outcome.skipped.empty());
        CHECK(check(g, stage::imported).empty());
    }
    any_graph bert = models::find_model("bert_base")->build(1);
    pass_context cx;
    CHECK_FALSE(backward(bert, cx).value().changed);
}

TEST_CASE("BackwardFoldScaleAxis: a long chain takes no longer than its length") {
    bench n;
    auto const w = n.weight({1, 1, 1, 1}), s = n.weight({1, 1, 1});
    auto v = n.input({1, 1, 1, 1});
    for (int i = 0; i < 20000; ++i) v = n.op<ops::mul>(n.op<ops::add>(n.b.add<ops::conv>(n.window(1), {v, w}), s), s);
    n.g.set_outputs({&v, 1});
    pass_context cx;
    CHECK(backward(n.g, cx).value().matches == 20000);
}

TEST_CASE("BackwardFoldScaleAxis: random graphs keep their numbers and settle at once") {
    CHECK(run_on_random_graphs(backward) > 20);
}

} // namespace backward_scale_test
