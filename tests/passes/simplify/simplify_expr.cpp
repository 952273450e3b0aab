#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>

#include <array>

namespace simplify_expr_test {

using namespace gsub;
using namespace pass_trial;
using passes::simplify_expr;

value_id reshaped(net& n, value_id x, ints const& to) {
    return n.b.add<ops::reshape>({.shape = to}, {x});
}
value_id turned(net& n, value_id x, ints const& perm) {
    return n.b.add<ops::transpose>({.perm = perm}, {x});
}
value_id cast(net& n, value_id x, dtype to) {
    return n.b.add<ops::cast>({.to = to}, {x});
}
value_id stored(net& n, value_id x, std::string const& to) {
    return n.b.add<ops::layout_transform>({.to = to}, {x});
}

TEST_CASE("SimplifyExpr P1: views of views are one, and none where the first shape comes back") {
    net n;
    auto const x = n.input({2, 3, 4});
    auto const g = n.after(simplify_expr{}, {reshaped(n, reshaped(n, x, {6, 4}), {3, -1})});
    CHECK(count<ops::reshape>(g) == 1);
    CHECK(g.operand(g.output(0).node, 0).node == g.inputs()[0]);
    auto const flat = n.b.add<ops::flatten>({}, {n.b.add<ops::unsqueeze>({.axes = {0}}, {x})});
    auto const back = n.after(simplify_expr{}, {n.op<ops::relu>(reshaped(n, flat, {2, 3, 4}))});
    CHECK(count<ops::relu>(back) == 1);
    CHECK(back.size() == 3);
}

// Permutations are written out and counted from the front at import, so there are no empty or negative ones.
TEST_CASE("SimplifyExpr P2: transpositions are one, and none where they cancel") {
    net n;
    auto const x = n.input({2, 3, 4, 5});
    auto const three = turned(n, turned(n, turned(n, x, {0, 2, 3, 1}), {1, 2, 3, 0}), {3, 2, 0, 1});
    CHECK(n.after(simplify_expr{}, {n.op<ops::relu>(three)}).size() == 3);
    auto const g = n.after(simplify_expr{}, {turned(n, turned(n, x, {0, 2, 3, 1}), {3, 2, 1, 0})});
    CHECK(count<ops::transpose>(g) == 1);
    CHECK(g.attributes<ops::transpose>(g.output(0).node).perm == ints{1, 3, 2, 0});
}

// A layout names the storage and leaves the dimensions, so NHWC > NCHW is a transposition; rank-changing ones do not
// exist.
TEST_CASE("SimplifyExpr P3: changes of layout are one, and none where they cancel") {
    net n;
    auto const x = n.input({1, 8, 2, 2});
    auto const wide = [&](value_id v) { return stored(n, v, "NCHW8c"); };
    auto const g = n.after(simplify_expr{}, {stored(n, n.op<ops::relu>(wide(stored(n, x, "NCHW4c"))), "")});
    CHECK(count<ops::layout_transform>(g) == 2);
    auto const narrow = n.op<ops::relu>(stored(n, x, "NCHW4c"));
    auto const gone = n.after(simplify_expr{}, {stored(n, n.op<ops::tanh>(stored(n, wide(narrow), "NCHW4c")), "")});
    CHECK(count<ops::layout_transform>(gone) == 2);
}

TEST_CASE("SimplifyExpr P4: neutral elements are gone, from either side where sides do not matter") {
    net n;
    auto const x = n.input({2, 3, 4});
    auto const zeros = n.b.constant(tensor::zeros(dtype::f32, ints{3, 4}));
    auto const ones = n.b.add<ops::fill>({.shape = {4}, .value = 1}, {});
    auto const wide = n.b.add<ops::expand>({.shape = {2, 3, 4}}, {n.number(1)});
    auto y = n.op<ops::add>(zeros, n.op<ops::add>(x, zeros));
    y = n.op<ops::sub>(n.op<ops::mul>(n.op<ops::mul>(y, ones), wide), zeros);
    CHECK(n.after(simplify_expr{}, {n.op<ops::relu>(n.op<ops::div>(y, ones))}).size() == 3);
    CHECK(n.outcome.matches == 6);
    for (auto t : {dtype::f64, dtype::f16, dtype::i64, dtype::u8, dtype::u16, dtype::u32, dtype::u64}) {
        net m;
        auto const z = m.input({2}, "z", t);
        auto const zero = m.b.constant(tensor::zeros(t, ints{}));
        auto const one = m.b.constant(tensor::scalar<std::int64_t>(1).converted_to(t));
        CHECK(m.after(simplify_expr{}, {m.op<ops::div>(m.op<ops::add>(z, zero), one)}).size() == 2);
    }
}

TEST_CASE("SimplifyExpr P5: a number repeated before it is broadcast is not repeated, whatever it is") {
    net n;
    auto const x = n.input({2, 3, 4}), s = n.input({1, 4}, "s");
    auto const fives = n.b.add<ops::fill>({.shape = {2, 3, 4}, .value = 5}, {});
    auto const wide = n.b.add<ops::expand>({.shape = {2, 3, 4}}, {s});
    auto const g = n.after(simplify_expr{}, {n.op<ops::mul>(x, fives), n.op<ops::pow>(n.op<ops::add>(wide, x), fives),
                                             n.op<ops::add>(fives, wide)});
    CHECK(count<ops::expand>(g) == 1);
    CHECK(n.outcome.matches == 4);
    for (auto node : g.order())
        if (g.is<ops::fill>(node)) CHECK(g.type({node, 0}).rank() == 0);
}

TEST_CASE("SimplifyExpr P6: a conversion to the own type is gone, and so is a detour that loses nothing") {
    net n;
    auto const x = n.input({4}), i = n.input({4}, "i", dtype::i8);
    auto const g = n.after(simplify_expr{}, {cast(n, x, dtype::f32), cast(n, cast(n, x, dtype::f64), dtype::f32),
                                             cast(n, cast(n, i, dtype::i32), dtype::f32)});
    CHECK(count<ops::cast>(g) == 1);
    CHECK(g.output(0) == g.output(1));
}

TEST_CASE("SimplifyExpr: conversions join exactly where no number of the first type is lost") {
    constexpr auto types = stored_dtypes;
    std::vector<double> numbers{0,    1,    -1,  2,     0.5,   127,   128, 200, 255, 256,    300,
                                -128, -129, 1e4, 32768, 65504, 65536, 7e4, 1e9, 4e9, 0x1p63, 0x1p64};
    auto const some = tensor::from<double>(ints{static_cast<std::int64_t>(numbers.size())}, numbers);
    for (auto a : types)
        for (auto b : types)
            for (auto c : types) {
                CAPTURE(to_string(a), to_string(b), to_string(c));
                graph g;
                graph_builder build{g};
                auto const x = build.input(a, {some.elements()}, "x");
                build.outputs({build.add<ops::cast>({.to = c}, {build.add<ops::cast>({.to = b}, {x})})});
                auto m = module_of(g);
                CHECK(run_pass(simplify_expr{}, m));
                auto const inputs = std::vector{some.converted_to(a)};
                auto const table = table_of<eval_row, standard_ops>();
                auto const& after = m.find("main")->body;
                auto const before = evaluate_graph(g, inputs).value()[0];
                CHECK(evaluate_graph(after, table, inputs).value()[0].hash() == before.hash());
            }
}

TEST_CASE("SimplifyExpr N1: views of symbolic sizes stay, unless they undo each other") {
    net n;
    auto const x = n.b.input(dtype::f32, {dim{symbol{"n"}}, 4}, "x");
    CHECK(n.untouched(simplify_expr{}, {reshaped(n, reshaped(n, x, {-1, 2}), {2, -1})}));
    CHECK(n.outcome.skips("symbolic sizes") == 1);
    auto const inserted = n.b.add<ops::unsqueeze>({.axes = {1}}, {x});
    auto const removed = n.b.add<ops::squeeze>({.axes = {-2}}, {inserted});
    CHECK(n.after(simplify_expr{}, {n.op<ops::relu>(removed)}).size() == 3);
    CHECK(n.untouched(simplify_expr{}, {n.b.add<ops::unsqueeze>({.axes = {0}}, {removed})}) == false);
}

TEST_CASE("SimplifyExpr N2: a neutral element that makes the result larger stays") {
    net n;
    auto const x = n.input({2, 3, 4});
    auto const zeros = n.b.constant(tensor::zeros(dtype::f32, ints{2, 2, 3, 4}));
    CHECK(n.untouched(simplify_expr{}, {n.op<ops::add>(x, zeros)}));
    CHECK(n.outcome.skips("the result is larger") == 1);
    auto const wide = n.b.add<ops::expand>({.shape = {2, 2, 3, 4}}, {x});
    CHECK(n.untouched(simplify_expr{}, {n.op<ops::mul>(x, wide)}));
}

// N4: operands of one operator have one element type, so that a neutral element of another does not exist.
TEST_CASE("SimplifyExpr N3: what is subtracted from or divided stays") {
    net n;
    auto const x = n.input({2});
    CHECK(n.untouched(simplify_expr{}, {n.op<ops::sub>(n.number(0), x), n.op<ops::div>(n.number(1), x),
                                        n.op<ops::add>(x, n.number(1)), n.op<ops::mul>(x, n.number(0))}));
}

TEST_CASE("SimplifyExpr N5: a detour that loses bits stays") {
    net n;
    auto const x = n.input({4}), i = n.input({4}, "i", dtype::i32);
    CHECK(n.untouched(simplify_expr{},
                      {cast(n, cast(n, x, dtype::f16), dtype::f32), cast(n, cast(n, i, dtype::u8), dtype::i32)}));
    CHECK(n.outcome.skips("a conversion that loses bits") == 2);
}

TEST_CASE("SimplifyExpr N6: where zero has a sign, only what keeps it is gone") {
    net n;
    auto const x = n.input({4});
    auto const plus = n.number(0.0f), minus = n.number(-0.0f);
    std::vector<value_id> const outputs{n.op<ops::add>(x, plus), n.op<ops::sub>(x, minus), n.op<ops::add>(x, minus),
                                        n.op<ops::sub>(x, plus)};
    auto const g = n.after(simplify_expr{.signed_zeros = true}, outputs);
    CHECK(count<ops::add, ops::sub>(g) == 2);
    CHECK(n.outcome.skips("the sign of zero") == 2);
    auto const zeros = std::vector{tensor::from<float>({4}, {0, -0.0f, 1, -1})};
    auto const table = table_of<eval_row, standard_ops>();
    auto const after = evaluate_graph(g, table, zeros).value(), before = evaluate_graph(n.g, zeros).value();
    for (std::size_t i = 0; i < 4; ++i) CHECK(after[i].hash() == before[i].hash());
    CHECK(n.after(simplify_expr{}, outputs).size() == 2);
}

TEST_CASE("SimplifyExpr N7: what would round otherwise stays") {
    net n;
    auto const x = n.input({4});
    auto const two = n.number(2), three = n.number(3);
    CHECK(n.untouched(simplify_expr{}, {n.op<ops::div>(two, n.op<ops::sqrt>(x)),
                                        n.op<ops::add>(n.op<ops::add>(x, two), three), n.op<ops::add>(x, x)}));
}

TEST_CASE("SimplifyExpr: identities are gone") {
    net n;
    auto const x = n.input({2, 3});
    auto const same = n.b.add<ops::dropout>({}, {n.op<ops::identity>(x)});
    CHECK(n.after(simplify_expr{}, {n.op<ops::relu>(n.b.add<ops::pad>({.pads = {0, 0, 0, 0}}, {same}))}).size() == 3);
}

TEST_CASE("SimplifyExpr: random graphs compute the same, and a second run finds nothing") {
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 40));
        run(simplify_expr{}, m, true, seed + 1);
    }
}

TEST_CASE("SimplifyExpr: long chains take few sweeps") {
    net n;
    auto const x = n.input({2, 3});
    auto y = x;
    auto const zeros = n.b.constant(tensor::zeros(dtype::f32, ints{2, 3}));
    for (int i = 0; i < 20000; ++i) y = turned(n, n.op<ops::add>(reshaped(n, y, {2, 3}), zeros), {0, 1});
    n.g.set_outputs(std::vector{n.op<ops::relu>(y)});
    auto m = module_of(n.g);
    CHECK(run_pass(simplify_expr{}, m).value().matches == 60000);
    CHECK(m.find("main")->body.size() == 3);
}

TEST_CASE("SimplifyExpr finds nothing in image networks as built here, and the mask's two new axes in BERT") {
    auto const matches = [](any_graph g) {
        auto m = module_of(std::move(g));
        return run(simplify_expr{}, m, false).matches;
    };
    CHECK(matches(models::resnet50({.image = 32})) == 0);
    CHECK(matches(models::ssd_resnet50()) == 0);
    CHECK(matches(models::mobilenet_v2({.image = 32})) == 0);
    // The export has 25 casts to the own type besides.
    CHECK(matches(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50})) == 1);
}

} // namespace simplify_expr_test
