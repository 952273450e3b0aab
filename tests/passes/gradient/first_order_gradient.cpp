#include "passes/gradient_check.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/passes/simplify/simplify_inference.hpp>

namespace first_order_gradient_test {

using namespace gradient_check;

TEST_CASE("FirstOrderGradient P1: x + x gives two everywhere") {
    net n;
    auto const x = n.input({2, 3});
    n.b.outputs({n.op<ops::add>(x, x)});
    auto const g = with_gradients(n.g);
    REQUIRE(g.output_count() == 2);
    CHECK(g.info().output_names[1] == "grad_x");
    auto const out = computed(g, random_inputs(n.g, 1));
    for (auto v : out[1].data<double>()) CHECK(v == 2);
}

TEST_CASE("FirstOrderGradient P2: x - x gives zeros") {
    net n;
    auto const x = n.input({2, 3});
    n.b.outputs({n.op<ops::sub>(x, x)});
    auto const out = computed(with_gradients(n.g), random_inputs(n.g, 1));
    for (auto v : out[1].data<double>()) CHECK(v == 0);
}

TEST_CASE("FirstOrderGradient P3: operands that were broadcast get sums") {
    for (auto const& sizes : {ints{1, 5}, ints{5}, ints{}, ints{4, 1}, ints{3, 1, 1}, ints{1, 1, 1, 1}})
        for (bool first : {true, false}) {
            wide_net n;
            auto const a = n.in({3, 4, 1}, "a"), b = n.in(sizes, "b");
            auto const y = first ? n.op<ops::mul>(n.op<ops::add>(a, b), b) : n.op<ops::div>(b, n.op<ops::sub>(b, a));
            check(n.of(y), against::both, first);
        }
}

// P4: functions take and give values, not tuples. Results of a split stand for projections.
TEST_CASE("FirstOrderGradient P4: of a split, only the parts that are used get a gradient") {
    wide_net n;
    auto const x = n.in({2, 6});
    auto const s = n.b.add<ops::split>({.axis = 1, .sizes = {1, 2, 3}}, {x}, 3).node;
    n.of(n.op<ops::exp>(value_id{s, 1}));
    check(n.g);
    auto const out = computed(with_gradients(n.g), {tensor::zeros(dtype::f64, ints{2, 6})});
    CHECK(out[1].data<double>()[0] == 0);
    CHECK(out[1].data<double>()[1] != 0);
    CHECK(out[1].data<double>()[3] == 0);
}

TEST_CASE("FirstOrderGradient P5: one product forwards and two backwards") {
    wide_net n;
    auto const y = n.op<ops::mat_mul>(n.in({4, 3}, "a"), n.in({3, 5}, "b"));
    n.of(n.op<ops::mul>(y, y));
    CHECK(count<ops::mat_mul>(with_gradients(n.g)) == 3);
    check(n.g);
}

TEST_CASE("FirstOrderGradient P6: an input that nothing depends on has a gradient of zeros") {
    wide_net n;
    n.in({2, 2}, "unused");
    auto const batch = n.b.input(dtype::f64, shape{dim{symbol{"n"}}, 3}, "open");
    n.of(n.op<ops::exp>(n.in({3})));
    auto const g = with_gradients(n.g);
    auto const out = computed(g, {tensor::zeros(dtype::f64, ints{2, 2}), tensor::zeros(dtype::f64, ints{5, 3}),
                                  tensor::zeros(dtype::f64, ints{3})});
    REQUIRE(out.size() == 4);
    CHECK(std::ranges::equal(out[1].dims(), ints{2, 2}));
    CHECK(std::ranges::equal(out[2].dims(), ints{5, 3}));
    CHECK(total(out[1]) + total(out[2]) == 0);
    static_cast<void>(batch);
}

TEST_CASE("FirstOrderGradient N1: operators without a rule are all named") {
    net n;
    auto const x = n.input({1, 4, 3, 3});
    auto const normal =
        n.b.add<ops::batch_norm>({}, {n.op<ops::let>(x), n.weight({4}), n.weight({4}), n.weight({4}), n.weight({4})});
    n.b.outputs({n.op<ops::relu>(normal)});
    auto const e = failure(n.g);
    CHECK(e.id() == errors::no_gradient);
    REQUIRE(e.problems().size() == 2);
    CHECK(e.problems()[0].op == "Let");
    CHECK(e.problems()[1].op == "BatchNormalization");
    CHECK(e.problems()[1].hint.find("simplify-inference") != std::string::npos);
}

TEST_CASE("FirstOrderGradient N2: let, calls and conditions on the way are errors, elsewhere they are none") {
    net n;
    auto const x = n.input({3});
    auto const bound = n.op<ops::let>(x);
    n.b.outputs({bound});
    CHECK(failure(n.g).problems()[0].op == "Let");
    net other;
    auto const y = other.input({3}), z = other.input({3}, "z");
    other.b.outputs({other.op<ops::mul>(y, other.op<ops::let>(z))});
    CHECK(failure(other.g).problems()[0].op == "Let");
    CHECK(with_gradients(other.g, {.with_respect_to = {"x"}}).output_count() == 2);

    net foreign;
    auto const q = foreign.input({3});
    auto const node =
        foreign.g.add_opaque({.op_type = "Det"}, tensor::scalar(0.f), std::vector{q}, std::vector{type_id{}});
    foreign.b.outputs({value_id{node, 0}});
    CHECK(failure(foreign.g).problems()[0].op == "Det");

    gsub::module m;
    net callee;
    callee.b.outputs({callee.op<ops::exp>(callee.input({3}))});
    m.add("f", callee.g);
    net caller;
    auto const p = caller.input({3});
    caller.g.set_outputs(std::vector{value_id{add_call(caller.g, m, "f", std::vector{p}), 0}});
    m.add("main", caller.g);
    pass_context cx;
    auto const called = run_pass(first_order_gradient{}, m, cx);
    REQUIRE_FALSE(called);
    CHECK(called.error().problems()[0].op == "call");
    m.set_entry_points({"f", "main"});
    CHECK_FALSE(run_pass(first_order_gradient{}, m, cx)); // another function reads its results
    auto apart = module_of(caller.g);
    apart.find("main")->body.set_outputs(std::vector{value_id{apart.find("main")->body.inputs()[0], 0}});
    apart.add("f", callee.g);
    auto const alone = run_pass(first_order_gradient{}, apart, cx);
    if (!alone) FAIL(alone.error().message());
    CHECK(alone->skips("no entry function") == 1);
}

TEST_CASE("FirstOrderGradient N3: integer inputs have no gradient, and asking for one is an error") {
    net n;
    auto const table = n.input({5, 3}, "table"), i = n.b.input(dtype::i64, shape{2}, "index");
    n.b.outputs({n.b.add<ops::gather>({}, {table, i})});
    auto const g = with_gradients(n.g);
    CHECK(g.output_count() == 2);
    CHECK(failure(n.g, {.with_respect_to = {"index"}}).code() == error_code::usage);
    CHECK(failure(n.g, {.with_respect_to = {"nobody"}}).code() == error_code::usage);
    CHECK(failure(n.g, {.of = {"nobody"}}).code() == error_code::usage);
    net whole;
    whole.b.outputs({whole.b.input(dtype::i64, shape{2}, "i")});
    auto m = module_of(whole.g);
    auto const outcome = run_pass(first_order_gradient{}, m).value();
    CHECK_FALSE(outcome.changed);
    CHECK(outcome.skips("nothing to differentiate by") == 1);
}

TEST_CASE("Gradients with respect to a weight, of one output of several, with seeds") {
    wide_net n;
    auto const x = n.in({3, 4});
    auto w = tensor::uninitialized(dtype::f64, ints{4, 2});
    fill_random(w, random_stream{5});
    auto const y = n.op<ops::tanh>(n.op<ops::mat_mul>(x, n.b.constant(w, "w")));
    n.b.outputs({n.op<ops::exp>(x), y}, {"other", "y"});
    auto const p = first_order_gradient::from_text("w, of=y, seeds").value();
    CHECK(p.with_respect_to == std::vector<std::string>{"w"});
    auto const g = with_gradients(n.g, p);
    REQUIRE(g.inputs().size() == 2);
    CHECK(g.name({g.inputs()[1], 0}) == "seed_y");
    CHECK(g.info().output_names == std::vector<std::string>{"other", "y", "grad_w"});
    // The same with w as an input and the seed as a factor.
    wide_net m;
    auto const mx = m.in({3, 4}), mw = m.in({4, 2}, "w"), ms = m.in({3, 2}, "s");
    m.b.outputs({m.op<ops::mul>(m.op<ops::tanh>(m.op<ops::mat_mul>(mx, mw)), ms)});
    auto const wanted = with_gradients(m.g, {.with_respect_to = {"w"}});
    auto inputs = random_inputs(g, 3);
    auto const a = computed(g, inputs)[2], b = computed(wanted, {inputs[0], w, inputs[1]})[1];
    CHECK(compare(a, b).value().max_relative < 1e-12);
}

TEST_CASE("A second run gives second derivatives, which are right too") {
    wide_net n;
    auto const x = n.in({3});
    n.b.outputs({n.op<ops::mul>(n.op<ops::mul>(x, x), x)}, {"y"});
    auto const twice = with_gradients(with_gradients(n.g), {.of = {"grad_x"}});
    REQUIRE(twice.output_count() == 3);
    CHECK(twice.info().output_names[2] == "grad_x_2");
    auto const out = computed(twice, {tensor::from({3}, {1.0, -2.0, 3.0})});
    CHECK(std::ranges::equal(out[2].data<double>(), std::vector<double>{6, -12, 18}));

    wide_net m;
    auto const image = m.in({1, 2, 5, 5}), kernel = m.in({2, 2, 3, 3}, "w");
    attributes_of<ops::conv> a;
    a.strides = {2, 2}, a.pads = {1, 1, 1, 1}, a.dilations = {1, 1};
    auto const y = m.op<ops::tanh>(m.b.add<ops::conv>(a, {image, kernel}));
    auto const flat = m.b.add<ops::flatten>({}, {m.op<ops::global_average_pool>(y)});
    m.of(m.b.add<ops::softmax>({}, {flat}));
    check(with_gradients(m.g), against::differences);
}

TEST_CASE("Gradients keep element types, 16-bit ones too") {
    for (auto t : {dtype::f16, dtype::bf16, dtype::f32}) {
        net n;
        auto const x = n.input({2, 3}, "x", t);
        n.b.outputs({n.b.add<ops::cast>({.to = dtype::f32}, {n.op<ops::tanh>(x)})});
        auto const g = with_gradients(n.g);
        CHECK(g.type(g.output(1)).element == t);
    }
}

TEST_CASE("A batch of open size can be differentiated where no rule needs to know it") {
    net n;
    auto const x = n.b.input(dtype::f32, shape{dim{symbol{"n"}}, 4}, "x");
    auto const y = n.op<ops::tanh>(n.op<ops::add>(n.op<ops::mat_mul>(x, n.weight({4, 3})), n.weight({3})));
    n.b.outputs({n.b.add<ops::softmax>({}, {y})});
    auto const g = with_gradients(n.g);
    for (std::int64_t batch : {1, 5}) {
        auto t = tensor::zeros(dtype::f64, ints{batch, 4});
        CHECK(std::ranges::equal(computed(g, {t})[1].dims(), ints{batch, 4}));
    }
}

TEST_CASE("FirstOrderGradient: the list name runs what it requires first") {
    auto m = module_of(models::resnet18({.image = 32, .classes = 3}));
    pass_context cx;
    REQUIRE(passes::standard_passes().run("first-order-gradient", m, cx));
    CHECK(m.find("main")->body.output_count() == 2);
    CHECK(count<ops::batch_norm>(m.find("main")->body) == 0);
}

TEST_CASE("FirstOrderGradient: small ResNet-18 and MobileNet v2, after the pass that takes normalisations apart") {
    for (auto const& g :
         {models::resnet18({.image = 32, .classes = 5}), models::mobilenet_v2({.image = 32, .classes = 5})}) {
        auto m = module_of(g);
        REQUIRE(run_pass(passes::simplify_inference{}, m));
        check(m.find("main")->body, against::differences, false, 3);
    }
}

TEST_CASE("FirstOrderGradient: a chain of a hundred thousand nodes") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f64, {2}, "x");
    auto y = x;
    for (int i = 0; i < 100'000; ++i) y = i % 2 == 0 ? b.add<ops::tanh>(y) : b.add<ops::add>(y, x);
    b.outputs({y});
    CHECK(with_gradients(g).size() > 300'000);
}

TEST_CASE("FirstOrderGradient: one layer of BERT, with respect to a table that rows are gathered from") {
    auto g = models::bert_base(
        {.sequence = 6, .layers = 1, .hidden = 8, .heads = 2, .intermediate = 12, .vocabulary = 11, .positions = 8});
    auto m = module_of(g);
    REQUIRE(run_pass(passes::simplify_inference{}, m));
    auto const& body = m.find("main")->body;
    node_id table;
    for (auto n : body.order())
        if (body.is<ops::constant>(n) && !table.valid())
            if (auto const& t = body.type({n, 0}); t.element == dtype::f32 && t.rank() == 2 && t.sizes()[0] == 11)
                table = n;
    REQUIRE(table.valid());
    auto const name = std::string{body.name({table, 0})};
    REQUIRE_FALSE(name.empty());
    auto const d = with_gradients(body, {.with_respect_to = {name}});
    auto const inputs = random_inputs(body, 4);
    auto const found = computed(d, inputs).back();
    auto const rows = body.constant_data(table).converted_to(dtype::f64);
    auto along = tensor::zeros(dtype::f64, rows.dims());
    fill_random(along, random_stream{6});
    // The same graph with the table as an input.
    auto open = body;
    auto const in = open.add_input(tensor_type{dtype::f32, rows.dims()}, "rows");
    open.replace_uses({table, 0}, in);
    REQUIRE(open.sort());
    auto const at = [&](double h) {
        auto all = inputs;
        all.push_back(moved(rows, along, h));
        return sum_of_outputs(open, all);
    };
    auto const difference = (at(1e-5) - at(-1e-5)) / 2e-5;
    CHECK(std::abs(dot(found, along) - difference) < 1e-6 * std::max(1.0, std::abs(difference)));
}

} // namespace first_order_gradient_test
