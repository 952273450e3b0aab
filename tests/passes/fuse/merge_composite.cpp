#include "catch.hpp"
#include "ir/random_graph.hpp"
#include "passes/pass_trial.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/fuse/merge_composite.hpp>

#include <map>
#include <string>

namespace merge_composite_test {

using namespace gsub;
using namespace gsub::pattern;
using pass_trial::module_of;
using pass_trial::net;
using passes::composite;
using passes::merge_composite;

inline constexpr auto x = var<"x">;
inline constexpr auto y = var<"y">;
inline constexpr auto z = var<"z">;
inline constexpr operator_word<ops::abs> magnitude{};

// How many functions there are of each pattern.
using tally = std::map<std::string, int>;
tally found(gsub::module const& m) {
    tally all;
    for (auto const& f : m.functions())
        if (!f.attributes.composite_name.empty()) ++all[f.attributes.composite_name];
    return all;
}
struct merged {
    gsub::module m;
    pass_outcome outcome;
    tally names;
};
merged merge(net& n, std::vector<value_id> const& outputs, merge_composite const& p = {}) {
    n.g.set_outputs(outputs);
    merged r{module_of(n.g), {}, {}};
    r.outcome = pass_trial::run(p, r.m);
    CHECK(r.m.inlined().value() == n.g);
    r.names = found(r.m);
    return r;
}
value_id conv_of(net& n, value_id v) {
    attributes_of<ops::conv> a;
    a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
    return n.b.add<ops::conv>(a, {v, n.weight({4, 4, 3, 3})});
}

TEST_CASE("MergeComposite P1: a convolution with bias and activation, weights inside") {
    net n;
    auto const v = n.op<ops::relu>(n.op<ops::add>(conv_of(n, n.input({1, 4, 6, 6})), n.weight({4, 1, 1})));
    auto const r = merge(n, {v});
    CHECK(r.names == tally{{"conv_bias_relu", 1}});
    REQUIRE(r.m.find("conv_bias_relu_0"));
    CHECK(r.m.find("conv_bias_relu_0")->body.inputs().size() == 1);
    CHECK(pass_trial::count<ops::constant>(r.m.find("main")->body) == 0);
}

inline constexpr auto p_a = composite<"A">(relu(magnitude(add(x, y))));
inline constexpr auto p_b = composite<"B">(magnitude(add(x, y)));
inline constexpr auto p_c = composite<"C">(relu(magnitude(x)));

TEST_CASE("MergeComposite P2: patterns go in the order of the table") {
    auto const with = [](auto const&... patterns) {
        net n;
        auto const v = n.op<ops::relu>(n.op<ops::abs>(n.op<ops::add>(n.input({2}), n.input({2}, "y"))));
        auto const table = rule_list(patterns...);
        return merge(n, {v}, {.table = table}).names;
    };
    CHECK(with(p_a, p_b, p_c) == tally{{"A", 1}});
    CHECK(with(p_b, p_a, p_c) == tally{{"B", 1}});
    CHECK(with(p_c, p_a, p_b) == tally{{"C", 1}});
}

TEST_CASE("MergeComposite P3: matches apart, matches that share an input, and of overlapping ones the nearest to the "
          "output") {
    static constexpr auto table = rule_list(p_c);
    net n;
    auto const in = n.input({2});
    auto const one = n.op<ops::relu>(n.op<ops::abs>(in)), two = n.op<ops::relu>(n.op<ops::abs>(in));
    CHECK(merge(n, {one, n.op<ops::relu>(n.op<ops::abs>(two))}, {.table = table}).names == tally{{"C", 3}});
    static constexpr auto two_abs = composite<"D">(magnitude(magnitude(x)));
    static constexpr auto chain = rule_list(two_abs);
    net three;
    auto v = three.input({2});
    for (int i = 0; i < 3; ++i) v = three.op<ops::abs>(v);
    auto const r = merge(three, {v}, {.table = chain});
    CHECK(r.names == tally{{"D", 1}});
    CHECK(r.m.find("main")->body.is<ops::call>(r.m.find("main")->body.output(0).node));
}

// P4: an optional operator is a second entry of the same name.
inline constexpr auto optional_relu = composite<"E">(relu(magnitude(x)));
inline constexpr auto without_relu = composite<"E">(magnitude(x));
TEST_CASE("MergeComposite P4: an operator that may be missing") {
    static constexpr auto table = rule_list(optional_relu, without_relu);
    net n;
    auto const in = n.input({2});
    auto const r = merge(n, {n.op<ops::relu>(n.op<ops::abs>(in)), n.op<ops::tanh>(n.op<ops::abs>(n.op<ops::neg>(in)))},
                         {.table = table});
    CHECK(r.names == tally{{"E", 2}});
}

TEST_CASE("MergeComposite P5: the first result of a normalisation, and what reads it") {
    static constexpr auto pattern = composite<"F">(relu(batch_norm(x, var<"s">, var<"b">, var<"m">, var<"v">)));
    static constexpr auto table = rule_list(pattern);
    net n;
    auto const v = n.b.add<ops::batch_norm>({}, {n.input({1, 4, 3, 3}), n.weight({4}), n.weight({4}), n.weight({4}),
                                                 n.b.constant(tensor::from<float>({4}, {1, 2, 3, 4}))});
    CHECK(merge(n, {n.op<ops::relu>(v)}, {.table = table}).names == tally{{"F", 1}});
}

TEST_CASE("MergeComposite N1: a diamond whose inner value has another reader stays") {
    static constexpr auto pattern = composite<"G">(mul(x, clip(relu(y))));
    static constexpr auto table = rule_list(pattern);
    net n;
    auto const r = n.op<ops::relu>(n.input({2}));
    auto const a = n.op<ops::mul>(r, n.input({2}, "y"));
    auto const c = n.b.add<ops::clip>({.min = 0, .max = 6}, {r});
    auto const result = merge(n, {n.op<ops::mul>(a, c)}, {.table = table});
    CHECK(result.names.empty());
    CHECK(result.outcome.skips("G: a value inside is read elsewhere") == 1);
}

TEST_CASE("MergeComposite N2: a check that fails says which") {
    static constexpr auto pattern =
        composite<"H">(relu(magnitude(x)),
                       where(condition("x is a matrix", [](match const& m) { return m.type(var<"x">).rank() == 2; })));
    static constexpr auto table = rule_list(pattern);
    net n;
    auto const r =
        merge(n, {n.op<ops::relu>(n.op<ops::abs>(n.input({2}))), n.op<ops::relu>(n.op<ops::abs>(n.input({2, 2}, "y")))},
              {.table = table});
    CHECK(r.names == tally{{"H", 1}});
    CHECK(r.outcome.skips("H: x is a matrix") == 1);
}

inline constexpr auto pair_of_readers = composite<"I">(roots(relu(x), add(x, y)));
TEST_CASE("MergeComposite N3: a function of two results that would need its own stays, through other functions too") {
    static constexpr auto table = rule_list(pair_of_readers);
    for (bool const circle : {false, true}) {
        net n;
        auto const in = n.input({2}), r = n.op<ops::relu>(in);
        auto const s = n.op<ops::add>(in, n.op<ops::sigmoid>(circle ? r : in));
        auto const result = merge(n, {n.op<ops::mul>(r, s)}, {.table = table});
        CHECK(result.names.size() == (circle ? 0u : 1u));
        if (circle) CHECK(result.outcome.skips("I: it would need its own results") == 1);
    }
    net n; // two pairs that are fine one by one
    auto const a = n.input({2}), c = n.input({2}, "c");
    auto const ra = n.op<ops::relu>(a), rc = n.op<ops::relu>(c);
    auto const sa = n.op<ops::add>(a, n.op<ops::sigmoid>(rc)), sc = n.op<ops::add>(c, n.op<ops::sigmoid>(ra));
    CHECK(merge(n, {sa, sc}, {.table = table}).names == tally{{"I", 1}});
}

TEST_CASE("MergeComposite N4: a match whose inner value is an output stays") {
    static constexpr auto table = rule_list(p_c);
    net n;
    auto const inner = n.op<ops::abs>(n.input({2}));
    CHECK(merge(n, {n.op<ops::relu>(inner), inner}, {.table = table}).names.empty());
}

TEST_CASE("MergeComposite: without patterns it does nothing and says so, kernels are not looked into") {
    net n;
    auto const v = n.op<ops::relu>(conv_of(n, n.input({1, 4, 6, 6})));
    CHECK(merge(n, {v}, {.table = {}}).outcome.skips("no patterns given") == 1);
    auto m = module_of(n.g);
    static_cast<void>(run_pass(passes::fuse_ops{}, m).value());
    CHECK_FALSE(run_pass(merge_composite{}, m).value().changed);
}

TEST_CASE("MergeComposite: the order in which nodes were made decides nothing") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        static constexpr auto two = composite<"U">(unary(binary(x, y)));
        static constexpr auto table = rule_list(p_a, two, pair_of_readers);
        auto const g = random_graph::make(seed, 40);
        auto m = module_of(g), sorted = m;
        auto const outcome = pass_trial::run(merge_composite{.table = table}, m, true, seed);
        CHECK(m.inlined().value() == g);
        sorted.find("main")->body.order_canonically();
        CHECK(run_pass(merge_composite{.table = table}, sorted).value().matches == outcome.matches);
        CHECK(sorted.hash().value() == m.hash().value());
    }
}

// ---- what fires where
// ------------------------------------------------------------------------------------------------

// The convolutions of exported networks have no normalisation behind them.
gsub::module without_norms(any_graph g) {
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order)
        if (g.is<ops::batch_norm>(n)) g.replace_uses({n, 0}, g.operand(n, 0));
    g.erase_dead();
    return module_of(std::move(g));
}
tally fires_on(gsub::module m) {
    auto const outcome = run_pass(merge_composite{}, m).value();
    CHECK_FALSE(run_pass(merge_composite{}, m).value().changed);
    auto const names = found(m);
    std::uint64_t sum = 0;
    for (auto const& [name, times] : names) sum += static_cast<std::uint64_t>(times);
    CHECK(outcome.matches == sum);
    return names;
}

TEST_CASE("MergeComposite finds in the networks what the literature's exports have") {
    auto resnet = fires_on(without_norms(models::resnet50({.image = 64})));
    CHECK(resnet["conv_relu"] == 33);
    CHECK(resnet["conv_add_relu"] == 16);
    CHECK(fires_on(without_norms(models::mobilenet_v2({.image = 64})))["conv_clip"] == 35);
    auto ssd = fires_on(without_norms(models::ssd_resnet50({})));
    CHECK(ssd["conv_relu"] == 37);
    CHECK(ssd["conv_add_relu"] == 13);
}

TEST_CASE("MergeComposite finds the blocks of a transformer, and the numbers stay") {
    auto m = module_of(models::bert_base(
        {.sequence = 6, .layers = 2, .hidden = 16, .heads = 2, .intermediate = 32, .vocabulary = 30, .positions = 8}));
    auto const before = m;
    CHECK(pass_trial::run(merge_composite{}, m).changed);
    CHECK(found(m)["gelu"] == 2);
    CHECK(found(m)["layer_norm"] == 5);
    CHECK(found(m)["attention"] == 2);
    CHECK(found(m)["matmul_add"] >= 12);
    auto const whole = m.inlined().value();
    auto const& original = before.find("main")->body;
    CHECK(whole.hash(whole.return_node()) == original.hash(original.return_node()));
}

} // namespace merge_composite_test
