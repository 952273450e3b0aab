// Small graphs whose operators were on the reference runtime, or worse, until random graphs found them.
#include "built_graph.hpp"
#include "catch.hpp"
#include "lower/legal_graphs.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/text.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace reference_gaps_test {

using namespace gsub;

void has_kernels(graph const& g) {
    auto const e = built_graph::built(g);
    CHECK(built_graph::error_of(g, e) < 1e-5);
    for (auto const& kind : built_graph::kinds(e)) CHECK_FALSE(kind.starts_with("reference"));
}

void has_kernels(std::string_view text) {
    has_kernels(parse_graph<standard_ops>(text).value());
}

value_id product_by_constants(graph_builder& b) {
    auto w = tensor::zeros(dtype::f32, ints{9, 40});
    fill_random(w, random_stream{1});
    return b.add<ops::mat_mul>(b.input(dtype::f32, {7, 9}, "x"), b.constant(std::move(w)));
}

} // namespace reference_gaps_test

TEST_CASE("a network of halves has the kernels of one of f32, but for changes of type at its ends") {
    using namespace gsub;
    auto const kinds_of = [](dtype t) {
        legal_graphs::graph_list l;
        l.add("network", [=](auto& list) { return legal_graphs::residual_network(list, t); });
        return built_graph::kinds(built_graph::built(l.take()[0].g));
    };
    auto const wide = kinds_of(dtype::f32), narrow = kinds_of(dtype::f16);
    for (auto const* const kind : {"conv2d", "layout transform to blocks", "layout transform from blocks", "matmul"}) {
        INFO(kind);
        CHECK(std::ranges::count(narrow, kind) == std::ranges::count(wide, kind));
    }
    CHECK(narrow.size() <= wide.size() + 4);
}
TEST_CASE("products with vectors have kernels") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[2,17,9] = input
        %1 "b": f32[9] = input
        %2 "c": f32[17] = input
        %3: f32[2,17] = MatMul(%0, %1)
        %4: f32[2,9] = MatMul(%2, %0)
        return %3, %4
    })");
}
TEST_CASE("products of nothing have kernels") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[4,0] = input
        %1 "b": f32[0,6] = input
        %2: f32[4,6] = MatMul(%0, %1)
        return %2
    })");
}
TEST_CASE("Gemm with a transposed operand or a factor has kernels where operands are computed") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[7,5] = input
        %1 "b": f32[7,17] = input
        %2 "c": f32[7,17] = input
        %3: f32[5,17] = Gemm(%0, %1) {alpha = 0.5, transA = 1}
        %4: f32[5,7] = Gemm(%3, %2) {transB = 1}
        %5: f32[5,17] = Gemm(%4, %1) {alpha = 0.5}
        return %5
    })");
}
TEST_CASE("normalisations of matrices and of one channel have kernels") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[1,2] = input
        %1 "b": f32[7,1,6] = input
        %2: f32[2] = constant 0x0000803f00000040
        %3: f32[1] = constant 0x0000803f
        %4: f32[1,2] = BatchNormalization(%0, %2, %2, %2, %2)
        %5: f32[7,1,6] = BatchNormalization(%1, %3, %3, %3, %3)
        return %4, %5
    })");
}
TEST_CASE("layer normalisations of several dimensions have kernels where the scale repeats") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[3,7,6,2] = input
        %1 "s": f32[2] = input
        %2: f32[3,7,6,2] = LayerNormalization(%0, %1) {axis = 1, epsilon = 0.5}
        return %2
    })");
}
TEST_CASE("reductions of nothing have kernels") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[3,0,2] = input
        %1: f32[3,1,2] = ReduceSum(%0) {axes = [1]}
        %2: f32[3,2] = ReduceMax(%0) {axes = [1], keepdims = 0}
        return %1, %2
    })");
}
TEST_CASE("a softmax of several dimensions has kernels where they do not lie one after another") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[4,3,7] = input
        %1: f32[4,7,3] = Transpose(%0) {perm = [0, 2, 1]}
        %2: f32[4,7,3] = Softmax(%1) {axis = 1, flatten = 1}
        return %2
    })");
}
TEST_CASE("a sum whose first operands broadcast to less than all of them has kernels") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[6,3] = input
        %1 "b": f32[1,32,1,1] = input
        %2: f32[1,32,6,3] = Sum(%0, %0, %1)
        return %2
    })");
}

TEST_CASE("operators on nothing are no steps") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": f32[3,0,2] = input
        %1 "b": bool[3,1,2] = input
        %2 "c": f32[3,1,1] = input
        %3: f32[3,0,2] = Where(%1, %0, %2)
        %4: f32[3,0,2] = Softmax(%3)
        %5: bool[3,0,2] = IsNaN(%4)
        %6: i32[3,0,2] = Cast(%4) {to = "i32"}
        return %5, %6, %4
    })");
}
TEST_CASE("no channels may be split off from what is in blocks") {
    using namespace gsub;
    graph g;
    graph_builder b{g};
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
    auto w = tensor::zeros(dtype::f32, ints{16, 16, 1, 1});
    fill_random(w, random_stream{1});
    auto const y = b.add<ops::conv>(a, {b.input(dtype::f32, {1, 16, 5, 5}, "x"), b.constant(std::move(w))});
    auto const parts = b.add<ops::split>({.axis = 1, .sizes = {0, 16}}, {y}, 2);
    b.outputs({parts, {parts.node, 1}});
    reference_gaps_test::has_kernels(g);
}
TEST_CASE("a choice among numbers, or by one, has kernels") {
    reference_gaps_test::has_kernels(R"(graph "" {
        %0 "a": bool[3] = input
        %1 "b": f32[3] = input
        %2: f32[] = constant 0x0000803f
        %3: f32[] = constant 0x00000040
        %4: bool[1] = constant 0x01
        %5: bool[1] = constant 0x00
        %6: f32[3] = Where(%0, %2, %3)
        %7: f32[3] = Where(%4, %1, %2)
        %8: f32[3] = Where(%5, %1, %2)
        return %6, %7, %8
    })");
}
TEST_CASE("a choice that a constant decides is what it chooses, in the chain of a product too") {
    using namespace gsub;
    for (auto const first : {false, true}) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(dtype::f32, {5, 9}, "x"), w = b.input(dtype::f32, {9, 8}, "w"),
                   v = b.input(dtype::f32, {1}, "v");
        auto const sum = b.add<ops::add>(b.add<ops::mat_mul>(x, w), v);
        auto const which = b.constant(tensor::from<bool>({1}, {first}));
        b.outputs({b.add<ops::where>(which, sum, v)});
        reference_gaps_test::has_kernels(g);
    }
}
TEST_CASE("the sum of a mean of integers does not wrap around") {
    using namespace reference_gaps_test;
    for (auto const t :
         {dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32, dtype::i64, dtype::u64}) {
        graph g;
        graph_builder b{g};
        auto const x = b.input(t, {2, 300}, "x");
        b.outputs({b.add<ops::reduce_mean>({.axes = {1}}, {x}), b.add<ops::reduce_mean>({.axes = {0}}, {x})});
        auto const e = built_graph::built(g);
        auto const large = static_cast<std::int64_t>(std::uint64_t{0x7fff'ffff'ffff'ffff} >>
                                                     (byte_size(t) == 8 ? 12 : 64 - 8 * byte_size(t)));
        auto whole = tensor::zeros(dtype::i64, ints{2, 300});
        for (std::size_t i = 0; i < 600; ++i)
            whole.mutable_data<std::int64_t>()[i] = large - static_cast<std::int64_t>(i % 5);
        std::vector<tensor> const inputs{whole.converted_to(t)};
        auto const want = evaluate_graph(g, inputs).value(), got = e.run(inputs).value();
        for (std::size_t i = 0; i < want.size(); ++i) {
            INFO(to_string(t) << ' ' << i);
            CHECK(std::ranges::equal(got[i].raw(), want[i].raw()));
        }
        for (auto const& kind : built_graph::kinds(e)) CHECK_FALSE(kind.starts_with("reference"));
    }
}
TEST_CASE("a dropout whose mode is told when it runs passes on at inference, and is refused in training") {
    using namespace reference_gaps_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {3, 4}, "x");
    auto const training = b.input(dtype::boolean, {}, "training");
    b.outputs({b.add<ops::dropout>(x, b.constant(tensor::scalar(0.5f)), training)});
    auto const e = built_graph::built(g);
    auto values = tensor::zeros(dtype::f32, ints{3, 4});
    for (auto& v : values.mutable_data<float>()) v = 3;
    CHECK(std::ranges::equal(e.run(std::vector{values, tensor::scalar(false)}).value().at(0).raw(), values.raw()));
    auto const refused = e.run(std::vector{values, tensor::scalar(true)});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == error_code::unsupported);
}
TEST_CASE("operators for which others stand have kernels") {
    using namespace reference_gaps_test;
    for (auto const& [name, g] : legal_graphs::all()) {
        INFO(name);
        auto const e = built_graph::built(g);
        auto const inputs = random_inputs(g, 1);
        auto const want = evaluate_graph(g, inputs).value(), got = e.run(inputs).value();
        for (std::size_t i = 0; i < want.size(); ++i) {
            INFO("result " << i);
            auto const half = want[i].element() == dtype::f16 || want[i].element() == dtype::bf16;
            auto const d = compare(got[i], want[i]).value();
            CHECK(d.same_specials);
            CHECK(d.max_relative < (half ? 1e-2 : 1e-5));
        }
        for (auto const& kind : built_graph::kinds(e)) {
            INFO(kind);
            CHECK_FALSE(kind.starts_with("reference"));
        }
    }
}
TEST_CASE("an index of a row that is out of range is an error, though the place that it would name is not") {
    using namespace reference_gaps_test;
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 3, 4}, "x");
    b.outputs({b.add<ops::gather_nd>({.batch_dims = 1}, {x, b.input(dtype::i64, {2, 1, 2}, "at")})});
    auto const e = built_graph::built(g);
    auto const values = random_inputs(g, 1)[0];
    std::int64_t const dims[] = {2, 1, 2};
    for (std::vector<std::int64_t> const& at :
         {std::vector<std::int64_t>{0, 4, 0, 0}, {0, 0, 0, 5}, {3, 0, 0, 0}, {-4, 0, 0, 0}}) {
        auto const made = e.run(std::vector{values, tensor::from(std::span{dims}, as_span(at))});
        REQUIRE_FALSE(made);
        CHECK(made.error().code() == error_code::invalid_input);
    }
    std::vector<std::int64_t> const good{-1, -4, 2, 3};
    CHECK(e.run(std::vector{values, tensor::from(std::span{dims}, as_span(good))}));
}
TEST_CASE("a window of normalisation larger than all channels together takes them all") {
    using namespace reference_gaps_test;
    for (std::int64_t const size : {4, 5, 6, 7, 8, 1000}) {
        graph g;
        graph_builder b{g};
        b.outputs({b.add<ops::lrn>({.size = size, .alpha = 0.5}, {b.input(dtype::f32, {1, 4, 3, 3}, "x")})});
        has_kernels(g);
    }
}
TEST_CASE("numbers that are quantized and dequantized at once are part of the kernel before") {
    using namespace gsub;
    for (auto const t : {dtype::u8, dtype::i8, dtype::i16}) {
        graph g;
        graph_builder b{g};
        attributes_of<ops::conv> a;
        a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
        auto w = tensor::zeros(dtype::f32, ints{20, 16, 3, 3});
        fill_random(w, random_stream{1});
        auto const scale = b.constant(tensor::scalar(0.25f)), zero = b.constant(tensor::scalar(7).converted_to(t));
        auto const y = b.add<ops::conv>(a, {b.input(dtype::f32, {1, 16, 9, 9}, "x"), b.constant(std::move(w))});
        auto const q = b.add<ops::quantize>(b.add<ops::relu>(y), scale, zero);
        b.outputs({b.add<ops::dequantize>(q, scale, zero)});
        auto const e = built_graph::built(g);
        auto const kinds = built_graph::kinds(e);
        CHECK(std::ranges::none_of(kinds, [](auto const& k) {
            return k.starts_with("reference") || k.starts_with("elementwise") || k.starts_with("row");
        }));
        // A sum that is summed in another order may lie on the other side of a half: one step of the scale.
        auto const inputs = random_inputs(g, 1);
        auto const want = evaluate_graph(g, inputs).value()[0], got = e.run(inputs).value()[0];
        CHECK(compare(got, want).value().max_absolute <= 0.25);
    }
}
TEST_CASE("what is no number is quantized to the least") {
    using namespace gsub;
    graph g;
    graph_builder b{g};
    auto const scale = b.constant(tensor::scalar(0.5f)), zero = b.constant(tensor::scalar(3).converted_to(dtype::u8));
    auto const q = b.add<ops::quantize>(b.input(dtype::f32, {6}, "x"), scale, zero);
    b.outputs({q, b.add<ops::dequantize>(q, scale, zero)});
    auto const e = built_graph::built(g);
    auto const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> const values{nan, infinity, -infinity, 0.25f, -0.75f, 1e30f};
    std::int64_t const dims[] = {6};
    std::vector const inputs{tensor::from(std::span<std::int64_t const>{dims}, as_span(values))};
    auto const want = evaluate_graph(g, inputs).value(), got = e.run(inputs).value();
    for (std::size_t i = 0; i < 2; ++i) CHECK(std::ranges::equal(got[i].raw(), want[i].raw()));
}
TEST_CASE("a choice between products by a condition on them is one kernel") {
    using namespace gsub;
    graph g;
    graph_builder b{g};
    auto const y = reference_gaps_test::product_by_constants(b);
    auto const low = b.constant(tensor::scalar(0.0f)), slope = b.constant(tensor::scalar(0.125f));
    b.outputs({b.add<ops::where>(b.add<ops::greater>(y, low), y, b.add<ops::mul>(y, slope))});
    auto const e = built_graph::built(g);
    CHECK(built_graph::kinds(e) == std::vector<std::string>{"matmul"});
    reference_gaps_test::has_kernels(g);
}
TEST_CASE("a condition on a product alone is no part of its kernel") {
    using namespace gsub;
    graph g;
    graph_builder b{g};
    auto const y = reference_gaps_test::product_by_constants(b);
    b.outputs({b.add<ops::greater>(y, b.constant(tensor::scalar(0.0f)))});
    reference_gaps_test::has_kernels(g);
}
