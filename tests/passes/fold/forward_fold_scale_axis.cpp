#include "passes/pass_bench.hpp"
#include <gsub/models/catalogue.hpp>
#include <gsub/passes/fold/forward_fold_scale_axis.hpp>

namespace forward_scale_test {

using namespace pass_bench;
constexpr passes::forward_fold_scale_axis forward{};

value_id positive(bench& n) {
    return n.numbers({4, 1, 1}, {0.5f, 2, 1, 3});
}
value_id mixed(bench& n) {
    return n.numbers({4, 1, 1}, {0.5f, -2, 1, 3});
}
value_id with_zero(bench& n) {
    return n.numbers({4, 1, 1}, {0.5f, 0, 1, 3});
}

TEST_CASE("ForwardFoldScaleAxis P1: a positive scale passes a rectifier and a shift into the next weights") {
    for (int kernel : {1, 3}) {
        bench n;
        auto const r = n.op<ops::relu>(n.op<ops::mul>(n.image(), positive(n)));
        auto const shifted = n.op<ops::add>(r, n.weight({4, 1, 1}));
        auto const y = n.conv(n.op<ops::leaky_relu>({.alpha = 0.1}, {shifted}), 5, kernel, 1, n.weight({5}));
        auto const done = run(n, {y}, forward);
        CHECK(done.text == "Relu Add LeakyRelu Conv");
        CHECK(done.outcome.matches == 1);
    }
}

TEST_CASE("ForwardFoldScaleAxis P2: all readers are scaled") {
    bench n;
    auto const s = n.op<ops::mul>(n.image(), positive(n));
    auto const a = n.conv(s), b = n.conv(n.op<ops::relu>(s)), c = n.conv(s, 4, 3, 4);
    CHECK(run(n, {a, b, c}, forward).text == "Relu Conv Conv Conv");
}

TEST_CASE("ForwardFoldScaleAxis P3: a negative scale passes sums, from either side") {
    bench n;
    auto const v = n.op<ops::sub>(n.weight({4, 6, 6}), n.op<ops::mul>(mixed(n), n.image()));
    CHECK(run(n, {n.conv(n.op<ops::sub>(v, n.number(1)))}, forward).text == "Sub Sub Conv");
}

TEST_CASE("ForwardFoldScaleAxis P4: rows of matrices are scaled, transposed or not") {
    for (bool const transposed : {false, true}) {
        bench n;
        auto const x = n.input(transposed ? ints{5, 3} : ints{3, 5});
        auto const s = n.op<ops::mul>(x, n.weight(transposed ? ints{5, 1} : ints{5}));
        auto const y = n.op<ops::gemm>({.alpha = 2, .transpose_a = transposed, .transpose_b = transposed},
                                       {s, n.weight(transposed ? ints{6, 5} : ints{5, 6}), n.weight({6})});
        CHECK(run(n, {y}, forward).text == "Gemm");
    }
    bench n;
    auto const s = n.op<ops::mul>(n.input({2, 3, 5}), n.weight({5}));
    auto const sum = n.op<ops::add>(s, n.weight({5}));
    auto const a = n.op<ops::mat_mul>(sum, n.weight({5, 4})), b = n.op<ops::mat_mul>(sum, n.weight({2, 5, 4})),
               c = n.op<ops::mat_mul>(sum, n.weight({5}));
    CHECK(run(n, {a, b, c}, forward).text == "Add MatMul MatMul MatMul");
}

TEST_CASE("ForwardFoldScaleAxis P5: values in blocks are scaled as others are, one number passes into any groups") {
    bench n;
    auto const blocked = n.op<ops::layout_transform>({.to = "NCHW4c"}, {n.image()});
    auto const back = n.op<ops::layout_transform>({.to = ""}, {n.conv(n.op<ops::mul>(blocked, positive(n)))});
    n.g.set_outputs({&back, 1});
    pass_context cx;
    CHECK(forward(n.g, cx).value().matches == 1);
    CHECK(text_of(n.g) == "LayoutTransform Conv LayoutTransform");
    bench groups;
    auto const half = groups.op<ops::mul>(groups.image(), groups.number(0.5f));
    CHECK(run(groups, {groups.conv(half, 6, 3, 2)}, forward).text == "Conv");
}

// What a graph leaves a scale where it is for.
void stays(std::string_view reason, value_id (*scale)(bench&), value_id (*behind)(bench&, value_id)) {
    CAPTURE(reason);
    bench n;
    auto const s = n.op<ops::mul>(n.image(), scale(n));
    auto const r = run(n, {behind(n, s)}, forward);
    CHECK_FALSE(r.outcome.changed);
    CHECK(r.outcome.skips(reason) == 1);
}

TEST_CASE("ForwardFoldScaleAxis N1: a reader of another kind keeps the scale") {
    stays("a reader that a scale cannot pass", positive,
          [](bench& n, value_id s) { return n.op<ops::add>(n.conv(s), n.op<ops::exp>(s)); });
    stays("a reader that a scale cannot pass", positive,
          [](bench& n, value_id s) { return n.op<ops::add>(n.conv(s), s); });
    bench n;
    auto const s = n.op<ops::mul>(n.image(), positive(n));
    CHECK(run(n, {n.conv(s), s}, forward).outcome.skips("an output of the graph") == 1);
    bench weights;
    auto const w = weights.op<ops::mul>(weights.input({4, 4, 1, 1}), positive(weights));
    CHECK_FALSE(run(weights, {weights.b.add<ops::conv>(weights.window(1), {w, w})}, forward).outcome.changed);
}

TEST_CASE("ForwardFoldScaleAxis N2: a rectifier stops a scale that is negative or not known") {
    auto const rectified = [](bench& n, value_id s) { return n.conv(n.op<ops::relu>(s)); };
    stays("a negative scale in front of a rectifier", mixed, rectified);
    bench n;
    auto const s = n.op<ops::mul>(n.image(), n.input({4, 1, 1}));
    CHECK_FALSE(run(n, {rectified(n, s)}, forward).outcome.changed);
}

TEST_CASE("ForwardFoldScaleAxis N3: splits and calls are not passed") {
    stays("a reader that a scale cannot pass", positive,
          [](bench& n, value_id s) { return n.conv(n.op<ops::split>({.axis = 2, .sizes = {6}}, {s})); });
}

TEST_CASE("ForwardFoldScaleAxis N4: groups other than one, or one a channel, keep a scale a channel") {
    stays("a convolution of several groups", positive, [](bench& n, value_id s) { return n.conv(s, 4, 3, 2); });
    stays("a convolution of several groups", positive, [](bench& n, value_id s) { return n.conv(s, 8, 3, 4); });
}

TEST_CASE("ForwardFoldScaleAxis N5: a scale that data decide, or that varies over images or places, stays") {
    bench n;
    auto const x = n.image();
    auto const excited = n.op<ops::mul>(x, n.op<ops::sigmoid>(n.conv(n.op<ops::global_average_pool>(x), 4, 1)));
    CHECK_FALSE(run(n, {n.conv(excited)}, forward).outcome.changed);
    for (auto const& sizes : {ints{2, 1, 1, 1}, ints{1, 1, 6, 1}, ints{6}, ints{2, 4, 1, 1}}) {
        bench images;
        auto const s = images.op<ops::mul>(images.input({2, 4, 6, 6}), images.weight(sizes));
        CHECK_FALSE(run(images, {images.conv(s)}, forward).outcome.changed);
    }
}

TEST_CASE("ForwardFoldScaleAxis N6: a scale with zeros does not pass sums, yet passes rectifiers") {
    stays("a scale of zero in front of an addition", with_zero,
          [](bench& n, value_id s) { return n.conv(n.op<ops::add>(s, n.number(1))); });
    bench n;
    auto const s = n.op<ops::mul>(n.image(), with_zero(n));
    CHECK(run(n, {n.conv(n.op<ops::relu>(s))}, forward).outcome.matches == 1);
}

TEST_CASE("ForwardFoldScaleAxis: of scales in a row the last one makes way for the others") {
    bench n;
    auto v = n.image();
    for (int i = 0; i < 3; ++i) v = n.op<ops::mul>(v, positive(n));
    CHECK(run(n, {n.conv(v)}, forward).text == "Conv");
    bench blocked;
    auto const inner = blocked.op<ops::mul>(blocked.image(), positive(blocked));
    auto const outer = blocked.op<ops::relu>(blocked.op<ops::mul>(inner, mixed(blocked)));
    CHECK_FALSE(run(blocked, {blocked.conv(outer)}, forward).outcome.changed);
}

TEST_CASE("ForwardFoldScaleAxis: what folds in networks with unpacked normalisations") {
    struct expectation {
        std::string_view model;
        std::size_t folded;
    };
    // The stem of a ResNet is followed by a pool, 20 scales by a sum; MobileNet's clips are not passed. BERT's
    // normalisations have a sum among their readers; what folds is the half at the end of each GELU, which TVM leaves.
    for (auto const& [name, folded] :
         {expectation{"resnet50", 32}, {"mobilenet_v2", 2}, {"ssd_resnet50", 36}, {"bert_base", 12}}) {
        CAPTURE(name);
        any_graph g = models::find_model(name)->build(1);
        unpack_norms(g);
        pass_context cx;
        CHECK(forward(g, cx).value().matches == folded);
        CHECK(check(g, stage::imported).empty());
    }
}

TEST_CASE("ForwardFoldScaleAxis: random graphs keep their numbers and settle at once") {
    CHECK(run_on_random_graphs(forward) > 20);
}

} // namespace forward_scale_test
