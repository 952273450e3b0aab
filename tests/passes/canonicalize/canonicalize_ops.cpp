#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/passes/canonicalize/canonicalize_ops.hpp>

namespace canonicalize_ops_test {

using namespace gsub;
using namespace pass_trial;
using passes::canonicalize_ops;

value_id conv(net& n, value_id x, value_id w, value_id bias, activation act = activation::none) {
    attributes_of<ops::conv> a;
    for (std::size_t i = 2; i < n.g.type(x).rank(); ++i) {
        a.strides.push_back(1), a.dilations.push_back(1);
        a.pads.push_back(0), a.pads.push_back(0);
    }
    a.act = act;
    return bias.valid() ? n.b.add<ops::conv>(a, {x, w, bias}) : n.b.add<ops::conv>(a, {x, w});
}

TEST_CASE("CanonicalizeOps P1: the bias of a convolution is added behind it, with axes of one behind the channels") {
    for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
        net n;
        ints x{1, 3}, w{4, 3}, placed{4};
        for (std::size_t i = 0; i < spatial; ++i) x.push_back(5), w.push_back(3), placed.push_back(1);
        auto const g = n.after(canonicalize_ops{}, {conv(n, n.input(x), n.weight(w), n.weight({4}, 2))});
        REQUIRE(n.outcome.matches == 1);
        auto const sum = g.output(0).node;
        CHECK(g.is<ops::add>(sum));
        CHECK(g.operand_count(g.operand(sum, 0).node) == 2);
        CHECK(g.type(g.operand(sum, 1)).sizes() == placed);
    }
}

// P3: channels come second in every graph, NHWC is a layout of storage.
TEST_CASE("CanonicalizeOps P2: the bias of a product is on the last axis and added as it is") {
    net n;
    auto const x = n.input({2, 3});
    auto const g = n.after(canonicalize_ops{}, {n.b.add<ops::gemm>({}, {x, n.weight({3, 4}), n.weight({4}, 2)})});
    auto const sum = g.output(0).node;
    CHECK(g.is<ops::add>(sum));
    CHECK(g.is<ops::constant>(g.operand(sum, 1).node));
    CHECK(g.size() == 6);
}

TEST_CASE("CanonicalizeOps: products with factors and transpositions are computed from one form") {
    for (int flags = 0; flags < 32; ++flags) {
        CAPTURE(flags);
        bool const ta = flags & 1, tb = flags & 2, bias = flags & 4;
        net n;
        auto const x = n.input(ta ? ints{3, 2} : ints{2, 3}), w = n.weight(tb ? ints{4, 3} : ints{3, 4});
        attributes_of<ops::gemm> const a{
            .alpha = flags & 8 ? 0.5 : 1, .beta = flags & 16 ? 2.0 : 1, .transpose_a = ta, .transpose_b = tb};
        auto const y = bias ? n.b.add<ops::gemm>(a, {x, w, n.weight({2, 1}, 2)}) : n.b.add<ops::gemm>(a, {x, w});
        auto const g = n.after(canonicalize_ops{}, {y});
        CHECK(count<ops::gemm>(g) == 0);
        CHECK(count<ops::transpose>(g) == static_cast<std::size_t>(ta + tb));
        CHECK(count<ops::mul>(g) == static_cast<std::size_t>((a.alpha != 1) + (bias && a.beta != 1)));
        CHECK(count<ops::add>(g) == static_cast<std::size_t>(bias));
    }
}

TEST_CASE("CanonicalizeOps: a sum of two is an addition, of one its operand, of more a sum") {
    net n;
    auto const x = n.input({4}), y = n.input({4}, "y");
    auto const g = n.after(canonicalize_ops{}, {n.op<ops::sum>(x, y), n.op<ops::sum>(x), n.op<ops::sum>(x, y, x)});
    CHECK(n.outcome.matches == 2);
    CHECK(count<ops::add>(g) == 1);
    CHECK(count<ops::sum>(g) == 1);
}

TEST_CASE("CanonicalizeOps N1: additions, products and convolutions without bias stay") {
    net n;
    auto const x = n.input({1, 3, 5, 5}), y = n.input({2, 3}, "y");
    CHECK(n.untouched(canonicalize_ops{}, {conv(n, x, n.weight({4, 3, 3, 3}), {}), n.op<ops::add>(x, x),
                                           n.op<ops::add>(n.op<ops::mat_mul>(y, n.weight({3, 4})), n.weight({4}))}));
}

TEST_CASE("CanonicalizeOps: what an activation, rounding or truncation stands behind stays") {
    net n;
    auto const x = n.input({1, 3, 5, 5}), i = n.input({2, 2}, "i", dtype::i32);
    CHECK(n.untouched(canonicalize_ops{}, {conv(n, x, n.weight({4, 3, 1, 1}), n.weight({4}), activation::relu)}));
    CHECK(n.outcome.skips("an activation behind the bias") == 1);
    auto const h = n.input({1, 3, 5, 5}, "h", dtype::f16);
    CHECK(n.untouched(canonicalize_ops{},
                      {conv(n, h, n.weight({4, 3, 1, 1}, 1, dtype::f16), n.weight({4}, 2, dtype::f16))}));
    CHECK(n.outcome.skips("rounded to 16 bits") == 1);
    CHECK(n.untouched(canonicalize_ops{}, {n.b.add<ops::gemm>({.alpha = 0.5}, {i, i})}));
    CHECK(n.outcome.skips("a factor on integers") == 1);
    CHECK(count<ops::mat_mul>(n.after(canonicalize_ops{}, {n.b.add<ops::gemm>({}, {i, i, i})})) == 1);
}

TEST_CASE("CanonicalizeOps: random graphs compute the same up to rounding") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 40));
        run(canonicalize_ops{}, m, true, seed + 1);
        CHECK(count<ops::gemm>(m.find("main")->body) == 0);
    }
}

TEST_CASE("CanonicalizeOps finds the classifier's product, and the biases of SSD's heads") {
    auto const matches = [](any_graph g) {
        auto m = module_of(std::move(g));
        return run(canonicalize_ops{}, m, false).matches;
    };
    CHECK(matches(models::resnet50({.image = 32})) == 1);
    CHECK(matches(models::mobilenet_v2({.image = 32})) == 1);
    CHECK(matches(models::ssd_resnet50()) == 12);
    CHECK(matches(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50})) == 0);
}

} // namespace canonicalize_ops_test
