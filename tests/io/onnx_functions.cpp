#include "io/function_checks.hpp"
#include <gsub/core/random.hpp>
#include <gsub/io/onnx_functions.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace onnx_functions_test {

using namespace function_checks;
using function_checks::nan; // not that of C

TEST_CASE("functions stand in the order of their names, and none is an operator that gsub has") {
    auto const all = io::onnx_functions();
    CHECK(all.size() > 30);
    auto const rows = table_of<io::onnx_row, standard_ops>();
    auto const operators = table_of<op_info, standard_ops>();
    for (auto const& f : all) {
        INFO(f.name);
        CHECK(io::find_onnx_function(f.domain, f.name) == &f);
        CHECK(io::find_onnx_function("other", f.name) == nullptr);
        auto const row = find_row(operators, f.domain, f.name);
        CHECK_FALSE((row && rows[*row].since != 0));
        CHECK((f.since >= 1 && f.since <= io::newest_opset));
    }
    CHECK(io::find_onnx_function("", "Nothing") == nullptr);
}

TEST_CASE("elementwise functions are what their formulas say") {
    struct row {
        call of;
        std::function<double(double)> formula;
    };
    auto const sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    row const rows[] = {
        {{"Selu", 6},
         [](double x) {
             auto const alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;
             return gamma * (x > 0 ? x : alpha * (std::exp(x) - 1));
         }},
        {{"Selu", 22, {w::real("alpha", 2), w::real("gamma", 3)}},
         [](double x) { return 3 * (x > 0 ? x : 2 * (std::exp(x) - 1)); }},
        {{"Celu", 12, {w::real("alpha", 2)}},
         [](double x) { return std::max(x, 0.0) + std::min(0.0, 2 * (std::exp(x / 2) - 1)); }},
        {{"ThresholdedRelu", 10}, [](double x) { return x > 1 ? x : 0; }},
        {{"Mish", 18}, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
        {{"Swish", 24, {w::real("alpha", 0.5)}}, [&](double x) { return x * sigmoid(0.5 * x); }},
        {{"Swish", 28}, [&](double x) { return x * sigmoid(x); }},
        {{"Shrink", 9, {w::real("lambd", 1), w::real("bias", 0.25)}},
         [](double x) { return x < -1  ? x + 0.25
                               : x > 1 ? x - 0.25
                                       : 0; }},
        {{"Sign", 13}, [](double x) { return x > 0   ? 1
                                             : x < 0 ? -1
                                                     : 0; }},
    };
    auto const x = floats({8}, {-20, -3, -1, -0.25f, 0, 0.5f, 1.5f, 12});
    for (auto const& r : rows) {
        auto want = x.converted_to(dtype::f64);
        for (auto& v : want.mutable_data<double>()) v = r.formula(v);
        INFO(r.of.op);
        CHECK(near(result_of(r.of, {x}), want.converted_to(dtype::f32)));
    }
    CHECK(near(result_of({"Sign"}, {floats({2}, {nan, -infinity})}), floats({2}, {nan, -1})));
    CHECK(near(result_of({"Sign"}, {whole({3}, {-5, 0, 7})}), whole({3}, {-1, 0, 1})));
    CHECK(near(result_of({"PRelu", 16}, {floats({2, 2}, {-2, 3, -4, 5}), floats({2}, {0.5f, 10})}),
               floats({2, 2}, {-1, 3, -2, 5})));
    CHECK(near(result_of({"SwiGLU", 28}, {floats({2}, {0, 20}), floats({2}, {3, 0.5f})}), floats({2}, {0, 10})));
    CHECK(near(result_of({"CastLike", 19}, {floats({2}, {1.5f, -2.5f}), whole({1}, {0})}), whole({2}, {1, -2})));
}

TEST_CASE("the greatest, the least and the mean of several operands, and of one with a number") {
    auto const a = floats({3}, {1, nan, 5}), b = floats({3}, {2, 0, nan}), c = floats({1}, {3});
    CHECK(near(result_of({"Max"}, {a, b, c}), floats({3}, {3, nan, nan})));
    CHECK(near(result_of({"Min"}, {a, b, c}), floats({3}, {1, nan, nan})));
    CHECK(near(result_of({"Max"}, {a}), a));
    CHECK(near(result_of({"Max", 8, {}, {w::floats("", {}, {2})}}, {a}), floats({3}, {2, nan, 5})));
    CHECK(near(result_of({"Min", 12}, {whole({2}, {4, -4}), whole({2, 1}, {0, 9})}), whole({2, 2}, {0, -4, 4, -4})));
    CHECK(near(result_of({"Mean"}, {c, floats({2}, {5, -1})}), floats({2}, {4, 1})));
}

TEST_CASE("what a division of integers leaves has the sign of the divisor, or as in C") {
    auto const x = whole({6}, {-4, 7, 5, 4, -7, 8}), y = whole({6}, {2, -3, 8, -2, 3, 5});
    CHECK(near(result_of({"Mod"}, {x, y}), whole({6}, {0, -2, 5, 0, 2, 3})));
    CHECK(near(result_of({"Mod", 13, {w::integer("fmod", 1)}}, {x, y}), whole({6}, {0, 1, 5, 0, -1, 3})));
}

TEST_CASE("what a division of numbers leaves is exact, however large the quotient is") {
    constexpr auto most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
    std::vector<float> a{5.5f, -5.5f, 5.5f, most, most, 1e30f, infinity, 3, -3, 0, nan, 1, 1, -1},
        b{2, 2, -2, least * 3, 3, 0.7f, 2, infinity, infinity, -2, 2, nan, 0, -infinity};
    random_stream r{6};
    for (int i = 0; i < 500; ++i) { // of all sizes
        auto const number = [&] {
            auto const digits = static_cast<float>(r.below(1U << 24)) + 1;
            return std::ldexp(r.below(2) != 0 ? digits : -digits, static_cast<int>(r.below(240)) - 140);
        };
        a.push_back(number()), b.push_back(number());
    }
    ints const sizes{static_cast<std::int64_t>(a.size())};
    auto const x = tensor::from<float>(sizes, a), y = tensor::from<float>(sizes, b);
    auto const as_in_c = result_of({"Mod", 13, {w::integer("fmod", 1)}}, {x, y});
    auto const floored = result_of({"Mod", 28}, {x, y});
    auto const same = [](float got, float want) { return got == want || (got != got && want != want); };
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO(a[i] << " by " << b[i]);
        auto const left = std::fmod(a[i], b[i]);
        CHECK(same(as_in_c.data<float>()[i], left));
        CHECK(same(floored.data<float>()[i], left != 0 && (left < 0) != (b[i] < 0) ? left + b[i] : left));
    }
    auto const half = floats({2}, {7, -65504}).converted_to(dtype::f16),
               by = floats({2}, {-4, 0x3p-24f}).converted_to(dtype::f16);
    CHECK(near(result_of({"Mod", 13, {w::integer("fmod", 1)}}, {half, by}),
               floats({2}, {3, -0x2p-24f}).converted_to(dtype::f16), 0));
    auto const of_f64 = [](float v) { return floats({1}, {v}).converted_to(dtype::f64); };
    CHECK(near(result_of({"Mod", 28}, {of_f64(7), of_f64(-4)}), of_f64(-1)));
}

TEST_CASE("reductions by other functions than sum, mean and maximum") {
    auto const x = floats({2, 3}, {1, -2, 3, -4, 5, -6});
    auto const rows = list({1});
    w::texts const flat{w::integer("keepdims", 0)};
    CHECK(near(result_of({"ReduceL1", 18, flat, {rows}}, {x}), floats({2}, {6, 15})));
    CHECK(near(result_of({"ReduceL2", 18, {}, {rows}}, {x}), floats({2, 1}, {3.741657f, 8.774964f})));
    CHECK(near(result_of({"ReduceSumSquare", 13, {w::integer_list("axes", {0})}}, {x}), floats({1, 3}, {17, 29, 45})));
    CHECK(near(result_of({"ReduceMin", 13}, {x}), floats({1, 1}, {-6})));
    CHECK(near(result_of({"ReduceLogSum", 18, flat, {rows}}, {floats({1, 2}, {3, 4})}), floats({1}, {1.9459101f})));
    CHECK(near(result_of({"ReduceLogSumExp", 18, flat, {rows}},
                         {floats({4, 2}, {100, 100, -infinity, -infinity, infinity, 1, nan, 1})}),
               floats({4}, {100.693147f, -infinity, infinity, nan})));
    // Over no axes only what is no reduction is computed.
    w::texts const noop{w::integer("noop_with_empty_axes", 1)};
    CHECK(near(result_of({"ReduceSumSquare", 18, noop, {list({})}}, {x}), floats({2, 3}, {1, 4, 9, 16, 25, 36})));
    constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    CHECK(near(result_of({"ReduceMin", 13, flat}, {whole({3}, {most, least, 0})}), whole({}, {least})));
    auto const bytes = tensor::from<std::uint8_t>({3}, {200, 7, 255});
    CHECK(near(result_of({"ReduceMin", 13}, {bytes}), tensor::from<std::uint8_t>({1}, {7})));
}

TEST_CASE("where the greatest and the least element stand") {
    auto const x = floats({2, 4}, {1, 7, 7, 0, nan, 3, nan, 9});
    w::texts const along{w::integer("axis", 1), w::integer("keepdims", 0)};
    w::texts const last{w::integer("axis", -1), w::integer("select_last_index", 1)};
    CHECK(near(result_of({"ArgMax", 13, along}, {x}), whole({2}, {1, 0})));
    CHECK(near(result_of({"ArgMax", 13, last}, {x}), whole({2, 1}, {2, 2})));
    CHECK(near(result_of({"ArgMin", 13, along}, {x}), whole({2}, {3, 0})));
    CHECK(near(result_of({"ArgMin"}, {whole({3, 1}, {4, -9, -9})}), whole({1, 1}, {1})));
    CHECK(near(result_of({"Hardmax"}, {floats({2, 3}, {3, 3, 1, 0, -1, 5})}), floats({2, 3}, {1, 0, 0, 0, 0, 1})));
    auto const logits = floats({2, 2}, {1000, 1000, 0, 1});
    CHECK(near(result_of({"LogSoftmax"}, {logits}), floats({2, 2}, {-0.693147f, -0.693147f, -1.313262f, -0.313262f})));
    // Before operator set 13 all dimensions from the axis on are one.
    CHECK(near(result_of({"LogSoftmax", 11, {w::integer("axis", 0)}}, {floats({2, 2}, {0, 0, 0, 0})}),
               floats({2, 2}, {-1.386294f, -1.386294f, -1.386294f, -1.386294f})));
}

TEST_CASE("normalisations and pools over all pixels") {
    auto const x = floats({1, 2, 1, 2}, {1, 3, -5, 5});
    auto const scale = w::floats("", {2}, {2, 1}), shift = w::floats("", {2}, {0, 10});
    CHECK(near(result_of({"InstanceNormalization", 6, {w::real("epsilon", 0)}, {scale, shift}}, {x}),
               floats({1, 2, 1, 2}, {-2, 2, 9, 11})));
    w::texts const groups{w::real("epsilon", 0), w::integer("num_groups", 2)};
    CHECK(
        near(result_of({"GroupNormalization", 18, groups, {scale, shift}}, {x}), floats({1, 2, 1, 2}, {-2, 2, 9, 11})));
    CHECK(
        near(result_of({"GroupNormalization", 21, groups, {scale, shift}}, {x}), floats({1, 2, 1, 2}, {-2, 2, 9, 11})));
    CHECK(near(result_of({"RMSNormalization", 23, {w::real("epsilon", 0)}, {w::floats("", {2}, {1, 2})}},
                         {floats({1, 2}, {3, 4})}),
               floats({1, 2}, {0.848528f, 2.262742f})));
    CHECK(near(result_of({"MeanVarianceNormalization", 13}, {x}), floats({1, 2, 1, 2}, {-1, 1, -1, 1}), 1e-4));
    CHECK(near(result_of({"LpNormalization", 22}, {floats({2, 2}, {3, 4, 0, 0})}), floats({2, 2}, {0.6f, 0.8f, 0, 0})));
    CHECK(near(result_of({"LpNormalization", 1, {w::integer("p", 1)}}, {floats({1, 2}, {3, -1})}),
               floats({1, 2}, {0.75f, -0.25f})));
    CHECK(near(result_of({"GlobalMaxPool", 1}, {x}), floats({1, 2, 1, 1}, {3, 5})));
    CHECK(near(result_of({"GlobalLpPool", 2}, {x}), floats({1, 2, 1, 1}, {3.162278f, 7.071068f})));
}

TEST_CASE("functions that move elements or make tensors") {
    std::vector<float> numbers(16);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    auto const image = tensor::from<float>(ints{1, 4, 2, 2}, numbers);
    w::texts const block{w::integer("blocksize", 2)};
    CHECK(near(result_of({"DepthToSpace", 13, block}, {image}),
               floats({1, 1, 4, 4}, {0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15})));
    CHECK(near(result_of({"SpaceToDepth", 13, block}, {tensor::from<float>(ints{1, 1, 4, 4}, numbers)}),
               floats({1, 4, 2, 2}, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15})));
    CHECK(near(result_of({"Tile", 13, {}, {list({2, 2})}}, {floats({2, 1}, {1, 2})}),
               floats({4, 2}, {1, 1, 2, 2, 1, 1, 2, 2})));
    CHECK(near(result_of({"Tile", 13, {}, {list({0, 1})}}, {floats({2, 1}, {1, 2})}), floats({0, 1}, {})));
    CHECK(near(result_of({"Size"}, {image}), whole({}, {16})));
    auto const square = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(near(result_of({"Trilu", 14}, {square}), floats({2, 3}, {1, 2, 3, 0, 5, 6})));
    CHECK(near(result_of({"Trilu", 14, {w::integer("upper", 0)}}, {square, whole({}, {1})}),
               floats({2, 3}, {1, 2, 0, 4, 5, 6})));
    CHECK(near(result_of({"EyeLike", 9, {w::integer("k", 1), w::integer("dtype", w::i64)}}, {square}),
               whole({2, 3}, {0, 1, 0, 0, 0, 1})));
    CHECK(near(result_of({"OneHot", 11, {}, {list({3}), w::floats("", {2}, {0, 9})}}, {whole({3}, {1, -1, 5})}),
               floats({3, 3}, {0, 9, 0, 0, 0, 9, 0, 0, 0})));
    CHECK(near(
        result_of({"HannWindow", 17, {}, {w::raw_tensor("", w::i64, {}, w::raw(std::vector<std::int64_t>{4}))}}, {}),
        floats({4}, {0, 0.5f, 1, 0.5f})));
}

TEST_CASE("images are resized by any filter, at any place") {
    auto const row = floats({1, 1, 1, 4}, {1, 2, 3, 4});
    auto const sizes = [](std::int64_t n) { return w::integers("", {1, 1, 1, n}); };
    auto const factor = [](float f) { return w::floats("", {4}, {1, 1, 1, f}); };
    auto const resized = [&](w::texts const& attributes, w::texts const& constants) {
        return result_of({"Resize", 19, attributes, constants}, {row});
    };
    w::texts const linear{w::word("mode", "linear")};
    auto const none = w::floats("", {0}, {});
    CHECK(near(resized({}, {none, factor(2)}), floats({1, 1, 1, 8}, {1, 1, 2, 2, 3, 3, 4, 4})));
    CHECK(near(resized(linear, {none, factor(2)}),
               floats({1, 1, 1, 8}, {1, 1.25f, 1.75f, 2.25f, 2.75f, 3.25f, 3.75f, 4})));
    CHECK(near(resized(linear, {none, factor(0.6f)}), floats({1, 1, 1, 2}, {1.3333333f, 3})));
    CHECK(near(resized({w::word("mode", "linear"), w::word("coordinate_transformation_mode", "align_corners")},
                       {none, none, sizes(7)}),
               floats({1, 1, 1, 7}, {1, 1.5f, 2, 2.5f, 3, 3.5f, 4})));
    // One result is at the first element, where it is not all that the scale makes.
    CHECK(near(resized({w::word("mode", "linear"), w::word("coordinate_transformation_mode", "pytorch_half_pixel")},
                       {none, factor(0.4f)}),
               floats({1, 1, 1, 1}, {1})));
    // A filter over all that becomes one element.
    CHECK(near(resized({w::word("mode", "linear"), w::integer("antialias", 1)}, {none, none, sizes(1)}),
               floats({1, 1, 1, 1}, {2.5f})));
    // As ONNX's reference computes them.
    auto const cubic = [&](w::texts attributes, float f) {
        attributes.push_back(w::word("mode", "cubic"));
        return resized(attributes, {none, factor(f)});
    };
    CHECK(near(cubic({}, 1.5f),
               floats({1, 1, 1, 6}, {0.9131948f, 1.40625f, 2.2129648f, 2.7870374f, 3.59375f, 4.0868073f})));
    CHECK(near(cubic({w::integer("exclude_outside", 1)}, 1.5f),
               floats({1, 1, 1, 6}, {0.8986486f, 1.3714286f, 2.2129638f, 2.7870362f, 3.6285715f, 4.1013513f})));
    CHECK(near(cubic({w::integer("antialias", 1)}, 0.6f), floats({1, 1, 1, 2}, {1.3036139f, 3.0714304f})));
    CHECK(near(resized({w::word("mode", "linear"), w::integer("antialias", 1)}, {none, factor(0.6f)}),
               floats({1, 1, 1, 2}, {1.375f, 3})));
    CHECK(near(result_of({"Upsample", 9, {}, {factor(2)}}, {row}), floats({1, 1, 1, 8}, {1, 1, 2, 2, 3, 3, 4, 4})));
    CHECK(near(result_of({"Resize", 10, {}, {factor(1.5f)}}, {row}), floats({1, 1, 1, 6}, {1, 1, 2, 3, 3, 4})));
    auto const cropped = result_of({"Resize",
                                    13,
                                    {w::word("mode", "linear"), w::real("extrapolation_value", 9),
                                     w::word("coordinate_transformation_mode", "tf_crop_and_resize")},
                                    {w::floats("", {8}, {0, 0, 0, 0.5f, 1, 1, 1, 1.5f}), none, sizes(3)}},
                                   {row});
    CHECK(near(cropped, floats({1, 1, 1, 3}, {2.5f, 4, 9})));
}

TEST_CASE("a transposed convolution adds the weight at each place of its operand") {
    random_stream r{1};
    for (int i = 0; i < 60; ++i) {
        auto const draw = [&](std::int64_t low, std::int64_t high) {
            return low + static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(high - low + 1)));
        };
        auto const group = draw(1, 2), in = draw(1, 2), made = draw(1, 2);
        std::int64_t size[2], kernel[2], stride[2], dilation[2], begin[2], end[2], more[2], result[2];
        for (int d = 0; d < 2; ++d) {
            size[d] = draw(1, 4), kernel[d] = draw(1, 4), stride[d] = draw(1, 3), dilation[d] = draw(1, 2);
            more[d] = draw(0, stride[d] - 1);
            auto const whole = stride[d] * (size[d] - 1) + more[d] + (kernel[d] - 1) * dilation[d] + 1;
            begin[d] = draw(0, 1), end[d] = draw(0, 1);
            if (begin[d] + end[d] >= whole) begin[d] = end[d] = 0;
            result[d] = whole - begin[d] - end[d];
        }
        auto const number = [&] { return static_cast<float>(draw(-3, 3)); };
        auto x = tensor::zeros(dtype::f32, ints{2, group * in, size[0], size[1]});
        auto k = tensor::zeros(dtype::f32, ints{group * in, made, kernel[0], kernel[1]});
        auto bias = tensor::zeros(dtype::f32, ints{group * made});
        for (auto* t : {&x, &k, &bias})
            for (auto& v : t->mutable_data<float>()) v = number();
        auto want = tensor::zeros(dtype::f32, ints{2, group * made, result[0], result[1]});
        auto const y = want.mutable_data<float>();
        auto const at = [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t v) -> float& {
            return y[static_cast<std::size_t>(((n * group * made + c) * result[0] + h) * result[1] + v)];
        };
        for (std::int64_t n = 0; n < 2; ++n) {
            for (std::int64_t c = 0; c < group * made; ++c)
                for (std::int64_t h = 0; h < result[0]; ++h)
                    for (std::int64_t v = 0; v < result[1]; ++v)
                        at(n, c, h, v) = bias.data<float>()[static_cast<std::size_t>(c)];
            for (std::int64_t c = 0; c < group * in; ++c)
                for (std::int64_t m = 0; m < made; ++m)
                    for (std::int64_t h = 0; h < size[0]; ++h)
                        for (std::int64_t v = 0; v < size[1]; ++v)
                            for (std::int64_t a = 0; a < kernel[0]; ++a)
                                for (std::int64_t b = 0; b < kernel[1]; ++b) {
                                    auto const row = h * stride[0] + a * dilation[0] - begin[0];
                                    auto const column = v * stride[1] + b * dilation[1] - begin[1];
                                    if (row < 0 || row >= result[0] || column < 0 || column >= result[1]) continue;
                                    at(n, c / in * made + m, row, column) +=
                                        x.data<float>()[static_cast<std::size_t>(
                                            ((n * group * in + c) * size[0] + h) * size[1] + v)] *
                                        k.data<float>()[static_cast<std::size_t>(
                                            ((c * made + m) * kernel[0] + a) * kernel[1] + b)];
                                }
        }
        INFO(i << ": " << to_string(x.type()) << " with " << to_string(k.type()) << ", strides " << stride[0] << ", "
               << stride[1] << ", dilations " << dilation[0] << ", " << dilation[1]);
        CHECK(near(result_of({"ConvTranspose",
                              11,
                              {w::integer("group", group), w::integer_list("strides", {stride[0], stride[1]}),
                               w::integer_list("dilations", {dilation[0], dilation[1]}),
                               w::integer_list("pads", {begin[0], begin[1], end[0], end[1]}),
                               w::integer_list("output_padding", {more[0], more[1]})}},
                             {x, k, bias}),
                   want));
    }
    auto const x = floats({1, 1, 3}, {1, 2, 3}), k = floats({1, 1, 3}, {1, 1, 1});
    CHECK(near(
        result_of({"ConvTranspose", 1, {w::integer_list("strides", {2}), w::word("auto_pad", "SAME_UPPER")}}, {x, k}),
        floats({1, 1, 6}, {1, 1, 3, 2, 5, 3})));
    CHECK(near(result_of({"ConvTranspose", 1, {w::integer_list("strides", {2}), w::integer_list("output_shape", {8})}},
                         {x, k}),
               floats({1, 1, 8}, {1, 1, 3, 2, 5, 3, 3, 0})));
}

TEST_CASE("what a function cannot be read for stays as it is, and what is wrong is refused") {
    auto const x = floats({2, 2}, {1, 2, 3, 4});
    CHECK(reason({"Mod"}, {x, x}) == "invalid input");
    CHECK(reason({"Mish", 13}, {x}) == "its form in operator set 13 is not supported; from 18 on it is");
    CHECK(reason({"Selu", 6, {w::integer("other", 1)}}, {x}) == "attribute \"other\" is not supported");
    CHECK(reason({"Tile"}, {x, whole({2}, {1, 2})}) == "repeats that are no constant");
    CHECK(reason({"Hardmax", 11, {w::integer("axis", 0)}}, {x}) == "several dimensions as one");
    CHECK(reason({"ArgMax", 13, {w::integer("axis", 2)}}, {x}) == "invalid input");
    CHECK(reason({"SpaceToDepth", 13, {w::integer("blocksize", 3)}}, {floats({1, 1, 2, 2}, {1, 2, 3, 4})}) ==
          "invalid input");
    CHECK(reason({"GroupNormalization", 21, {w::integer("num_groups", 3)}}, {floats({1, 2, 1}, {1, 2}), x, x}) ==
          "invalid input");
}

TEST_CASE("products are those of all elements along axes, and of those up to each") {
    auto const x = floats({2, 5}, {1, 2, 3, 4, 5, -1, 0.5f, 2, -4, 3});
    CHECK(near(result_of({"ReduceProd", 13, {w::integer_list("axes", {1})}}, {x}), floats({2, 1}, {120, 12})));
    CHECK(near(result_of({"ReduceProd", 18, {w::integer("keepdims", 0)}}, {x}), tensor::scalar(1440.0f)));
    CHECK(near(
        result_of({"ReduceProd", 18, {w::integer("keepdims", 0)}, {list({0})}}, {whole({3, 2}, {1, 2, 3, 4, 5, 6})}),
        whole({2}, {15, 48})));
    CHECK(near(result_of({"ReduceProd", 13}, {floats({0, 3}, {})}), floats({1, 1}, {1})));
    auto const up_to = [&](w::texts const& how) { return result_of({"CumProd", 26, how, {list({1})}}, {x}); };
    CHECK(near(up_to({}), floats({2, 5}, {1, 2, 6, 24, 120, -1, -0.5f, -1, 4, 12})));
    CHECK(near(up_to({w::integer("exclusive", 1)}), floats({2, 5}, {1, 1, 2, 6, 24, 1, -1, -0.5f, -1, 4})));
    CHECK(near(up_to({w::integer("reverse", 1)}), floats({2, 5}, {120, 120, 60, 20, 5, 12, -12, -24, -12, 3})));
    CHECK(near(up_to({w::integer("reverse", 1), w::integer("exclusive", 1)}),
               floats({2, 5}, {120, 60, 20, 5, 1, -12, -24, -12, 3, 1})));
}

TEST_CASE("a pool of powers gives the norm of what stands under each window") {
    auto const x = floats({1, 1, 3, 3}, {3, -4, 0, 4, 3, 1, -12, 5, 2});
    auto const pooled = [&](w::texts more) {
        more.push_back(w::integer_list("kernel_shape", {2, 2}));
        return result_of({"LpPool", 18, more}, {x});
    };
    CHECK(near(pooled({w::integer("p", 1)}), floats({1, 1, 2, 2}, {14, 8, 24, 11})));
    CHECK(near(pooled({}),
               floats({1, 1, 2, 2}, {std::sqrt(50.0f), std::sqrt(26.0f), std::sqrt(194.0f), std::sqrt(39.0f)})));
    CHECK(near(pooled({w::integer("p", 3)}),
               floats({1, 1, 2, 2}, {std::cbrt(182.0f), std::cbrt(92.0f), std::cbrt(1944.0f), std::cbrt(161.0f)})));
    CHECK(near(pooled({w::integer("p", 1), w::integer_list("strides", {2, 2}), w::integer("ceil_mode", 1)}),
               floats({1, 1, 2, 2}, {14, 1, 17, 2})));
}

TEST_CASE("the middle is cut out, or padded around") {
    auto const x = floats({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK(near(result_of({"CenterCropPad", 18, {}, {list({3, 2})}}, {x}), floats({3, 2}, {2, 3, 7, 8, 0, 0})));
    CHECK(near(result_of({"CenterCropPad", 18, {w::integer_list("axes", {-1})}, {list({7})}}, {x}),
               floats({2, 7}, {0, 1, 2, 3, 4, 5, 0, 0, 6, 7, 8, 9, 10, 0})));
}

TEST_CASE("images are sampled at places between their pixels, and beyond them as asked for") {
    auto const x = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
    // (-1, -1) is the first corner, (0, 0) the middle; x comes before y.
    auto const places = floats({1, 1, 4, 2}, {-1, -1, 0, 0, 1, 0.5f, 3, -1});
    auto const of = [&](char const* mode, char const* padding, int corners) {
        return result_of(
            {"GridSample",
             20,
             {w::word("mode", mode), w::word("padding_mode", padding), w::integer("align_corners", corners)}},
            {x, places});
    };
    auto const row = [](std::initializer_list<float> v) { return floats({1, 1, 1, 4}, v); };
    CHECK(near(of("linear", "zeros", 1), row({1, 3.5f, 5.25f, 0})));
    CHECK(near(of("linear", "border", 1), row({1, 3.5f, 5.25f, 3})));
    CHECK(near(of("linear", "reflection", 1), row({1, 3.5f, 5.25f, 1})));
    CHECK(near(of("linear", "zeros", 0), row({0.25f, 3.5f, 3, 0})));
    CHECK(near(of("nearest", "border", 1), row({1, 2, 6, 3})));
    CHECK(near(of("cubic", "border", 1), row({1, 3.5f, 5.3203125f, 3})));
}

TEST_CASE("operators of com.microsoft are graphs of others, in that domain alone") {
    auto const of = [](std::string_view op, std::string_view domain, std::vector<tensor> const& inputs,
                       w::texts const& results) {
        w::model m;
        m.opset = 17;
        m.domains = {{"com.microsoft", 1}};
        w::texts names;
        for (auto const& t : inputs) {
            names.push_back(fmt::format("x{}", names.size()));
            m.in(names.back(), {t.dims().begin(), t.dims().end()});
        }
        for (auto const& name : results)
            if (!name.empty()) m.out(name);
        m.add(op, names, results, {}, "node", domain);
        return loaded(m);
    };
    auto const x = floats({1, 4}, {-2, 0, 1, 3}), ones = floats({4}, {1, 1, 1, 1});
    auto const gelu = of("QuickGelu", "com.microsoft", {x}, {"y"});
    auto expected = x;
    for (auto& v : expected.mutable_data<float>()) v = v / (1 + std::exp(-1.702f * v));
    CHECK(near(evaluate_graph(gelu, std::vector{x}).value()[0], expected));
    CHECK(model_checks::count<ops::opaque>(of("QuickGelu", "", {x}, {"y"})) == 1);
    auto const sum = of("SkipLayerNormalization", "com.microsoft", {x, x, ones}, {"y", "", "", "sum"});
    auto const both = evaluate_graph(sum, std::vector{x, x, ones}).value();
    CHECK(near(both[1], floats({1, 4}, {-4, 0, 2, 6})));
    CHECK(near(both[0], floats({1, 4}, {-1.3867505f, -0.2773501f, 0.2773501f, 1.3867505f})));
    auto const mean = of("SkipLayerNormalization", "com.microsoft", {x, x, ones}, {"y", "mean"});
    CHECK(model_checks::count<ops::opaque>(mean) == 1); // of training
}

// ---- recurrent layers

using numbers = std::vector<double>;

// One step of a layer, on rows, by the formulas of ONNX.
struct cell {
    std::string kind;
    std::size_t inputs, hidden;
    numbers w, r, b, p; // as files have them, of one direction
    bool inside = false;

    [[nodiscard]] double fed(numbers const& x, std::size_t g, std::size_t i) const {
        auto const at = g * hidden + i;
        auto sum = b[at];
        for (std::size_t k = 0; k < inputs; ++k) sum += w[at * inputs + k] * x[k];
        return sum;
    }
    [[nodiscard]] double kept(numbers const& h, std::size_t g, std::size_t i, std::size_t gates) const {
        auto const at = g * hidden + i;
        auto sum = b[gates * hidden + at];
        for (std::size_t k = 0; k < hidden; ++k) sum += r[at * hidden + k] * h[k];
        return sum;
    }
    void step(numbers const& x, numbers& h, numbers& c) const {
        auto const sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
        numbers next(hidden), reset(hidden);
        if (kind == "GRU")
            for (std::size_t i = 0; i < hidden; ++i) reset[i] = sigmoid(fed(x, 1, i) + kept(h, 1, i, 3));
        for (std::size_t i = 0; i < hidden; ++i) {
            if (kind == "RNN") {
                next[i] = std::tanh(fed(x, 0, i) + kept(h, 0, i, 1));
            } else if (kind == "GRU") {
                auto const z = sigmoid(fed(x, 0, i) + kept(h, 0, i, 3));
                numbers part(hidden);
                for (std::size_t k = 0; k < hidden; ++k) part[k] = reset[k] * h[k];
                auto const state = inside ? reset[i] * kept(h, 2, i, 3) : kept(part, 2, i, 3);
                next[i] = (1 - z) * std::tanh(fed(x, 2, i) + state) + z * h[i];
            } else {
                auto const in = sigmoid(fed(x, 0, i) + kept(h, 0, i, 4) + p[i] * c[i]);
                auto const forget = sigmoid(fed(x, 2, i) + kept(h, 2, i, 4) + p[2 * hidden + i] * c[i]);
                c[i] = forget * c[i] + in * std::tanh(fed(x, 3, i) + kept(h, 3, i, 4));
                next[i] = sigmoid(fed(x, 1, i) + kept(h, 1, i, 4) + p[hidden + i] * c[i]) * std::tanh(c[i]);
            }
        }
        h = next;
    }
};

numbers part_of(tensor const& t, std::size_t which, std::size_t parts) {
    auto const all = t.data<float>();
    auto const size = all.size() / parts;
    auto const begin = all.begin() + static_cast<std::ptrdiff_t>(which * size);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

TEST_CASE("recurrent layers do one step after the other, in each direction, over sequences of any length") {
    constexpr std::int64_t steps = 4, batch = 2, inputs = 3, hidden = 5;
    struct layer {
        std::string op;
        std::int64_t gates;
        w::texts attributes;
        bool inside = false;
    };
    layer const layers[] = {
        {"RNN", 1, {}}, {"GRU", 3, {}}, {"GRU", 3, {w::integer("linear_before_reset", 1)}, true}, {"LSTM", 4, {}}};
    std::int64_t const lengths[] = {4, 2};
    for (auto const& l : layers)
        for (std::string const direction : {"forward", "reverse", "bidirectional"}) {
            INFO(l.op << ", " << direction);
            std::int64_t const d = direction == "bidirectional" ? 2 : 1;
            random_stream r{7};
            auto const x = random_floats(r, {steps, batch, inputs}),
                       weights = random_floats(r, {d, l.gates * hidden, inputs});
            auto const recurrence = random_floats(r, {d, l.gates * hidden, hidden});
            auto const bias = random_floats(r, {d, 2 * l.gates * hidden}), h0 = random_floats(r, {d, batch, hidden});
            auto const c0 = random_floats(r, {d, batch, hidden}), peepholes = random_floats(r, {d, 3 * hidden});
            auto const told = tensor::from<std::int64_t>({batch}, {lengths[0], lengths[1]}).converted_to(dtype::i32);
            std::vector<tensor> operands{x, weights, recurrence, bias, told, h0};
            if (l.op == "LSTM") operands.push_back(c0), operands.push_back(peepholes);

            w::model m;
            m.opset = 14;
            w::texts names;
            for (auto const& t : operands) {
                names.push_back(fmt::format("x{}", names.size()));
                m.in(names.back(), {t.dims().begin(), t.dims().end()}, static_cast<int>(info(t.element()).onnx));
            }
            auto attributes = l.attributes;
            attributes.push_back(w::word("direction", direction));
            attributes.push_back(w::integer("hidden_size", hidden));
            w::texts results{"y", "h"};
            if (l.op == "LSTM") results.emplace_back("c");
            for (auto const& name : results) m.out(name);
            m.add(l.op, names, results, attributes);
            auto const g = loaded(m);
            CHECK(model_checks::count<ops::opaque>(g) == 0);
            auto const got = evaluate_graph(g, operands).value();

            auto y = tensor::zeros(dtype::f32, ints{steps, d, batch, hidden}), h_end = h0, c_end = c0;
            for (std::int64_t k = 0; k < d; ++k) {
                auto const of = static_cast<std::size_t>(k), all = static_cast<std::size_t>(d);
                cell const one{l.op,
                               inputs,
                               hidden,
                               part_of(weights, of, all),
                               part_of(recurrence, of, all),
                               part_of(bias, of, all),
                               part_of(peepholes, of, all),
                               l.inside};
                for (std::int64_t b = 0; b < batch; ++b) {
                    auto const at = of * batch + static_cast<std::size_t>(b);
                    auto h = part_of(h0, at, all * batch), c = part_of(c0, at, all * batch);
                    for (std::int64_t i = 0; i < lengths[b]; ++i) {
                        auto const t = direction == "reverse" || k == 1 ? lengths[b] - 1 - i : i;
                        one.step(part_of(x, static_cast<std::size_t>(t * batch + b), steps * batch), h, c);
                        for (std::size_t j = 0; j < hidden; ++j)
                            y.mutable_data<float>()[static_cast<std::size_t>((t * d + k) * batch + b) * hidden + j] =
                                static_cast<float>(h[j]);
                    }
                    for (std::size_t j = 0; j < hidden; ++j) {
                        h_end.mutable_data<float>()[at * hidden + j] = static_cast<float>(h[j]);
                        c_end.mutable_data<float>()[at * hidden + j] = static_cast<float>(c[j]);
                    }
                }
            }
            CHECK(near(got.at(0), y));
            CHECK(near(got.at(1), h_end));
            if (l.op == "LSTM") CHECK(near(got.at(2), c_end));
        }
}

TEST_CASE("a layer over steps of an open number is opaque, and says what gives them") {
    w::model m;
    m.opset = 14;
    m.in("x", {w::size{"steps"}, 1, 1})
        .weight(w::floats("w", {1, 1, 1}, {1}))
        .weight(w::floats("r", {1, 1, 1}, {0}))
        .out("y");
    m.add("RNN", {"x", "w", "r"}, {"y"});
    auto const g = loaded(m);
    auto const missing = not_computable(g, table_of<eval_row, standard_ops>());
    REQUIRE(missing.size() == 1);
    CHECK(to_string(missing[0]).find("dimension 0 has no size; load_options::dims gives one, --dim \"steps\"=1") !=
          std::string::npos);
    CHECK(model_checks::count<ops::opaque>(loaded(m, {.dims = {{"steps", 3}}})) == 0);
}

TEST_CASE("a recurrent layer has the activations that it names, with their numbers in order") {
    // y = f(x): the state does not come back.
    auto const of = [](w::texts const& attributes, float x) {
        call c{"RNN", 22, attributes, {w::floats("", {1, 1, 1}, {1}), w::floats("", {1, 1, 1}, {0})}};
        return result_of(c, {floats({1, 1, 1}, {x})}).data<float>()[0];
    };
    auto const named = [](char const* name) { return w::word_list("activations", {name}); };
    CHECK(of({named("Relu")}, -2) == 0);
    CHECK(of({named("Affine"), w::real_list("activation_alpha", {3}), w::real_list("activation_beta", {1})}, 2) == 7);
    CHECK(of({named("LeakyRelu"), w::real_list("activation_alpha", {0.5f})}, -2) == -1);
    CHECK(of({named("Softsign")}, 1) == 0.5f);
    CHECK(of({named("ThresholdedRelu")}, 0.5f) == 0);
    CHECK(of({named("Relu"), w::real("clip", 1.5f)}, 4) == 1.5f);
    w::model m;
    m.opset = 14;
    m.in("x", {1, 1, 1}).weight(w::floats("w", {1, 1, 1}, {1})).weight(w::floats("r", {1, 1, 1}, {0})).out("y");
    m.add("RNN", {"x", "w", "r"}, {"y"}, {named("Gelu")});
    CHECK(model_checks::count<ops::opaque>(loaded(m)) == 1);
}

} // namespace onnx_functions_test
