#include "catch.hpp"
#include "eval/compute.hpp"
#include "ir/integer_types.hpp"
#include <gsub/eval/evaluate_quantized.hpp>

#include <limits>

namespace evaluate_quantized_test {

using namespace gsub;
using compute::f32;
using compute::normal;
using compute::one;
using compute::same;

// Integers of a type, drawn over its whole range.
tensor drawn(ints const& dims, dtype element, std::uint64_t seed) {
    auto t = tensor::uninitialized(element, dims);
    random_stream r{seed};
    for (auto& b : t.mutable_raw()) b = static_cast<std::byte>(r.below(256));
    return t;
}
tensor list_of(dtype element, std::vector<double> const& values) {
    return tensor::from<double>(ints{static_cast<std::int64_t>(values.size())}, values).converted_to(element);
}
double at(tensor const& t, std::size_t i) {
    return t.converted_to(dtype::f64).data<double>()[t.elements() == 1 ? 0 : i];
}
tensor minus(tensor const& x, tensor const& zero, std::size_t length, std::size_t inner) {
    auto y = x.converted_to(dtype::f64);
    auto const z = zero.converted_to(dtype::f64);
    for (std::size_t i = 0; i < y.mutable_data<double>().size(); ++i)
        y.mutable_data<double>()[i] -= z.data<double>()[zero.elements() == 1 ? 0 : i / inner % length];
    return y;
}

TEST_CASE("quantizing rounds half to even and saturates, in every integer type and precision") {
    auto const x = f32({10}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3e9f, -3e9f, std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
    auto const two = tensor::scalar(1.0f);
    for (auto const compute : {precision::native, precision::f64}) {
        evaluate_options const o{.compute = compute};
        CHECK(same(one<ops::quantize>({}, {x, two}, o), list_of(dtype::u8, {0, 2, 2, 0, 0, 255, 0, 255, 0, 0})));
        CHECK(same(one<ops::quantize>({}, {x, two, list_of(dtype::u8, {128})}, o),
                   list_of(dtype::u8, {128, 130, 130, 128, 126, 255, 0, 255, 0, 0})));
        CHECK(same(one<ops::quantize>({}, {x, two, list_of(dtype::i8, {-1})}, o),
                   list_of(dtype::i8, {-1, 1, 1, -1, -3, 127, -128, 127, -128, -128})));
        CHECK(same(one<ops::quantize>({}, {x, two, list_of(dtype::i16, {1})}, o),
                   list_of(dtype::i16, {1, 3, 3, 1, -1, 32767, -32768, 32767, -32768, -32768})));
    }
    each_integer_type([&]<class T> { // the ends of the type are those of the result
        if (sizeof(T) > 2) return;
        auto const y = one<ops::quantize>({}, {x, two, list_of(dtype_of<T>, {1})});
        CHECK(y.template data<T>()[5] == std::numeric_limits<T>::max());
        CHECK(y.template data<T>()[6] == std::numeric_limits<T>::min());
        CHECK(y.template data<T>()[1] == T{3});
    });
    CHECK(same(one<ops::quantize>({list_of(dtype::i32, {-4, 3, 5}), tensor::scalar(2.0f), list_of(dtype::i8, {0})}),
               list_of(dtype::i8, {-2, 2, 2})));
}

TEST_CASE("what is quantized and dequantized is off by at most half a step, and a fixed point from then on") {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (auto const element : {dtype::u8, dtype::i8, dtype::u16, dtype::i16})
            for (auto const real : {dtype::f32, dtype::f16}) {
                CAPTURE(seed, to_string(element), to_string(real));
                auto const x = normal({2, 4, 3}, seed).converted_to(real);
                auto const scale = f32({4}, {0.0625f, 0.125f, 0.25f, 0.03125f}).converted_to(real);
                auto const middle = info(element).is_signed ? 0.0 : 128.0;
                auto const zero = list_of(element, {middle, middle + 1, middle + 2, middle - 3});
                auto const q = one<ops::quantize>({.axis = -2}, {x, scale, zero});
                REQUIRE(q.element() == element);
                auto const back = one<ops::dequantize>({.axis = 1}, {q, scale, zero});
                REQUIRE(back.element() == real);
                for (std::size_t i = 0; i < 24; ++i) {
                    auto const step = at(scale, i / 3 % 4);
                    CHECK((std::abs(at(back, i) - at(x, i)) <= step / 2 || std::abs(at(x, i)) > 120 * step));
                }
                CHECK(same(one<ops::quantize>({.axis = 1}, {back, scale, zero}), q));
            }
}

TEST_CASE("dequantizing is exact up to one rounding, and folding gives what running gives") {
    auto const q = list_of(dtype::i32, {2147483647, -2147483648.0, 16777217, 0});
    auto const scale = tensor::scalar(0.1f);
    for (auto const compute : {precision::native, precision::f64})
        for (std::size_t i = 0; i < 4; ++i) {
            auto const y = one<ops::dequantize>({}, {q, scale}, {.compute = compute}).converted_to(dtype::f32);
            CHECK(y.data<float>()[i] == static_cast<float>(q.data<std::int32_t>()[i]) * 0.1f);
        }
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto const x = normal({257}, seed), s = tensor::scalar(0.01f + 0.001f * static_cast<float>(seed));
        CHECK(same(one<ops::quantize>({}, {x, s}, {.compute = precision::f64}), one<ops::quantize>({x, s})));
    }
}

TEST_CASE("blocks of an axis have scales of their own") {
    auto const q = list_of(dtype::i8, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).reshaped(ints{5, 2});
    auto const scale = f32({3, 2}, {1, 2, 3, 4, 5, 6});
    CHECK(same(one<ops::dequantize>({.axis = 0, .block_size = 2}, {q, scale}),
               f32({5, 2}, {1, 4, 3, 8, 15, 24, 21, 32, 45, 60})));
}

TEST_CASE("an integer convolution is the exact convolution of what lies above the zero points") {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (auto const tx : {dtype::u8, dtype::i8})
            for (auto const tw : {dtype::u8, dtype::i8}) {
                CAPTURE(seed, to_string(tx), to_string(tw));
                random_stream r{seed};
                auto const groups = seed % 2 ? 2 : 1;
                auto const x = drawn({2, 4, 5, 6}, tx, seed), w = drawn({6, 4 / groups, 3, 2}, tw, seed + 100);
                auto const zx = drawn({}, tx, seed + 1), zw = drawn(seed % 3 ? ints{6} : ints{}, tw, seed + 2);
                integer_window a;
                a.strides = {1 + static_cast<std::int64_t>(r.below(2)), 1}, a.dilations = {1, 1}, a.pads = {1, 0, 2, 1};
                a.group = groups;
                attributes_of<ops::conv> c;
                c.strides = a.strides, c.dilations = a.dilations, c.pads = a.pads, c.group = a.group;
                auto const fx = minus(x, zx, 1, 1), fw = minus(w, zw, 6, static_cast<std::size_t>(24 / groups));
                auto const y = one<ops::conv>(c, {fx, fw});
                auto const sums = one<ops::conv_integer>(a, {x, w, zx, zw});
                CHECK(same(sums, y.converted_to(dtype::i32)));
                // The quantized one is the same sum, in another unit.
                auto const scales =
                    zw.rank() == 0 ? tensor::scalar(0.02f) : f32({6}, {.01f, .02f, .03f, .04f, .05f, .06f});
                auto const bias = list_of(dtype::i32, {0, 1000, -1000, 5, -5, 70000});
                auto const zy = list_of(dtype::u8, {100});
                auto const out = one<ops::qlinear_conv>(
                    a, {x, tensor::scalar(0.5f), zx, w, scales, zw, tensor::scalar(3.0f), zy, bias});
                REQUIRE(out.element() == dtype::u8);
                auto const area = static_cast<std::size_t>(y.elements() / 12);
                for (std::size_t i = 0; i < static_cast<std::size_t>(y.elements()); ++i) {
                    auto const channel = i / area % 6;
                    auto const factor = 0.5f * static_cast<float>(at(scales, channel)) / 3.0f;
                    auto const v = static_cast<float>(at(y, i) + at(bias, channel)) * factor;
                    CHECK(at(out, i) == std::min(255.0, std::max(0.0, double{std::nearbyint(v)} + 100)));
                }
            }
}

TEST_CASE("an integer product is the exact product of what lies above the zero points") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        auto const a = drawn({2, 3, 5}, dtype::u8, seed), b = drawn({5, 4}, dtype::i8, seed + 50);
        auto const za = drawn(seed % 2 ? ints{3} : ints{}, dtype::u8, seed + 1),
                   zb = drawn(seed % 3 ? ints{4} : ints{1}, dtype::i8, seed + 2);
        auto const y = one<ops::mat_mul>({minus(a, za, 3, 5), minus(b, zb, 4, 1)});
        CHECK(same(one<ops::mat_mul_integer>({a, b, za, zb}), y.converted_to(dtype::i32)));
        auto const sb = zb.elements() == 1 ? f32({1}, {0.5f}) : f32({4}, {.5f, .25f, 1, 2});
        auto const out = one<ops::qlinear_mat_mul>(
            {a, tensor::scalar(0.25f), za, b, sb, zb, tensor::scalar(16.0f), list_of(dtype::i8, {-7})});
        for (std::size_t i = 0; i < 24; ++i) {
            auto const v = static_cast<float>(at(y, i)) * (0.25f * static_cast<float>(at(sb, i % 4)) / 16.0f);
            CHECK(at(out, i) == std::min(127.0, std::max(-128.0, double{std::nearbyint(v)} - 7)));
        }
    }
    CHECK(same(one<ops::mat_mul_integer>({drawn({3}, dtype::u8, 1), drawn({3, 1}, dtype::u8, 2)}),
               one<ops::mat_mul>({drawn({3}, dtype::u8, 1).converted_to(dtype::i32),
                                  drawn({3, 1}, dtype::u8, 2).converted_to(dtype::i32)})));
}

TEST_CASE("what is saturated lies between the bounds, and what is no number at the lower one") {
    auto const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(same(one<ops::saturate>({.low = -8, .high = 7}, {f32({6}, {nan, infinity, -infinity, 7, -7.5f, 8})}),
               f32({6}, {-8, 7, -8, 7, -7.5f, 7})));
}

TEST_CASE("in the prime field rounding is a function of all operands, and integers keep their sums") {
    evaluate_options const field{.compute = precision::field};
    auto const x = normal({2, 3}, 1);
    auto const q = one<ops::quantize>({}, {x, f32({3}, {1, 2, 3})}, field);
    CHECK(same(q, one<ops::quantize>({}, {x, f32({3}, {1, 2, 3})}, field)));
    CHECK_FALSE(same(q, one<ops::quantize>({}, {x, f32({3}, {1, 2, 4})}, field)));
    auto const a = drawn({2, 3}, dtype::u8, 1), b = drawn({3, 2}, dtype::u8, 2);
    CHECK(same(one<ops::mat_mul_integer>({}, {a, b}, field), one<ops::mat_mul_integer>({a, b})));
}

} // namespace evaluate_quantized_test
