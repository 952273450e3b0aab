#include "passes/pass_trial.hpp"
#include <gsub/eval/evaluate.hpp>
#include <gsub/passes/precision/fake_quantization_to_integer.hpp>

#include <cmath>

namespace fake_quantization_test {

using namespace gsub;
using namespace pass_trial;
using passes::fake_quantization_to_integer;

value_id vector_of(net& n, dtype element, std::vector<double> const& values) {
    auto const dims = values.size() == 1 ? ints{} : ints{static_cast<std::int64_t>(values.size())};
    return n.b.constant(tensor::from<double>(dims, values).converted_to(element));
}
value_id q(net& n, value_id x, double scale, double zero = 0, dtype element = dtype::u8) {
    return n.b.add<ops::quantize>(x, vector_of(n, dtype::f32, {scale}), vector_of(n, element, {zero}));
}
value_id dq(net& n, value_id x, std::vector<double> const& scales, double zero = 0, std::int64_t axis = 1) {
    auto const element = n.g.type(x).element;
    return n.b.add<ops::dequantize>({.axis = axis}, {x, vector_of(n, dtype::f32, scales),
                                                     vector_of(n, element, std::vector<double>(scales.size(), zero))});
}
// A parameter that is quantized: every value of the type occurs.
value_id bytes(net& n, ints const& sizes, std::string_view name = "x", dtype element = dtype::u8) {
    return n.input(sizes, name, element);
}
value_id weight_bytes(net& n, ints const& sizes, std::uint64_t seed = 3) {
    auto t = tensor::uninitialized(dtype::f32, sizes);
    random_stream r{seed};
    for (auto& v : t.mutable_data<float>()) v = static_cast<float>(static_cast<double>(r.below(41)) - 20);
    return n.b.constant(t.converted_to(dtype::i8));
}
value_id bias_of(net& n, std::int64_t channels) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < channels; ++i) values.push_back(static_cast<double>(100 * i - 150));
    return vector_of(n, dtype::i32, values);
}
attributes_of<ops::conv> window(std::int64_t pad = 1) {
    attributes_of<ops::conv> a;
    a.strides = a.dilations = {1, 1}, a.pads = ints(4, pad);
    return a;
}

// The graph after the pass; its results lie within so many steps of those before, on every byte that inputs can have.
any_graph within(net& n, std::vector<value_id> const& outputs, double steps, std::uint64_t matches) {
    auto after = n.after(fake_quantization_to_integer{}, outputs);
    CHECK(n.outcome.matches == matches);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        std::vector<tensor> inputs;
        for (auto i : n.g.inputs()) {
            auto t = tensor::uninitialized(n.g.type({i, 0}).element, n.g.type({i, 0}).sizes());
            random_stream r{seed};
            for (auto& v : t.mutable_raw()) v = static_cast<std::byte>(r.below(256));
            inputs.push_back(std::move(t));
        }
        auto const table = table_of<eval_row, standard_ops>();
        auto const a = evaluate_graph(n.g, table, inputs).value(), b = evaluate_graph(after, table, inputs).value();
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(compare(a[k], b[k]).value().max_absolute <= steps);
    }
    return after;
}
std::size_t floating(any_graph const& g) { // operators that compute with floating numbers
    std::size_t found = 0;
    for (auto m : g.order())
        if (!g.is<ops::input>(m) && !g.is<ops::constant>(m) && !g.is<ops::quantize>(m) && !g.is<ops::dequantize>(m) &&
            m != g.return_node())
            found += g.type({m, 0}).element == dtype::f32;
    return found;
}

TEST_CASE("FakeQuantizationToInteger P1: a quantized convolution is one of integers") {
    net n;
    auto const y = n.b.add<ops::conv>(
        window(), {dq(n, bytes(n, {2, 3, 6, 6}), {2}, 128), dq(n, weight_bytes(n, {4, 3, 3, 3}), {0.5})});
    auto const g = within(n, {q(n, y, 64, 100)}, 1, 1);
    CHECK(count<ops::qlinear_conv>(g) == 1);
    CHECK(count<ops::conv, ops::quantize, ops::dequantize>(g) == 0);
}

TEST_CASE("FakeQuantizationToInteger P2: weights have a scale for each output channel") {
    for (auto const act : {activation::none, activation::relu})
        for (double const zero : {0.0, 90.0}) {
            net n;
            auto a = window(0);
            a.act = act;
            auto const w = dq(n, weight_bytes(n, {4, 3, 3, 3}), {0.5, 0.25, 1, 0.125}, 0, 0);
            auto const y = n.b.add<ops::conv>(a, {dq(n, bytes(n, {2, 3, 6, 6}), {2}, 128), w});
            auto const g = within(n, {q(n, y, 32, zero)}, 1, 1);
            CHECK(floating(g) == 0);
            // A zero point above the least number leaves an activation to do.
            CHECK(count<ops::clip>(g) == (act == activation::relu && zero > 0 ? 1 : 0));
        }
}

TEST_CASE("FakeQuantizationToInteger P3: a relu is a maximum with the zero point") {
    net n;
    auto const x = dq(n, bytes(n, {2, 3}), {0.5}, 77);
    auto const g = within(
        n, {q(n, n.op<ops::relu>(x), 0.5, 77), q(n, n.b.add<ops::clip>({.min = -3, .max = 9}, {x}), 0.5, 77)}, 0, 2);
    CHECK(count<ops::clip>(g) == 2);
    CHECK(count<ops::quantize, ops::dequantize, ops::relu>(g) == 0);
}

TEST_CASE("FakeQuantizationToInteger P4: parts of different scales are brought to that of the result, and joined") {
    net n;
    auto const a = dq(n, bytes(n, {2, 3}), {0.5}, 77), b = dq(n, bytes(n, {2, 4}, "y"), {0.25}, 3);
    auto const g = within(n, {q(n, n.b.add<ops::concat>({.axis = 1}, {a, b}), 0.5, 77)}, 0, 1);
    CHECK(g.type(g.output(0)).element == dtype::u8);
    CHECK(g.is<ops::concat>(g.output(0).node));
    CHECK(count<ops::quantize>(g) == 1);
    net m; // equal ones are joined as they are
    auto const c = dq(m, bytes(m, {2, 3}), {0.5}, 77), d = dq(m, bytes(m, {2, 4}, "y"), {0.5}, 77);
    CHECK(count<ops::quantize>(within(m, {q(m, m.b.add<ops::concat>({.axis = 1}, {c, d}), 0.5, 77)}, 0, 1)) == 0);
}

TEST_CASE("FakeQuantizationToInteger P5: what moves elements is left without arithmetic") {
    net n;
    auto x = dq(n, bytes(n, {2, 3, 4, 4}), {0.5}, 77);
    attributes_of<ops::max_pool> pool;
    pool.strides = pool.dilations = {1, 1}, pool.pads = ints(4, 0), pool.kernel_shape = {2, 2};
    x = n.b.add<ops::max_pool>(pool, {x});
    x = n.b.add<ops::transpose>({.perm = {0, 2, 1, 3}}, {x});
    x = n.b.add<ops::flatten>({}, {n.b.add<ops::slice>({.starts = {1}, .ends = {3}, .axes = {1}, .steps = {1}}, {x})});
    auto const g = within(n, {q(n, x, 0.5, 77)}, 0, 1);
    CHECK(count<ops::quantize, ops::dequantize>(g) == 0);
    CHECK(floating(g) == 0);
}

TEST_CASE("FakeQuantizationToInteger P6: a bias in the scale of the sum is added as it is") {
    net n;
    auto const x = dq(n, bytes(n, {2, 3, 6, 6}), {2}, 128), w = dq(n, weight_bytes(n, {4, 3, 3, 3}), {0.5});
    auto const b = n.b.add<ops::dequantize>(bias_of(n, 4), vector_of(n, dtype::f32, {1}));
    auto const y = n.b.add<ops::conv>(window(), {x, w, b});
    auto const behind = n.op<ops::relu>(n.b.add<ops::conv>(window(0), {x, w, b}));
    auto const g = within(n, {q(n, y, 64, 100), q(n, behind, 64, 100)}, 1, 2);
    CHECK(count<ops::qlinear_conv>(g) == 1);
    CHECK(count<ops::conv_integer>(g) == 1);
    CHECK(floating(g) == 0);
    net m; // in another scale
    auto const c = m.b.add<ops::dequantize>(bias_of(m, 4), vector_of(m, dtype::f32, {1.5}));
    auto const z = m.b.add<ops::conv>(
        window(), {dq(m, bytes(m, {2, 3, 6, 6}), {2}, 128), dq(m, weight_bytes(m, {4, 3, 3, 3}), {0.5}), c});
    CHECK(m.untouched(fake_quantization_to_integer{}, {q(m, z, 64, 100)}));
    CHECK(m.outcome.skips("a bias in another unit") == 1);
}

TEST_CASE("FakeQuantizationToInteger P7: the number of a border is quantized") {
    net n;
    auto const x = dq(n, bytes(n, {2, 3}), {0.5}, 77);
    auto const g = within(
        n, {q(n, n.b.add<ops::pad>({.mode = "constant", .pads = {0, 1, 1, 0}, .value = 3.5}, {x}), 0.5, 77)}, 0, 1);
    CHECK(count<ops::quantize, ops::dequantize>(g) == 0);
}

TEST_CASE("FakeQuantizationToInteger: sums, differences, products and means of quantized numbers are of integers") {
    net n;
    auto const a = dq(n, bytes(n, {2, 3, 4, 5}), {0.3}, 77), b = dq(n, bytes(n, {3, 1, 5}, "y"), {0.011}, 140);
    auto const m = dq(n, n.b.add<ops::flatten>({}, {n.input({2, 3, 2}, "z", dtype::u8)}), {0.1}, 9);
    auto const w = dq(n, weight_bytes(n, {4, 6}), {0.05});
    auto const bias = n.b.add<ops::dequantize>(bias_of(n, 4), vector_of(n, dtype::f32, {0.005}));
    std::vector<value_id> const outputs{
        q(n, n.op<ops::add>(a, b), 0.4, 100),
        q(n, n.op<ops::sub>(a, b), 0.4, 100),
        q(n, n.op<ops::mul>(a, b), 0.4, 100),
        q(n, n.op<ops::global_average_pool>(a), 0.2, 30),
        q(n, n.b.add<ops::gemm>({.transpose_b = true}, {m, w, bias}), 0.5, 128),
        q(n, n.op<ops::mat_mul>(m, n.b.add<ops::transpose>({.perm = {1, 0}}, {w})), 0.5, 128)};
    CHECK(floating(within(n, outputs, 1, 6)) == 0);
}

TEST_CASE("FakeQuantizationToInteger: means over windows of one size are sums of integers") {
    auto const pooled = [](net& n, attributes_of<ops::average_pool> a) {
        a.kernel_shape = {3, 2}, a.strides = {2, 1};
        if (a.dilations.empty()) a.dilations = {1, 1};
        return q(n, n.b.add<ops::average_pool>(a, {dq(n, bytes(n, {2, 5, 9, 8}), {0.5}, 77)}), 0.25, 20);
    };
    for (auto const& a : {attributes_of<ops::average_pool>{{{}, {0, 0, 0, 0}, {}}, {}, false, false},
                          attributes_of<ops::average_pool>{{{}, {1, 1, 1, 0}, {}}, {}, false, true},
                          attributes_of<ops::average_pool>{{{}, {0, 0, 0, 0}, {2, 3}}, {}, false, false}}) {
        net n;
        auto const g = within(n, {pooled(n, a)}, 1, 1);
        CHECK(count<ops::conv_integer>(g) == 1);
        CHECK(count<ops::average_pool>(g) == 0);
    }
    net n; // those at the border have fewer elements
    auto const g = within(n, {pooled(n, {{{}, {1, 1, 1, 0}, {}}, {}, false, false})}, 0, 0);
    CHECK(count<ops::average_pool>(g) == 1);
    CHECK(n.outcome.skipped.front().reason == "windows of several sizes");

    struct {
        std::int64_t side, channels;
        std::string_view reason;
    } const beyond[] = {{std::int64_t{1} << 30, 2, "sums beyond 32 bits"}, {2000, 8, "windows too large"}};
    for (auto const& [side, channels, reason] : beyond) { // whatever a file says
        net large;
        auto const images = large.b.input(dtype::u8, {1, channels, dim{}, dim{}}, "x");
        attributes_of<ops::average_pool> a;
        a.kernel_shape = {side, side}, a.strides = a.dilations = {1, 1}, a.pads = ints(4, 0);
        auto const after =
            large.after(fake_quantization_to_integer{},
                        {q(large, large.b.add<ops::average_pool>(a, {dq(large, images, {0.5}, 77)}), 0.25, 20)});
        CHECK(count<ops::average_pool>(after) == 1);
        CHECK(large.outcome.skipped.front().reason == reason);
    }
}

TEST_CASE("FakeQuantizationToInteger: parts of quantized numbers are parts of integers") {
    net n;
    auto const cut = n.b.add<ops::split>({.axis = 1, .sizes = {2, 3, 1}}, {dq(n, bytes(n, {2, 6}), {0.5}, 77)}, 3).node;
    auto const middle = n.op<ops::relu>(value_id{cut, 1});
    auto const g = within(n, {q(n, {cut, 0}, 0.5, 77), q(n, middle, 0.5, 77), q(n, {cut, 2}, 0.125, 30)}, 1, 3);
    CHECK(count<ops::split>(g) == 1);
    CHECK(g.type(g.output(0)).element == dtype::u8);
    CHECK(count<ops::quantize, ops::dequantize>(g) == 2); // the last one changes its unit
}

TEST_CASE("FakeQuantizationToInteger N1: one operator without a rule keeps the whole region") {
    net n;
    auto x = dq(n, bytes(n, {2, 3}), {0.5}, 77);
    x = n.b.add<ops::reshape>({.shape = {3, 2}}, {n.b.add<ops::softmax>({.axis = 1}, {n.op<ops::relu>(x)})});
    CHECK(n.untouched(fake_quantization_to_integer{}, {q(n, x, 0.01)}));
    CHECK(n.outcome.skips("no integer rule") == 1);
}

TEST_CASE("FakeQuantizationToInteger N2: a parameter inside keeps the region") {
    net n;
    auto const x = dq(n, bytes(n, {2, 3}), {0.5}, 77);
    CHECK(n.untouched(fake_quantization_to_integer{}, {q(n, n.op<ops::add>(x, n.input({2, 3}, "f")), 0.5, 77)}));
    CHECK(n.outcome.skips("float operand") == 1);
}

TEST_CASE("FakeQuantizationToInteger N3: without a quantize below there is no region") {
    net n;
    CHECK(n.untouched(fake_quantization_to_integer{}, {n.op<ops::relu>(dq(n, bytes(n, {2, 3}), {0.5}, 77))}));
    net m; // nor is a change of scale one
    CHECK(m.untouched(fake_quantization_to_integer{}, {q(m, dq(m, bytes(m, {2, 3}), {0.5}, 77), 0.25, 3)}));
}

TEST_CASE("FakeQuantizationToInteger N4: a value that is read outside keeps its floating form there") {
    net n;
    auto const x = n.op<ops::relu>(dq(n, bytes(n, {2, 3}), {0.5}, 77));
    auto const g = within(n, {q(n, x, 0.5, 77), n.op<ops::exp>(x)}, 0, 1);
    CHECK(count<ops::relu, ops::dequantize>(g) == 2);
    CHECK(count<ops::clip>(g) == 1);
}

TEST_CASE("FakeQuantizationToInteger: a value below which several quantize is computed once") {
    net n;
    auto const y = n.op<ops::relu>(n.b.add<ops::conv>(
        window(), {dq(n, bytes(n, {2, 3, 6, 6}), {2}, 128), dq(n, weight_bytes(n, {4, 3, 3, 3}), {0.5})}));
    auto const g = within(n, {q(n, y, 64, 100), q(n, y, 32, 7)}, 1, 2);
    CHECK(count<ops::conv_integer>(g) == 1);
}

TEST_CASE("FakeQuantizationToInteger: a long chain of regions is rewritten in one run, and a longer region is left") {
    net n;
    auto x = bytes(n, {1, 3});
    for (int i = 0; i < 2000; ++i) x = q(n, n.op<ops::relu>(dq(n, x, {0.5}, 77)), 0.5, 77);
    n.after(fake_quantization_to_integer{}, {x});
    CHECK(n.outcome.matches == 2000);
    net m;
    auto y = dq(m, bytes(m, {1, 3}), {0.5}, 77);
    for (int i = 0; i < 2000; ++i) y = m.op<ops::relu>(y);
    CHECK(m.untouched(fake_quantization_to_integer{}, {q(m, y, 0.5, 77)}));
    CHECK(m.outcome.skips("too many operators in a region") == 1);
}

} // namespace fake_quantization_test
