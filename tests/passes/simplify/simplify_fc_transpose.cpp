#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/simplify/simplify_fc_transpose.hpp>

namespace simplify_fc_transpose_test {

using namespace gsub;
using namespace pass_trial;
using passes::simplify_fc_transpose;

value_id turned(net& n, value_id v, ints const& perm = {1, 0}) {
    return n.b.add<ops::transpose>({.perm = perm}, {v});
}

TEST_CASE("SimplifyFCTranspose P1: two layers in a row read weights of their own form, which have the names of both") {
    net n;
    auto const w = n.b.constant(tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}), "w");
    auto const first = n.op<ops::mat_mul>(n.input({4, 3}), turned(n, w));
    auto const g = n.after(simplify_fc_transpose{}, {n.op<ops::mat_mul>(first, turned(n, n.weight({5, 2})))});
    CHECK(n.outcome.matches == 2);
    CHECK(count<ops::transpose>(g) == 0);
    CHECK(count<ops::constant>(g) == 2);
    for (auto node : g.order()) {
        if (!g.is<ops::constant>(node) || g.name({node, 0}).empty()) continue;
        CHECK(g.name({node, 0}) == "w.T");
        CHECK(g.constant_data(node).dims()[0] == 3);
        CHECK(g.constant_data(node).data<float>()[1] == 4);
    }
}

TEST_CASE("SimplifyFCTranspose P2: a weight that two layers read is turned once, by whichever Transpose they read it") {
    net n;
    auto const w = n.weight({5, 3});
    auto const x = n.input({4, 3});
    auto const g = n.after(simplify_fc_transpose{},
                           {n.op<ops::mat_mul>(x, turned(n, w)), n.op<ops::mat_mul>(n.op<ops::relu>(x), turned(n, w))});
    CHECK(n.outcome.matches == 2);
    CHECK(count<ops::constant>(g) == 1);
}

TEST_CASE("SimplifyFCTranspose P3: a weight that is read as it is too stays beside the other") {
    net n;
    auto const w = n.weight({3, 3});
    auto const x = n.input({4, 3});
    auto const g = n.after(simplify_fc_transpose{}, {n.op<ops::mat_mul>(x, turned(n, w)), n.op<ops::mat_mul>(x, w)});
    CHECK(count<ops::constant>(g) == 2);
    CHECK(count<ops::transpose>(g) == 0);
}

TEST_CASE("SimplifyFCTranspose: a Transpose that something else reads stays for it") {
    net n;
    auto const t = turned(n, n.weight({5, 3}));
    auto const g = n.after(simplify_fc_transpose{}, {n.op<ops::mat_mul>(n.input({4, 3}), t), n.op<ops::relu>(t)});
    CHECK(count<ops::transpose>(g) == 1);
    CHECK(count<ops::constant>(g) == 2);
}

TEST_CASE("SimplifyFCTranspose N1, N2: computed weights and turned data stay") {
    net n;
    auto const w = n.weight({3, 3});
    auto const x = n.input({3, 3});
    CHECK(n.untouched(simplify_fc_transpose{}, {n.op<ops::mat_mul>(x, turned(n, n.op<ops::relu>(w)))}));
    CHECK(n.outcome.skips("not a stored weight") == 1);
    CHECK(n.untouched(simplify_fc_transpose{}, {n.op<ops::mat_mul>(turned(n, x), w)}));
    CHECK(n.untouched(simplify_fc_transpose{}, {n.op<ops::mat_mul>(turned(n, w), x)}));
}

TEST_CASE("SimplifyFCTranspose N3, N4: stacks of matrices, other permutations and weights that are inputs stay") {
    net n;
    auto const stack = turned(n, n.weight({2, 5, 3}), {0, 2, 1});
    CHECK(n.untouched(simplify_fc_transpose{}, {n.op<ops::mat_mul>(n.input({2, 4, 3}), stack)}));
    CHECK(n.outcome.skips("not a matrix") == 1);
    net m;
    auto const x = m.input({3, 3});
    CHECK(m.untouched(simplify_fc_transpose{}, {m.op<ops::mat_mul>(x, turned(m, m.weight({3, 3}), {0, 1}))}));
    CHECK(m.untouched(simplify_fc_transpose{}, {m.op<ops::mat_mul>(x, turned(m, m.input({3, 3}, "w")))}));
    CHECK(m.outcome.skips("not a stored weight") == 1);
}

TEST_CASE("SimplifyFCTranspose: Gemm reads a turned weight likewise, and by its attribute where that is asked for") {
    net n;
    auto const x = n.input({4, 3});
    auto const w = n.weight({5, 3}), b = n.weight({5}, 2);
    auto const by_node = n.b.add<ops::gemm>({.alpha = 2}, {x, turned(n, w), b});
    auto const by_attribute = n.b.add<ops::gemm>({.transpose_b = true}, {x, w, b});
    auto const some = n.after(simplify_fc_transpose{}, {by_node, by_attribute});
    CHECK(n.outcome.matches == 1);
    CHECK(count<ops::transpose>(some) == 0);
    auto const all = n.after(simplify_fc_transpose::from_text("gemm").value(), {by_node, by_attribute});
    CHECK(n.outcome.matches == 2);
    CHECK(count<ops::constant>(all) == 2);
    CHECK_FALSE(simplify_fc_transpose::from_text("conv"));
}

TEST_CASE("SimplifyFCTranspose: thousands of layers that share one weight take one sweep") {
    net n;
    auto v = n.input({2, 3});
    auto const w = n.weight({3, 3});
    for (int i = 0; i < 20000; ++i) v = n.op<ops::mat_mul>(v, turned(n, w));
    n.g.set_outputs(std::vector{v});
    auto m = module_of(n.g);
    CHECK(run_pass(simplify_fc_transpose{}, m).value().matches == 20000);
    CHECK(count<ops::constant>(m.find("main")->body) == 1);
}

TEST_CASE("SimplifyFCTranspose fires on the last layer of ResNet-50 by attribute, and on no product of BERT as built") {
    auto resnet = module_of(models::resnet50({.image = 32}));
    CHECK_FALSE(run(simplify_fc_transpose{}, resnet, false).changed);
    CHECK(run(simplify_fc_transpose{.gemm_attribute = true}, resnet, false).matches == 1);
    auto bert = module_of(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50}));
    CHECK_FALSE(run(simplify_fc_transpose{}, bert, false).changed);
}

} // namespace simplify_fc_transpose_test
