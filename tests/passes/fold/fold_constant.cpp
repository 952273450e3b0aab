#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

namespace fold_constant_test {

using namespace gsub;
using namespace pass_trial;
using passes::fold_constant;

struct unknown {}; // without an evaluation

} // namespace fold_constant_test

template <>
struct gsub::op_traits<fold_constant_test::unknown> {
    static constexpr std::string_view name = "Unknown", domain = "fold_constant_test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::infer_shape<fold_constant_test::unknown> : gsub::same_as_input<0> {};

namespace fold_constant_test {

tensor folded(any_graph const& g, value_id v) {
    REQUIRE(g.is<ops::constant>(v.node));
    return g.constant_data(v.node);
}

TEST_CASE("FoldConstant P1: arithmetic on constants is done once") {
    net n;
    auto const x = n.input({2});
    auto const c = n.op<ops::add>(n.b.constant(tensor::from<float>({2}, {1, 2})), n.number(0.5f));
    auto const g = n.after(fold_constant{}, {n.op<ops::mul>(c, x)});
    CHECK(n.outcome.matches == 1);
    CHECK(g.size() == 4);
    CHECK(folded(g, g.operand(g.output(0).node, 0)).data<float>()[1] == 2.5f);
}

TEST_CASE("FoldConstant P2: constants put together are one") {
    net n;
    auto const c = n.b.add<ops::concat>({.axis = 0}, {n.weight({2}), n.weight({3}, 2)});
    auto const g = n.after(fold_constant{}, {n.op<ops::mul>(n.input({5}), c)});
    CHECK(folded(g, g.operand(g.output(0).node, 1)).elements() == 5);
}

TEST_CASE("FoldConstant P3: known dimensions are a constant, whole or in part, of a value that is none") {
    net n;
    auto const rows = dim{symbol{"rows"}};
    auto const x = n.b.input(dtype::f32, {rows, 3, 4}, "x"), y = n.input({2, 3, 4}, "y");
    auto const whole = n.b.add<ops::shape>({}, {n.op<ops::add>(y, y)});
    auto const part = n.b.add<ops::shape>({.start = -2}, {x});
    auto const none = n.b.add<ops::shape>({.start = 3}, {x});
    auto const g = n.after(fold_constant{}, {whole, part, none, y});
    CHECK(n.outcome.matches == 3);
    CHECK(folded(g, g.output(0)).to_ints() == ints{2, 3, 4});
    CHECK(folded(g, g.output(1)).to_ints() == ints{3, 4});
    CHECK(folded(g, g.output(2)).elements() == 0);
    CHECK(count<ops::add>(g) == 0);
}

TEST_CASE("FoldConstant P3: what is computed from dimensions is known too") {
    net n;
    auto const x = n.input({2, 3, 4, 5});
    auto const dims = n.b.add<ops::shape>({}, {x});
    auto const first = n.b.add<ops::gather>({}, {dims, n.b.constant(tensor::from<std::int64_t>({1}, {0}))});
    auto const to = n.b.add<ops::concat>({}, {first, n.b.constant(tensor::from<std::int64_t>({1}, {-1}))});
    auto const g = n.after(fold_constant{}, {n.b.add<ops::reshape>({}, {x, to})});
    CHECK(g.size() == 4);
    CHECK(n.outcome.matches == 2);
}

// main: If(condition, relu, tanh)(x), and a branch that has an If of its own.
gsub::module branching(bool known, bool constant_condition = true) {
    gsub::module m;
    auto const body = [&](auto build) {
        graph g;
        graph_builder b{g};
        b.outputs({build(b, b.input(dtype::f32, {4}, "x"))});
        return g;
    };
    m.add("relu", body([](auto& b, value_id x) { return b.template add<ops::relu>(x); }));
    m.add("tanh", body([](auto& b, value_id x) { return b.template add<ops::tanh>(x); }));
    m.add("nested", body([&](auto& b, value_id x) {
              auto const no = b.template add<ops::logical_not>(b.constant(tensor::scalar(true)));
              return value_id{add_if(b.graph(), m, no, "relu", "tanh", {&x, 1}), 0};
          }));
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4}, "x");
    auto const condition =
        constant_condition ? b.constant(tensor::scalar(known)) : b.input(dtype::boolean, shape{}, "condition");
    b.outputs({{add_if(g, m, condition, "nested", "relu", {&x, 1}), 0}});
    m.add("main", std::move(g));
    return m;
}

TEST_CASE("FoldConstant P4: an If of known condition is the branch taken, branches in branches too") {
    auto taken = branching(true), other = branching(false), open = branching(true, false);
    auto const before = taken;
    CHECK(run(fold_constant{}, taken, false).changed);
    auto const table = table_of<eval_row, standard_ops>();
    auto const x = std::vector{tensor::from<float>({4}, {-1, 0, 1, 2})};
    CHECK(evaluate_module(taken, table, x).value()[0].hash() == evaluate_module(before, table, x).value()[0].hash());
    CHECK(count<ops::if_else>(taken.find("main")->body) == 0);
    CHECK(count<ops::tanh>(taken.find("main")->body) == 1);
    run(fold_constant{}, other);
    CHECK(count<ops::relu>(other.find("main")->body) == 1);
    run(fold_constant{}, open, false);
    CHECK(count<ops::if_else>(open.find("main")->body) == 1);
    CHECK(count<ops::if_else>(open.find("nested")->body) == 0);
}

// P5: there is no let, a constant that is read twice is one node; projections of literal tuples do not exist either.
// P6: see the tests of simplify-inference.

TEST_CASE("FoldConstant P7: kernels are left alone, and their calls are not folded") {
    graph g;
    graph_builder b{g};
    auto const c = b.constant(tensor::from<float>({2}, {1, 2}));
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const y = b.add<ops::sigmoid>(b.add<ops::mul>(x, b.add<ops::exp>(c)));
    b.outputs({y});
    auto m = module_of(g);
    CHECK(run_pass(passes::fuse_ops{}, m).value().changed);
    auto const fused = m;
    run(fold_constant{}, m);
    for (auto const& f : m.functions())
        if (f.attributes.primitive) CHECK(f.body == fused.find(f.name)->body);
    gsub::module constant_call;
    graph kernel;
    graph_builder kb{kernel};
    kb.outputs({kb.add<ops::relu>(kb.input(dtype::f32, {2}, "x"))});
    constant_call.add("kernel", kernel, {.primitive = true});
    graph caller;
    auto const two = caller.add_constant(tensor::from<float>({2}, {1, 2}));
    auto const call = value_id{add_call(caller, constant_call, "kernel", {&two, 1}), 0};
    caller.set_outputs({&call, 1});
    constant_call.add("main", caller);
    CHECK_FALSE(run(fold_constant{}, constant_call).changed);
}

TEST_CASE("FoldConstant N1: tensors made out of attributes stay, and so does what is large and made out of little") {
    net n;
    auto const x = n.input({64, 64});
    auto const ones = n.b.add<ops::fill>({.shape = {64, 64}, .value = 1}, {});
    auto const wide = n.b.add<ops::expand>({.shape = {64, 64}}, {n.number(3)});
    CHECK(n.untouched(fold_constant{}, {n.op<ops::add>(n.op<ops::mul>(x, ones), wide)}));
    CHECK(n.outcome.skips("large and made out of little") == 1);
    auto const g = n.after(fold_constant{.max_created = 4096}, {n.op<ops::add>(n.op<ops::mul>(x, ones), wide)});
    CHECK(count<ops::fill>(g) == 1);
    CHECK(count<ops::expand>(g) == 0);
}

TEST_CASE("FoldConstant: weights that are stored in few bits stay so, but not where they are computed with") {
    net n;
    auto const q = n.weight({8}, 1, dtype::i8);
    auto const w = n.b.add<ops::dequantize>(q, n.number(0.5f));
    auto const x = n.input({8});
    CHECK(n.untouched(fold_constant{}, {n.op<ops::mul>(x, w)}));
    CHECK(n.outcome.skips("stored in few bits") == 1);
    auto const g = n.after(fold_constant{}, {n.op<ops::mul>(x, n.op<ops::exp>(w))});
    CHECK(count<ops::dequantize, ops::exp>(g) == 0);
}

TEST_CASE("FoldConstant: what a large value is made of is folded, and what is computed from it and smaller") {
    net n;
    auto const sum = n.op<ops::exp>(n.number(3));
    auto const wide = n.b.add<ops::expand>({.shape = {64, 64}}, {sum});
    auto const small = n.b.add<ops::reduce_sum>(reduce_attributes{}, {wide});
    auto const g = n.after(fold_constant{}, {n.op<ops::add>(n.input({64, 64}), wide), small});
    CHECK(n.outcome.matches == 2);
    CHECK(count<ops::expand>(g) == 1);
    CHECK(count<ops::exp, ops::reduce_sum>(g) == 0);
}

// N2: no operator of the library is random or has a state; those of a file that may be are opaque.
TEST_CASE("FoldConstant: values of more elements than asked for stay, what is smaller is folded behind them too") {
    net n;
    auto const turned = n.b.add<ops::transpose>({.perm = {1, 0}}, {n.weight({64, 32})});
    auto const x = n.input({4, 32});
    auto const largest = n.b.add<ops::reduce_max>({}, {turned});
    auto const y = n.op<ops::mul>(n.op<ops::mat_mul>(x, turned), largest);
    auto const g = n.after(fold_constant::from_text("100").value(), {y});
    CHECK(count<ops::transpose>(g) == 1);
    CHECK(count<ops::reduce_max>(g) == 0);
    CHECK(n.outcome.skips("larger than asked for") == 1);
    for (auto const* wrong : {"", "many", "12 ", "-1"}) CHECK_FALSE(fold_constant::from_text(wrong));
}

TEST_CASE("FoldConstant N2: opaque nodes on constants stay") {
    net n;
    auto const c = n.weight({4});
    auto const type = n.g.type_of(c);
    auto const opaque = n.g.add_opaque({.domain = "", .op_type = "RandomNormalLike"}, tensor::zeros(dtype::u8, ints{1}),
                                       {&c, 1}, {&type, 1});
    CHECK(n.untouched(fold_constant{}, {n.op<ops::add>(n.input({4}), value_id{opaque, 0})}, false));
}

TEST_CASE("FoldConstant N3: unknown dimensions stay to be asked") {
    net n;
    auto const x = n.b.input(dtype::f32, {dim{symbol{"n"}}, 4}, "x");
    CHECK(n.untouched(fold_constant{}, {n.b.add<ops::shape>({}, {x})}));
    CHECK(n.outcome.skips("unknown dimension") == 1);
}

TEST_CASE("FoldConstant N4: dropout on a constant is the constant, but not where it would train") {
    net n;
    auto const kept = n.b.add<ops::dropout>({}, {n.weight({3})});
    auto const g = n.after(fold_constant{}, {n.op<ops::add>(n.input({3}), kept)});
    CHECK(count<ops::dropout>(g) == 0);
    auto const training =
        n.b.add<ops::dropout>({}, {n.op<ops::exp>(n.weight({3})), n.number(0.5f), n.b.constant(tensor::scalar(true))});
    auto const mixed = n.after(fold_constant{}, {n.op<ops::add>(training, kept), n.op<ops::add>(kept, kept)}, false);
    CHECK(count<ops::dropout>(mixed) == 1);
    CHECK(n.outcome.skips("cannot be computed") == 1);
    CHECK(n.outcome.matches == 2);
}

TEST_CASE("FoldConstant: an operator without an evaluation stays, with what is computed from it") {
    net_of<standard_ops::with<unknown>> n;
    auto const odd = n.op<ops::exp>(n.op<unknown>(n.op<ops::exp>(n.weight({3}))));
    n.g.set_outputs(std::vector{odd, n.op<ops::exp>(n.weight({3}, 2))});
    auto m = module_of(n.g);
    pass_context cx;
    cx.evaluators = table_of<eval_row, standard_ops::with<unknown>>().data();
    auto const outcome = run_pass(fold_constant{}, m, cx).value();
    CHECK(outcome.matches == 2);
    CHECK(outcome.skips("no evaluation is known") == 2);
    CHECK(count<ops::exp>(m.find("main")->body) == 1);
}

TEST_CASE("FoldConstant: numbers are those of the graph in every element type, overflow and division by zero too") {
    for (auto t : stored_dtypes) {
        if (t == dtype::boolean) continue;
        CAPTURE(to_string(t));
        net n;
        auto const large = n.b.constant(tensor::from<float>({4}, {120, -100, 0, 3}).converted_to(t));
        auto const x = n.input({4}, "x", t);
        auto const product = n.op<ops::mul>(large, n.op<ops::mul>(large, large));
        std::vector<value_id> outputs{n.op<ops::add>(x, n.op<ops::add>(product, large))};
        if (is_floating(t)) {
            outputs.push_back(n.op<ops::add>(x, n.op<ops::div>(large, n.op<ops::sub>(large, large))));
            outputs.push_back(n.op<ops::add>(x, n.op<ops::tanh>(n.op<ops::exp>(large))));
        }
        n.after(fold_constant{}, outputs);
        CHECK(n.outcome.changed);
    }
}

TEST_CASE("FoldConstant: no bit of a random graph changes, and nothing constant is left to do") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 30));
        run(fold_constant{}, m, true, seed + 1);
        auto const& g = m.find("main")->body;
        for (auto node : g.order())
            CHECK((!g.constant(node) || g.is<ops::constant>(node) || g.op(node).category == op_category::source));
    }
}

TEST_CASE("FoldConstant: long chains of constants and many readers take one sweep") {
    net n;
    auto c = n.weight({2});
    auto const x = n.input({2});
    std::vector<value_id> outputs;
    for (int i = 0; i < 20000; ++i) {
        c = n.op<ops::tanh>(c);
        if (i % 4 == 0) outputs.push_back(n.op<ops::add>(x, c));
    }
    n.g.set_outputs(outputs);
    auto m = module_of(n.g);
    CHECK(run_pass(fold_constant{}, m).value().matches == 5000);
}

TEST_CASE("FoldConstant leaves a constant whose size is found by computing it where no reader takes it") {
    graph g;
    graph_builder b{g};
    auto const places = b.add<ops::non_zero>(b.constant(tensor::from<float>({4}, {1, 0, 2, 0})));
    b.outputs({b.add<ops::add>(b.input(dtype::i64, {1, 3}, "x"), places)});
    module m;
    m.add("main", any_graph{g});
    pass_context cx;
    auto const done = run_pass(fold_constant{}, m, cx);
    REQUIRE(done);
    CHECK(m.find("main")->body == g);
}

TEST_CASE("FoldConstant fires nowhere on networks whose weights are constants") {
    auto const matches = [](any_graph g) {
        auto m = module_of(std::move(g));
        return run(fold_constant{}, m, false).matches;
    };
    CHECK(matches(models::resnet50({.image = 32})) == 0);
    CHECK(matches(models::mobilenet_v2({.image = 32})) == 0);
    // What follows from the position of a word: one Gather. The exports compute shapes too, the builder does not.
    CHECK(matches(models::bert_base({.sequence = 8, .layers = 1, .hidden = 16, .heads = 2, .vocabulary = 50})) == 1);
}

} // namespace fold_constant_test
