#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/random_graph.hpp"
#include <gsub/eval/fold.hpp>
#include <gsub/ir/legality.hpp>

#include <string>

namespace fold_test {

struct unknown_weight {}; // makes constants, but has no evaluation here

} // namespace fold_test

template <>
struct gsub::op_traits<fold_test::unknown_weight> {
    static constexpr std::string_view name = "UnknownWeight", domain = "test";
    static constexpr int min_inputs = 1, max_inputs = 1;
    static constexpr auto category = gsub::op_category::elementwise;
};
template <>
struct gsub::infer_shape<fold_test::unknown_weight> : gsub::same_as_input<0> {};

namespace fold_test {

using namespace gsub;
using compute::f32;
using compute::near;
using compute::normal;
using compute::same;

// Nothing is left that is constant and not a constant: but fills, which are shorter than their elements.
bool all_folded(any_graph const& g) {
    for (auto n : g.order())
        if (g.constant(n) && !g.is<ops::constant>(n) && !(g.is<ops::fill>(n) && g.operand_count(n) == 0)) return false;
    return true;
}

TEST_CASE("a folded graph computes what the unfolded one computes, and nothing constant is left to do") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        auto const g = random_graph::make(seed, 30);
        auto folded = g;
        REQUIRE(fold_constants(folded));
        CHECK(all_folded(folded));
        CHECK(folded.size() <= g.size());
        CHECK(check(folded, stage::imported).size() <= check(g, stage::imported).size());
        CHECK(folded.inputs().size() == g.inputs().size());
        auto const inputs = random_inputs(g, seed);
        auto const before = evaluate_graph(g, inputs).value(), after = evaluate_graph(folded, inputs).value();
        auto const wide = evaluate_graph(g, inputs, {.compute = precision::f64}).value();
        for (std::size_t i = 0; i < before.size(); ++i) {
            CHECK(near(after[i], before[i], 1e-3));
            CHECK(folded.type(folded.output(i)) == g.type(g.output(i)));
            CHECK(near(after[i], wide[i], 2e-3));
        }
        // Folding again changes nothing.
        auto const once = folded.hash();
        REQUIRE(fold_constants(folded));
        CHECK(folded.hash() == once);
    }
}

// x + weight, where the weight is computed by `f`.
template <class Graph = graph, class F>
Graph with_weight(F&& f) {
    Graph g;
    graph_builder b{g};
    auto const w = f(b);
    auto const& type = *b.type_of(w);
    auto const x = b.input(type.element, type.dims, "x");
    b.outputs({b.add<ops::add>(x, w)});
    return g;
}
tensor folded_weight(graph g) {
    REQUIRE(fold_constants(g));
    REQUIRE(all_folded(g));
    for (auto n : g.order())
        if (g.is<ops::constant>(n)) return g.constant_data(n);
    return {};
}

TEST_CASE("weight arithmetic is done in double and rounded once") {
    // (1 + 2^-30) - 1 is 2^-30 in double and 0 in float.
    auto const w = folded_weight(with_weight([](graph_builder& b) {
        auto const small = b.constant(f32({1}, {0x1p-30f})), one = b.constant(f32({1}, {1}));
        return b.add<ops::sub>(b.add<ops::add>(small, one), one);
    }));
    CHECK(same(w, f32({1}, {0x1p-30f})));
    // To half precision by one rounding: the sum is just above a tie that a float cannot tell from it.
    auto const h = folded_weight(with_weight([](graph_builder& b) {
        auto const half = [&](float v) { return b.constant(tensor::scalar(float16{v})); };
        return b.add<ops::add>(b.add<ops::add>(half(1), half(0x1p-11f)),
                               b.add<ops::mul>(half(0x1p-20f), half(0x1p-20f)));
    }));
    REQUIRE(h.element() == dtype::f16);
    CHECK(float{h.data<float16>()[0]} == 1 + 0x1p-10f);
    // A float cast of a double constant.
    auto const c = folded_weight(with_weight([](graph_builder& b) {
        return b.add<ops::cast>({.to = dtype::f16}, {b.constant(tensor::scalar(1 + 0x1p-11 + 0x1p-40))});
    }));
    CHECK(float{c.data<float16>()[0]} == 1 + 0x1p-10f);
}

TEST_CASE("integers and truth values are folded exactly") {
    auto const w = folded_weight(with_weight([](graph_builder& b) {
        auto const large = b.constant(compute::i64({(std::int64_t{1} << 62) + 1}));
        return b.add<ops::add>(large, b.constant(compute::i64({1})));
    }));
    CHECK(same(w, compute::i64({(std::int64_t{1} << 62) + 2})));
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::cast>({.to = dtype::boolean}, {b.constant(f32({3}, {0, 2, -0.0f}))})});
    REQUIRE(fold_constants(g));
    CHECK(same(g.constant_data(g.output(0).node), tensor::from<bool>({3}, {false, true, false})));
}

TEST_CASE("a fill that is read as it is stays, one that is computed with is folded") {
    auto g = with_weight(
        [](graph_builder& b) { return b.add<ops::fill>({.shape = {1000}, .value = 2}, std::span<value_id const>{}); });
    auto const before = g.hash();
    REQUIRE(fold_constants(g));
    CHECK(g.hash() == before);
    CHECK(g.is<ops::fill>(g.operand(g.output(0).node, 1).node));
    auto const w = folded_weight(with_weight([](graph_builder& b) {
        auto const twos = b.add<ops::fill>({.shape = {3}, .value = 2}, std::span<value_id const>{});
        return b.add<ops::mul>(twos, twos);
    }));
    CHECK(same(w, f32({3}, {4, 4, 4})));
    // The shape as a constant operand: not lone, folded.
    auto const from_shape = folded_weight(
        with_weight([](graph_builder& b) { return b.add<ops::fill>({.value = 3}, {b.constant(compute::i64({2}))}); }));
    CHECK(same(from_shape, f32({2}, {3, 3})));
}

TEST_CASE("numbers stored in few bits stay so, unless asked for, and what they are computed from is folded") {
    auto const bytes = tensor::from<std::int8_t>(ints{3}, std::vector<std::int8_t>{-2, 0, 4});
    auto const stored = [&](bool turned_sign, bool squared) {
        return with_weight([&](graph_builder& b) {
            auto q = b.constant(bytes);
            if (turned_sign) q = b.add<ops::neg>(q);
            auto const x = b.add<ops::dequantize>(q, b.constant(tensor::scalar(0.5f)));
            return squared ? b.add<ops::mul>(x, x) : x;
        });
    };
    auto lone = stored(false, false);
    auto const before = lone.hash();
    REQUIRE(fold_constants(lone));
    CHECK(lone.hash() == before);
    REQUIRE(fold_constants(lone, {.dequantize = true}));
    CHECK(all_folded(lone));

    auto computed = stored(true, false);
    REQUIRE(fold_constants(computed));
    auto const weight = computed.operand(computed.output(0).node, 1).node;
    REQUIRE(computed.is<ops::dequantize>(weight));
    CHECK(computed.is<ops::constant>(computed.operand(weight, 0).node));
    CHECK(same(folded_weight(stored(false, true)), f32({3}, {1, 0, 4})));
    // What is only computed with leaves nothing behind, and does not count against the limit.
    auto squares = stored(true, true);
    CHECK(fold_constants(squares, {.max_weight_bytes = 3 * sizeof(float)}));
}

TEST_CASE("a constant that two parts read is computed once and shared, one that only constants read goes") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    auto const w = b.constant(f32({2}, {1, 2}), "w");
    auto const inner = b.add<ops::mul>(w, w), outer = b.add<ops::add>(inner, w);
    b.outputs({b.add<ops::add>(x, outer), b.add<ops::mul>(x, outer), b.add<ops::sub>(x, w)});
    REQUIRE(fold_constants(g));
    std::size_t constants = 0;
    for (auto n : g.order()) constants += g.is<ops::constant>(n);
    CHECK(constants == 2); // the folded one and w itself
    CHECK(g.operand(g.output(0).node, 1) == g.operand(g.output(1).node, 1));
    CHECK(same(g.constant_data(g.operand(g.output(0).node, 1).node), f32({2}, {2, 6})));
}

TEST_CASE("names and sources pass on, outputs may be constant, parts of several results fold one by one") {
    graph g;
    graph_builder b{g};
    auto const w = b.constant(f32({4}, {1, 2, 3, 4}));
    auto const parts = b.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {w}, 2);
    auto const y = b.add<ops::relu>(value_id{parts.node, 1});
    g.set_name(y, "rectified");
    g.set_source(y.node, "layer 3");
    b.outputs({parts, y}, {"first", "second"});
    REQUIRE(fold_constants(g));
    CHECK(same(g.constant_data(g.output(0).node), f32({1}, {1})));
    CHECK(same(g.constant_data(g.output(1).node), f32({3}, {2, 3, 4})));
    CHECK(g.name(g.output(1)) == "rectified");
    CHECK(g.sources(g.output(1).node) == std::vector<std::string>{"layer 3"});
    CHECK(g.info().output_names == std::vector<std::string>{"first", "second"});
    CHECK(g.size() == 3);
}

TEST_CASE("weights beyond the limit are not folded, and the graph stays as it was") {
    auto const make = [](std::int64_t elements) {
        return with_weight([&](graph_builder& b) {
            auto const ones = b.add<ops::fill>({.shape = {elements}, .value = 1}, std::span<value_id const>{});
            return b.add<ops::add>(ones, ones);
        });
    };
    auto g = make(1000);
    auto const before = g.hash();
    auto const r = fold_constants(g, {.max_weight_bytes = 3999});
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::memory_limit);
    CHECK(r.error().message() ==
          "not supported: folded weights take 4000 bytes; the limit is 3999; try: raise max_weight_bytes");
    CHECK(g.hash() == before);
    CHECK(fold_constants(g, {.max_weight_bytes = 4000}));
    // Sizes whose bytes overflow a word must not look small.
    for (auto elements : {std::int64_t{1} << 62, (std::int64_t{1} << 62) - 1, std::int64_t{1} << 50}) {
        auto huge = make(elements);
        auto const hash = huge.hash();
        CHECK_FALSE(fold_constants(huge));
        CHECK(huge.hash() == hash);
    }
}

TEST_CASE("weights whose sizes are found by computing them are bounded too") {
    auto const make = [] {
        return with_weight([&](graph_builder& b) {
            auto const at = b.add<ops::non_zero>(b.constant(f32({2, 3}, {1, 0, 2, 3, 0, 0})));
            return b.add<ops::cast>({.to = dtype::f32}, {b.add<ops::reduce_sum>({.keepdims = false}, {at})});
        });
    };
    auto g = make();
    CHECK(fold_constants(g, {.max_weight_bytes = 4})); // the sum alone is kept
    graph places;
    graph_builder b{places};
    auto const x = b.input(dtype::i64, {1}, "x");
    b.outputs({b.add<ops::add>(x, b.add<ops::non_zero>(b.constant(f32({2, 3}, {1, 0, 2, 3, 0, 0}))))});
    auto const before = places.hash();
    auto const r = fold_constants(places, {.max_weight_bytes = 47});
    REQUIRE_FALSE(r);
    CHECK(r.error().code() == error_code::unsupported);
    CHECK(places.hash() == before);
    CHECK(fold_constants(places, {.max_weight_bytes = 48}));
}

TEST_CASE("a weight of a size that is found by computing it, and that no reader takes, stays") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::i64, {1, 3}, "x");
    b.outputs({b.add<ops::add>(x, b.add<ops::non_zero>(b.constant(f32({4}, {1, 0, 2, 0}))))});
    REQUIRE(fold_constants(g, {}));
    CHECK(check(g, stage{}).empty());
    auto const r = evaluate_graph(g, std::vector{tensor::zeros(dtype::i64, ints{1, 3})});
    REQUIRE_FALSE(r);
    CHECK(r.error().code() == error_code::invalid_input);
}

TEST_CASE("a small weight made from a huge intermediate tensor is refused, not computed") {
    auto g = with_weight([](graph_builder& b) {
        auto const huge = b.add<ops::fill>({.shape = {1 << 20, 1 << 16}, .value = 1}, std::span<value_id const>{});
        return b.add<ops::slice>({.starts = {0, 0}, .ends = {1, 1}, .axes = {0, 1}, .steps = {1, 1}}, {huge});
    });
    auto const before = g.hash();
    auto const r = fold_constants(g);
    REQUIRE_FALSE(r);
    CHECK(r.error().message().find("exceeds the limit") != std::string::npos);
    CHECK(g.hash() == before);
}

TEST_CASE("a constant part without an evaluation is reported and the graph stays as it was") {
    using my_ops = standard_ops::with<unknown_weight>;
    auto g = with_weight<basic_graph<my_ops>>([](graph_builder& b) {
        return b.add<unknown_weight>(b.constant(f32({2}, {1, 2})));
    });
    auto const before = g.hash();
    auto const r = fold_constants(g);
    REQUIRE_FALSE(r);
    CHECK(r.error().id() == errors::no_evaluator);
    CHECK(r.error().message().rfind("folding constants: not supported: UnknownWeight", 0) == 0);
    CHECK(g.hash() == before);
}

TEST_CASE("NaN and infinities among the weights come through") {
    auto const inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    auto const w = folded_weight(with_weight([&](graph_builder& b) {
        auto const v = b.constant(f32({4}, {nan, inf, -inf, 0}));
        return b.add<ops::mul>(v, b.constant(f32({1}, {0})));
    }));
    CHECK(near(w, f32({4}, {nan, nan, nan, 0})));
}

TEST_CASE("a graph without constant parts, or without nodes, is left alone") {
    graph empty;
    CHECK(fold_constants(empty));
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::relu>(b.input(dtype::f32, {2}, "x"))});
    auto const before = g.hash();
    CHECK(fold_constants(g));
    CHECK(g.hash() == before);
    CHECK(g.size() == 3);
}

TEST_CASE("threads change no bit of the folded weights") {
    for (std::int64_t rows : {37, 200, 300, 501}) {
        auto const make = [&] {
            return with_weight([&](graph_builder& b) {
                return b.add<ops::mat_mul>(b.constant(normal({rows, 70}, 1)), b.constant(normal({70, 50}, 2)));
            });
        };
        auto alone = make(), threaded = make();
        fork_join_executor three{3};
        REQUIRE(fold_constants(alone));
        REQUIRE(fold_constants(threaded, {.threads = &three}));
        CHECK(alone == threaded);
    }
}

} // namespace fold_test
