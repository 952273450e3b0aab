#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/simplify/simplify_inference.hpp>

namespace simplify_inference_test {

using namespace gsub;
using namespace pass_trial;
using passes::simplify_inference;

// Numbers in [0.5, 1.5).
value_id variance(net& n, std::int64_t channels, std::uint64_t seed = 9, dtype element = dtype::f32) {
    auto t = tensor::uninitialized(dtype::f32, ints{channels});
    random_stream r{seed};
    for (auto& v : t.mutable_data<float>()) v = static_cast<float>(r.uniform(0.5, 1.5));
    return n.b.constant(t.converted_to(element));
}
value_id batch_norm(net& n, value_id x, double epsilon = 1e-5) {
    auto const c = n.g.type(x).dims[1].size();
    auto const t = n.g.type(x).element;
    return n.b.add<ops::batch_norm>(
        {.epsilon = epsilon}, {x, n.weight({c}, 2, t), n.weight({c}, 3, t), n.weight({c}, 4, t), variance(n, c, 5, t)});
}

// Channels are the second axis of every graph; P1's other axes are transposed at import.
TEST_CASE("SimplifyInference P1: batch normalisation of any rank is a product and a sum, one number a channel each") {
    for (auto const& sizes : {ints{3, 4}, ints{2, 4, 5}, ints{2, 4, 3, 5}, ints{1, 4, 2, 2, 3}, ints{2, 1, 3, 3}})
        for (auto t : {dtype::f32, dtype::f64}) {
            net n;
            auto const g = n.after(simplify_inference{}, {batch_norm(n, n.input(sizes, "x", t))});
            CHECK(n.outcome.matches == 1);
            CHECK(count<ops::batch_norm>(g) == 0);
        }
}

TEST_CASE("SimplifyInference P2: normalisations and dropouts one behind the other") {
    net n;
    auto x = n.input({2, 4, 3, 3});
    for (int i = 0; i < 3; ++i) x = n.b.add<ops::dropout>({}, {batch_norm(n, x)});
    auto const g = n.after(simplify_inference{}, {x});
    CHECK(n.outcome.matches == 6);
    CHECK(count<ops::batch_norm, ops::dropout>(g) == 0);
}

// P3: flags scale=false and center=false are ones and zeros in the graph.
TEST_CASE("SimplifyInference P3: a scale of ones and a shift of zeros are scale and shift") {
    net n;
    auto const x = n.input({2, 4, 3, 3});
    auto const ones = n.b.add<ops::fill>({.shape = {4}, .value = 1}, {});
    auto const zeros = n.b.add<ops::fill>({.shape = {4}}, {});
    n.after(simplify_inference{}, {n.b.add<ops::batch_norm>({}, {x, ones, zeros, n.weight({4}), variance(n, 4)})});
    CHECK(n.outcome.matches == 1);
}

TEST_CASE("SimplifyInference P4: layer normalisation is means, squares and a root, with and without shift") {
    net n;
    auto const x = n.input({2, 3, 8});
    std::vector<value_id> const outputs{n.b.add<ops::layer_norm>({}, {x, n.weight({8}), n.weight({8}, 2)}),
                                        n.b.add<ops::layer_norm>({.axis = 1}, {x, n.weight({3, 8})})};
    auto const g = n.after(simplify_inference{}, outputs);
    CHECK(n.outcome.matches == 2);
    CHECK(count<ops::layer_norm>(g) == 0);
    CHECK(n.untouched(simplify_inference{.layer_norm = false}, outputs));
}

// P5: group, instance and Lp normalisation have no operators of their own.

TEST_CASE("SimplifyInference P6: after folding, one product and one sum are left") {
    net n;
    auto const g = n.after(simplify_inference{}, {batch_norm(n, n.input({2, 4, 3, 3}))});
    auto m = module_of(g);
    run(passes::fold_constant{}, m);
    auto const& folded = m.find("main")->body;
    CHECK(folded.size() == 6); // input, two constants, product, sum, results
    CHECK(count<ops::mul>(folded) == 1);
    CHECK(count<ops::add>(folded) == 1);
}

// N1, N2: the form of inference has no running statistics; the training form has, and stays with all its results.
TEST_CASE("SimplifyInference N1, N2, N3: what trains stays") {
    net n;
    auto const x = n.input({2, 4, 3, 3});
    auto const all =
        n.b.add<ops::batch_norm_training>({}, {x, n.weight({4}), n.weight({4}), n.weight({4}), variance(n, 4)}, 3).node;
    CHECK(n.untouched(simplify_inference{}, {value_id{all, 0}, {all, 1}, {all, 2}}));
    CHECK(n.outcome.skips("training mode") == 1);
    auto const mode = n.b.input(dtype::boolean, shape{}, "mode");
    CHECK(n.untouched(simplify_inference{}, {n.b.add<ops::dropout>({}, {x, n.number(0.5f), mode})}, false));
    auto const on = n.b.constant(tensor::scalar(true));
    CHECK(n.untouched(simplify_inference{}, {n.b.add<ops::dropout>({}, {x, {}, on})}, false));
    net m;
    auto const y = m.input({2, 3}), yes = m.b.constant(tensor::scalar(true)), no = m.b.constant(tensor::scalar(false));
    auto const g = m.after(simplify_inference{}, {m.b.add<ops::dropout>({}, {y, m.number(0.5f), no}),
                                                  m.b.add<ops::dropout>({}, {y, m.number(0), yes})});
    CHECK(count<ops::dropout>(g) == 0);
}

TEST_CASE("SimplifyInference: a dropout whose mask is read stays for the mask alone") {
    net n;
    auto const x = n.input({2, 3});
    auto const d = n.b.add<ops::dropout>({}, {x}, 2).node;
    auto const g = n.after(simplify_inference{}, {n.op<ops::relu>(value_id{d, 0}), {d, 1}});
    CHECK(count<ops::dropout>(g) == 1);
    CHECK(g.operand(g.output(0).node, 0).node == g.inputs()[0]);
}

TEST_CASE("SimplifyInference N4: 16-bit normalisations stay, for the parts would round one by one") {
    for (auto t : {dtype::f16, dtype::bf16}) {
        net n;
        auto const x = n.input({2, 4}, "x", t);
        CHECK(n.untouched(simplify_inference{},
                          {batch_norm(n, x), n.b.add<ops::layer_norm>({}, {x, n.weight({4}, 1, t)})}));
        CHECK(n.outcome.skips("rounded to 16 bits") == 2);
    }
}

TEST_CASE("SimplifyInference N5: where the root may be zero, the normalisation stays") {
    net n;
    auto const x = n.input({2, 3});
    auto const norm = [&](double epsilon, value_id spread) {
        return n.b.add<ops::batch_norm>({.epsilon = epsilon}, {x, n.weight({3}), n.weight({3}), n.weight({3}), spread});
    };
    auto const some_zero = n.b.constant(tensor::from<float>({3}, {1, 0, 2}));
    auto const unknown = n.input({3}, "variance");
    CHECK(n.untouched(simplify_inference{}, {norm(0, some_zero), norm(0, unknown), norm(1e-50, unknown)}, false));
    CHECK(n.outcome.skips("no epsilon") == 3);
    n.after(simplify_inference{}, {norm(0, variance(n, 3)), norm(1e-5, some_zero), norm(1e-5, unknown)});
    CHECK(n.outcome.matches == 3);
}

TEST_CASE("SimplifyInference: random graphs compute the same up to rounding, and nothing of the kind is left") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 30));
        run(simplify_inference{}, m, true, seed + 1);
        CHECK(count<ops::batch_norm, ops::layer_norm>(m.find("main")->body) == 0);
    }
}

TEST_CASE("SimplifyInference: many normalisations take one sweep") {
    net n;
    auto x = n.input({1, 2});
    for (int i = 0; i < 3000; ++i) x = batch_norm(n, x);
    n.g.set_outputs(std::vector{x});
    auto m = module_of(n.g);
    CHECK(run_pass(simplify_inference{}, m).value().matches == 3000);
}

TEST_CASE("SimplifyInference fires on every batch normalisation of the networks, and on nothing in BERT") {
    auto const matches = [](any_graph g) {
        auto m = module_of(std::move(g));
        return run(simplify_inference{}, m, false).matches;
    };
    CHECK(matches(models::resnet50({.image = 32})) == 53);
    CHECK(matches(models::mobilenet_v2({.image = 32})) == 52);
    CHECK(matches(models::ssd_resnet50()) == 53);
    CHECK(matches(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50})) == 0);
}

} // namespace simplify_inference_test
