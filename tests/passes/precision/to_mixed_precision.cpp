#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/precision/to_mixed_precision.hpp>

namespace to_mixed_precision_test {

using namespace gsub;
using namespace pass_trial;
using passes::precision_class;
using passes::to_mixed_precision;
using passes::unlisted_op;

struct unlisted {};

} // namespace to_mixed_precision_test

template <>
struct gsub::op_traits<to_mixed_precision_test::unlisted> : gsub::detail::unary_traits {
    static constexpr std::string_view name = "Unlisted", domain = "to_mixed_precision_test";
};
template <>
struct gsub::infer_shape<to_mixed_precision_test::unlisted> : gsub::same_as_input<0> {};

namespace to_mixed_precision_test {

template <class OpSet>
value_id conv(net_of<OpSet>& n, value_id x, std::uint64_t seed = 1) {
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1};
    a.pads = {1, 1, 1, 1};
    return n.b.template add<ops::conv>(a, {x, n.weight({4, 4, 3, 3}, seed)});
}
value_id image(net& n) {
    return n.input({1, 4, 5, 5});
}
// How many values of a graph are in an element type.
std::size_t values_in(any_graph const& g, dtype t) {
    std::size_t found = 0;
    for (auto n : g.order())
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) found += g.type({n, port}).element == t;
    return found;
}
template <class Op>
bool all_in(any_graph const& g, dtype t) {
    for (auto n : g.order())
        if (g.is<Op>(n) && g.type({n, 0}).element != t) return false;
    return count<Op>(g) > 0;
}

TEST_CASE("ToMixedPrecision P1, P6: a convolution reads and gives 16 bits, and outputs keep their type") {
    for (auto t : {dtype::f16, dtype::bf16}) {
        net n;
        auto g = n.after(to_mixed_precision{.target = t}, {conv(n, image(n))});
        CHECK(n.outcome.matches == 1);
        CHECK(all_in<ops::conv>(g, t));
        CHECK(count<ops::cast>(g) == 3); // x, W, and back
        CHECK(g.type(g.output(0)).element == dtype::f32);
        auto m = module_of(std::move(g));
        run(passes::fold_constant{}, m);
        CHECK(count<ops::cast>(m.find("main")->body) == 2); // the weight is stored in 16 bits
    }
}

TEST_CASE("ToMixedPrecision P2, P3: what follows convolutions computes in 16 bits without conversions between") {
    net n;
    auto const a = conv(n, image(n)), b = conv(n, a, 2);
    auto const sum = n.op<ops::add>(a, b);
    auto const deviations = n.op<ops::abs>(n.weight({4}, 4));
    auto const normal =
        n.b.add<ops::batch_norm>({}, {sum, n.weight({4}, 5), n.weight({4}, 6), n.weight({4}, 7), deviations});
    auto const g = n.after(to_mixed_precision{}, {n.op<ops::relu>(normal)});
    CHECK(n.outcome.matches == 5);
    CHECK(all_in<ops::conv>(g, dtype::f16));
    CHECK(all_in<ops::batch_norm>(g, dtype::f16));
    CHECK(all_in<ops::relu>(g, dtype::f16));
    CHECK(count<ops::cast>(g) == 8); // x, two kernels, four statistics, and back
}

TEST_CASE("ToMixedPrecision P4: softmax behind a convolution gets one conversion back, for all its readers") {
    net n;
    auto const c = conv(n, image(n));
    auto const g = n.after(to_mixed_precision{}, {n.b.add<ops::softmax>({}, {c}), n.op<ops::exp>(c), c});
    CHECK(count<ops::cast>(g) == 3);
    CHECK(all_in<ops::softmax>(g, dtype::f32));
    CHECK(g.operand(g.output(0).node, 0) == g.output(2));
}

TEST_CASE("ToMixedPrecision P5: values under names of their own change their types") {
    net n;
    auto v = n.input({2, 3});
    for (std::uint64_t i = 1; i < 4; ++i) v = n.op<ops::let>(n.op<ops::mat_mul>(v, n.weight({3, 3}, i)));
    auto const g = n.after(to_mixed_precision{}, {v});
    CHECK(all_in<ops::let>(g, dtype::f16));
    CHECK(count<ops::cast>(g) == 5);
}

TEST_CASE("ToMixedPrecision N1: without a convolution or matrix product nothing changes") {
    net n;
    auto const x = image(n);
    CHECK(n.untouched(to_mixed_precision{},
                      {n.b.add<ops::softmax>({}, {x}), n.b.add<ops::reduce_mean>({}, {x}), n.op<ops::relu>(x),
                       n.op<ops::global_average_pool>(x), n.b.add<ops::reduce_sum>({}, {x}),
                       n.op<ops::range>(n.number(0), n.number(5), n.number(1))}));
}

TEST_CASE("ToMixedPrecision N2: what follows f32 stays f32") {
    net n;
    auto const c = conv(n, image(n));
    auto const s = n.b.add<ops::softmax>({}, {c});
    auto const g = n.after(to_mixed_precision{}, {n.op<ops::add>(s, n.number(1)), n.op<ops::add>(s, c)});
    CHECK(all_in<ops::add>(g, dtype::f32));
    CHECK(n.outcome.matches == 1);
}

TEST_CASE("ToMixedPrecision N3, N4: integers are never converted, nor asked what an operator follows") {
    net n;
    auto const c = conv(n, image(n));
    auto const at = n.input({2}, "at", dtype::i64), how = n.input({1, 4, 5, 5}, "how", dtype::boolean);
    auto const g = n.after(to_mixed_precision{},
                           {n.b.add<ops::gather>({.axis = 1}, {c, at}), n.op<ops::where>(how, c, n.number(0)),
                            n.op<ops::add>(at, at), n.b.add<ops::shape>({}, {c})});
    CHECK(n.outcome.matches == 3);
    CHECK(all_in<ops::gather>(g, dtype::f16));
    CHECK(all_in<ops::where>(g, dtype::f16));
    CHECK(values_in(g, dtype::i64) == 3);
    CHECK(g.type(g.operand(g.output(3).node, 0)).element == dtype::f16); // its dimensions are looked at, no more
}

TEST_CASE("ToMixedPrecision N5: constants and bounds that f16 cannot hold keep f32, infinities do not") {
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    net n;
    auto const c = conv(n, image(n));
    std::vector<value_id> const outputs{n.op<ops::mul>(c, n.number(-1e6f)), n.op<ops::mul>(c, n.number(-infinity)),
                                        n.b.add<ops::clip>({.min = 0, .max = 1e5}, {c}),
                                        n.b.add<ops::clip>({.min = 0}, {c}),
                                        n.b.add<ops::pad>({.pads = {0, 0, 1, 1, 0, 0, 1, 1}, .value = -1e30}, {c})};
    auto const check = [&](dtype t, std::vector<dtype> const& expected) {
        auto const g = n.after(to_mixed_precision{.target = t}, outputs, false);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            auto v = g.output(i);
            if (g.is<ops::cast>(v.node)) v = g.operand(v.node, 0);
            CHECK(g.type(v).element == expected[i]);
        }
        return n.outcome.skips("a number beyond the type");
    };
    auto const narrow = dtype::f16, wide = dtype::f32, brain = dtype::bf16;
    CHECK(check(narrow, {wide, narrow, wide, narrow, wide}) == 3);
    CHECK(check(brain, {brain, brain, brain, brain, brain}) == 0);
}

TEST_CASE("ToMixedPrecision: an operator that must not compute in 16 bits gets the type that the graph gave it") {
    for (auto t : {dtype::f16, dtype::f64}) {
        net n;
        auto const x = n.input({4}, "x", t);
        auto const product = n.op<ops::mat_mul>(n.input({2, 2}, "y"), n.weight({2, 2}));
        auto const wide = n.op<ops::mat_mul>(n.input({2, 2}, "z", t), n.weight({2, 2}, 1, t));
        auto const g = n.after(to_mixed_precision{.target = dtype::bf16}, {n.op<ops::exp>(x), product, wide});
        CHECK(g.type(g.output(0)).element == t);
        CHECK(g.type(g.output(2)).element == t);
        CHECK(n.outcome.matches == 1);
    }
}

TEST_CASE("ToMixedPrecision: conversions that a graph already has are made once, and back gives the original") {
    net n;
    auto const x = image(n);
    auto const low = n.b.add<ops::cast>({.to = dtype::f16}, {x});
    auto const back = n.b.add<ops::cast>({.to = dtype::f32}, {low});
    auto const g = n.after(to_mixed_precision{}, {conv(n, back), conv(n, x, 2)});
    CHECK(count<ops::cast>(g) == 5); // x once, two kernels, two outputs
}

TEST_CASE("ToMixedPrecision: operators that nobody lists follow, and are counted or refused, rules list them") {
    using ops = standard_ops::with<unlisted>;
    net_of<ops> n;
    auto const x = n.input({1, 4, 5, 5});
    auto const u = n.template op<unlisted>(conv(n, x));
    auto const g = n.after(to_mixed_precision{}, {u}, false);
    CHECK(all_in<unlisted>(g, dtype::f16));
    CHECK(n.outcome.skips("not listed, follows: Unlisted") == 1);
    n.after(to_mixed_precision{.unlisted = unlisted_op::silent}, {u}, false);
    CHECK(n.outcome.skipped.empty());
    auto const listed = n.after(to_mixed_precision{.rules = {{"Unlisted", precision_class::never}}}, {u}, false);
    CHECK(all_in<unlisted>(listed, dtype::f32));
    auto m = module_of(n.g);
    CHECK(run_pass(to_mixed_precision{.unlisted = unlisted_op::error}, m).error().code() == error_code::unsupported);
    CHECK(run_pass(to_mixed_precision{.rules = {{"None", {}}}}, m).error().code() == error_code::usage);
    CHECK(run_pass(to_mixed_precision{.target = dtype::f32}, m).error().id() == errors::pass_arguments);
}

TEST_CASE("ToMixedPrecision: its arguments in lists are a type and what happens at unlisted operators") {
    auto const p = to_mixed_precision::from_text("bf16, error").value();
    CHECK(p.target == dtype::bf16);
    CHECK(p.unlisted == unlisted_op::error);
    CHECK(to_mixed_precision::from_text("").value().target == dtype::f16);
    CHECK_FALSE(to_mixed_precision::from_text("f64"));
}

TEST_CASE("ToMixedPrecision: a second run changes nothing, whatever the graph") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        auto m = module_of(random_graph::make(seed, 60));
        run(to_mixed_precision{.target = seed % 2 ? dtype::f16 : dtype::bf16}, m, false);
    }
}

TEST_CASE("ToMixedPrecision: thousands of layers take one sweep") {
    net n;
    auto v = n.input({2, 3});
    auto const w = n.weight({3, 3});
    for (int i = 0; i < 20000; ++i) v = n.op<ops::relu>(n.op<ops::mat_mul>(v, w));
    n.g.set_outputs(std::vector{v});
    auto m = module_of(n.g);
    CHECK(run_pass(to_mixed_precision{}, m).value().matches == 40000);
    CHECK(count<ops::cast>(m.find("main")->body) == 3);
}

TEST_CASE("ToMixedPrecision fires on all of ResNet-50 and MobileNetV2 but the last mean, and on BERT's products") {
    auto const check = [](any_graph g) {
        auto const products = count<ops::conv, ops::mat_mul, ops::gemm>(g);
        auto m = module_of(std::move(g));
        run(to_mixed_precision{}, m, false);
        auto const& after = m.find("main")->body;
        std::size_t low = 0;
        for (auto n : after.order())
            if (after.is<ops::conv>(n) || after.is<ops::mat_mul>(n) || after.is<ops::gemm>(n))
                low += after.type({n, 0}).element == dtype::f16;
        CHECK(low == products);
        return after;
    };
    for (auto const& g : {check(models::resnet50({.image = 32})), check(models::mobilenet_v2({.image = 32}))}) {
        CHECK(all_in<ops::global_average_pool>(g, dtype::f32));
        CHECK(all_in<ops::add>(g, dtype::f16));
    }
    auto const g = check(models::bert_base({.sequence = 8, .layers = 2, .hidden = 16, .heads = 2, .vocabulary = 50}));
    CHECK(all_in<ops::softmax>(g, dtype::f32));
}

} // namespace to_mixed_precision_test
