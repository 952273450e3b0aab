#include "passes/pass_trial.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/onnx_ops.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/passes/simplify/fast_math.hpp>

namespace fast_math_test {

using namespace gsub;
using namespace pass_trial;
using passes::fast_math;

value_id softmax(net& n, value_id v, std::int64_t axis, bool flatten = false) {
    return n.b.add<ops::softmax>({.axis = axis, .flatten = flatten}, {v});
}

TEST_CASE("FastMath P1, P2, P3: exp, tanh and erf are approximated") {
    net n;
    auto const x = n.input({64, 4});
    auto const g = n.after(fast_math{}, {n.op<ops::exp>(x), n.op<ops::tanh>(x), n.op<ops::erf>(x)});
    CHECK(n.outcome.matches == 3);
    CHECK(g.is<ops::fast_exp>(g.output(0).node));
    CHECK(g.is<ops::fast_tanh>(g.output(1).node));
    CHECK(g.is<ops::fast_erf>(g.output(2).node));
}

TEST_CASE("FastMath P4: softmax keeps its axis, and whether it flattens") {
    net n;
    auto const x = n.input({2, 3, 4});
    auto const g = n.after(fast_math{}, {softmax(n, x, 1), softmax(n, x, 1, true)});
    CHECK(g.attributes<ops::fast_softmax>(g.output(0).node).axis == 1);
    CHECK_FALSE(g.attributes<ops::fast_softmax>(g.output(0).node).flatten);
    CHECK(g.attributes<ops::fast_softmax>(g.output(1).node).flatten);
}

TEST_CASE("FastMath P5: a list that names it runs it, whatever its level") {
    net n;
    n.g.set_outputs(std::vector{n.op<ops::exp>(n.input({4}))});
    auto m = module_of(n.g);
    pass_context cx;
    pass_manager known;
    CHECK(known.add(fast_math{}).run("FastMath", m, cx).value().outcome.matches == 1);
}

TEST_CASE("FastMath N1: functions without an approximation stay, composite ones too") {
    net n;
    auto const x = n.input({4});
    CHECK(n.untouched(fast_math{}, {n.op<ops::sigmoid>(x), n.op<ops::log>(x), n.op<ops::pow>(x, n.number(2)),
                                    n.op<ops::log>(n.op<ops::sigmoid>(x)), n.op<ops::gelu>(x)}));
}

TEST_CASE("FastMath N2: other element types stay exact") {
    for (auto element : {dtype::f64, dtype::f16, dtype::bf16}) {
        net n;
        CHECK(n.untouched(fast_math{}, {n.op<ops::exp>(n.input({4}, "x", element))}));
        CHECK(n.outcome.skips("another element type than f32") == 1);
    }
}

TEST_CASE("FastMath: what is computed once, before the graph runs, is computed exactly") {
    net n;
    CHECK(n.untouched(fast_math{}, {n.op<ops::add>(n.input({4}), n.op<ops::exp>(n.weight({4})))}));
    CHECK(n.outcome.skips("done once") == 1);
}

TEST_CASE("FastMath N4: functions that somebody else compiles stay, kernels of gsub's own do not") {
    for (bool foreign : {false, true}) {
        net n;
        n.g.set_outputs(std::vector{n.op<ops::exp>(n.input({4}))});
        gsub::module m;
        m.add("main", n.g, {.primitive = !foreign, .compiler = foreign ? "else" : ""});
        CHECK(run(fast_math{}, m, false).changed != foreign);
    }
}

TEST_CASE("FastMath: infinities and NaN are what they were") {
    net n;
    auto const x = n.input({4});
    n.g.set_outputs(std::vector{n.op<ops::exp>(x), n.op<ops::tanh>(x), n.op<ops::erf>(x), softmax(n, x, 0)});
    auto m = module_of(n.g);
    run(fast_math{}, m, false);
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    constexpr auto nan_number = std::numeric_limits<float>::quiet_NaN();
    auto const table = table_of<eval_row, standard_ops>();
    std::vector<std::vector<float>> const rows{{infinity, -infinity, 0, -0.f},
                                               {nan_number, 1, 2, 3},
                                               {-infinity, -infinity, -infinity, -infinity},
                                               {1, -infinity, 2, 3}};
    for (auto const& row : rows) {
        auto const in = std::vector{tensor::from<float>(ints{4}, row)};
        auto const fast = evaluate_module(m, table, in).value(), plain = evaluate_graph(n.g, in).value();
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < 4; ++j) {
                auto const a = fast[i].data<float>()[j], b = plain[i].data<float>()[j];
                CAPTURE(i, j, a, b);
                CHECK(((a != a && b != b) || a == b || std::abs(a - b) <= 1e-5f * std::max(1.f, std::abs(b))));
            }
    }
}

TEST_CASE("FastMath: files have the exact operators, which is what they are read back as") {
    net n;
    auto const x = n.input({3, 4});
    n.b.outputs({n.op<ops::exp>(x), n.op<ops::tanh>(x), n.op<ops::erf>(x), softmax(n, x, 1), softmax(n, x, 0)});
    auto m = module_of(n.g);
    run(fast_math{}, m);
    auto const& g = m.find("main")->body;
    CHECK_FALSE(g == n.g);
    auto const bytes = io::to_onnx(g, table_of<io::onnx_row, standard_ops>()).value();
    CHECK(io::load_onnx<standard_ops>(std::as_bytes(std::span{bytes})).value() == n.g);
}

TEST_CASE("FastMath fires on every softmax and erf of BERT, and on ResNet-50 where it ends in a softmax alone") {
    models::bert_options const small{.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50};
    auto bert = module_of(models::bert_base(small));
    auto const functions = histogram_of(bert).count<ops::exp, ops::tanh, ops::erf, ops::softmax>();
    CHECK(run(fast_math{}, bert, false).matches == functions);
    CHECK(histogram_of(bert).count<ops::fast_softmax>() == 2);
    CHECK(histogram_of(bert).count<ops::exp, ops::tanh, ops::erf, ops::softmax>() == 0);
    auto resnet = module_of(models::resnet50({.image = 32}));
    auto const ends = histogram_of(resnet).count<ops::softmax>();
    CHECK(run(fast_math{}, resnet, false).matches == ends);
}

} // namespace fast_math_test
