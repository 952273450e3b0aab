#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/types/dtype.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <type_traits>

namespace dtype_test {

using namespace gsub;

inline constexpr auto every_dtype = [] {
    std::array<dtype, detail::dtype_table.size()> types{};
    for (std::size_t i = 0; i < types.size(); ++i) types[i] = static_cast<dtype>(i);
    return types;
}();

// Hashes of graphs and the C interface have these numbers.
static_assert(static_cast<int>(dtype::undefined) == 0 && static_cast<int>(dtype::f64) == 1);
static_assert(static_cast<int>(dtype::u8) == 9 && static_cast<int>(dtype::boolean) == 10);
static_assert(static_cast<int>(dtype::field61) == 11 && static_cast<int>(dtype::u64) == 12);
static_assert(static_cast<int>(dtype::u32) == 13 && static_cast<int>(dtype::u16) == 14);

static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);
static_assert(std::is_trivially_copyable_v<float16> && std::is_trivially_copyable_v<bfloat16>);
static_assert(!std::is_convertible_v<float, float16>, "rounding is asked for");
static_assert(std::is_convertible_v<float16, float>, "widening loses nothing");
static_assert(float16{1.0f}.bits == 0x3c00 && float16{-2.0f}.bits == 0xc000);
static_assert(bfloat16{1.0f}.bits == 0x3f80 && float{bfloat16{-0.5f}} == -0.5f);
static_assert(dtype_of<float> == dtype::f32 && dtype_of<long double> == dtype::undefined);

// The value nearest to x in a format with `digits` bits of mantissa (the leading one included), least exponent
// `least` and largest finite value `largest`, ties to even. Exact: everything is a double.
double nearest(double x, int digits, int least, double largest) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent = 0;
    std::frexp(x, &exponent); // |x| in [2^(e-1), 2^e)
    auto const quantum = std::ldexp(1.0, std::max(exponent - 1, least) - (digits - 1));
    auto const rounded = std::nearbyint(x / quantum) * quantum; // the default rounding mode: nearest, ties to even
    return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                       : std::copysign(rounded, x);
}
double nearest_f16(float x) {
    return nearest(x, 11, -14, 65504);
}
double nearest_bf16(float x) {
    return nearest(x, 8, -126, std::ldexp(255.0, 120));
}

// Whether `got` is the double `wanted`, the sign of zero included; any NaN is as good as another.
bool is(float got, double wanted) {
    if (std::isnan(wanted)) return std::isnan(got);
    return static_cast<double>(got) == wanted && std::signbit(got) == std::signbit(wanted);
}

TEST_CASE("each of the 65536 half-precision patterns survives the way to float and back") {
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        float16 h;
        h.bits = static_cast<std::uint16_t>(bits);
        auto const back = float16{float{h}};
        // A signalling NaN comes back quiet, with its payload.
        auto const expected = std::isnan(float{h}) ? h.bits | 0x200u : h.bits;
        wrong += back.bits != expected;
        // The value itself, from its definition.
        auto const exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
        if (exponent == 31) {
            wrong += mantissa ? !std::isnan(float{h}) : !std::isinf(float{h});
            continue;
        }
        auto const magnitude = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
        wrong += !is(float{h}, bits & 0x8000 ? -magnitude : magnitude);
    }
    CHECK(wrong == 0);
}

TEST_CASE("each of the 65536 bfloat16 patterns survives the way to float and back") {
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        bfloat16 b;
        b.bits = static_cast<std::uint16_t>(bits);
        wrong += bfloat16{float{b}}.bits != (std::isnan(float{b}) ? b.bits | 0x40u : b.bits);
        wrong += std::bit_cast<std::uint32_t>(float{b}) != bits << 16;
    }
    CHECK(wrong == 0);
}

TEST_CASE("floats are rounded to the nearest 16-bit number, ties to even") {
    random_stream r{1};
    std::size_t wrong = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        auto const x = std::bit_cast<float>(static_cast<std::uint32_t>(r() >> 32));
        wrong += !is(float{float16{x}}, nearest_f16(x));
        wrong += !is(float{bfloat16{x}}, nearest_bf16(x));
        // Random bits rarely lie in the range of a half; these do.
        auto const y = static_cast<float>(std::ldexp(r.uniform(-1, 1), static_cast<int>(r.below(44)) - 27));
        wrong += !is(float{float16{y}}, nearest_f16(y));
    }
    CHECK(wrong == 0);
}

TEST_CASE("ties between all neighbours, and the floats just beside them, go the right way") {
    std::size_t wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) { // up to the tie between the largest half and 65536
        float16 below;
        below.bits = static_cast<std::uint16_t>(bits);
        auto const exponent = static_cast<int>(bits >> 10);
        auto const step = std::ldexp(1.0, std::max(exponent, 1) - 25);
        auto const tie = static_cast<float>(double{float{below}} + step / 2);
        for (auto x : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e30f)})
            for (auto y : {x, -x}) wrong += !is(float{float16{y}}, nearest_f16(y));
    }
    for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
        auto const tie = std::bit_cast<float>(bits << 16 | 0x8000u);
        for (auto x : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 3.4e38f)})
            for (auto y : {x, -x}) wrong += !is(float{bfloat16{y}}, nearest_bf16(y));
    }
    CHECK(wrong == 0);
}

TEST_CASE("the borders of half precision are where IEEE 754 puts them") {
    auto const through = [](double x) { return double{float{float16{static_cast<float>(x)}}}; };
    CHECK(through(65504) == 65504);
    CHECK(through(65519.99) == 65504);
    CHECK(std::isinf(through(65520))); // the tie goes to the even one, 65536, which is infinite
    CHECK(through(0x1p-24) == 0x1p-24);
    CHECK(through(0x1p-25) == 0); // the tie between zero and the least subnormal
    CHECK(through(0x1.001p-25) == 0x1p-24);
    CHECK(through(0x1.ff8p-15) == 0x1.ff8p-15); // the largest subnormal
    CHECK(through(0x1.ffcp-15) == 0x1p-14);     // the tie between it and the least normal number
    CHECK(std::signbit(through(-1e-30)));
    CHECK(std::isnan(through(std::nan(""))));
    CHECK(std::isinf(double{float{bfloat16{std::numeric_limits<float>::max()}}}));
}

TEST_CASE("names and ONNX numbers lead back to their element types") {
    std::set<std::string_view> names;
    std::set<int> numbers;
    for (auto t : every_dtype) {
        CHECK(dtype_named(to_string(t)) == t);
        CHECK(names.insert(to_string(t)).second);
        if (info(t).onnx == 0) continue;
        CHECK(dtype_of_onnx(info(t).onnx) == t);
        CHECK(numbers.insert(info(t).onnx).second);
    }
    CHECK(numbers.size() == stored_dtypes.size());
    for (auto word : {"", "F32", "f32 ", "float", "i65"}) CHECK_FALSE(dtype_named(word));
    // 0 undefined, 8 string, 14 and 15 complex, 17 and up 8-bit floats and the rest
    for (std::int64_t number : {0, 8, 14, 15, 17, 99, -1}) CHECK_FALSE(dtype_of_onnx(number));
    CHECK_FALSE(dtype_of_onnx(std::int64_t{1} + (std::int64_t{1} << 32)));
}

TEST_CASE("sizes and kinds agree with the C++ types that store the elements") {
    CHECK(stored_dtypes.size() == 13);
    for (auto t : stored_dtypes) {
        CAPTURE(to_string(t));
        with_storage_type(t, [&]<class T> {
            CHECK(dtype_of<T> == t);
            CHECK(sizeof(T) == byte_size(t));
            CHECK(is_integer(t) == (std::is_integral_v<T> && !std::is_same_v<T, bool>));
            CHECK(is_floating(t) == !std::is_integral_v<T>);
            CHECK(info(t).is_signed == (is_floating(t) || std::is_signed_v<T>));
            if (is_integer(t)) CHECK(integer_digits(t) == std::numeric_limits<T>::digits);
        });
        auto const wide = widest_of_kind(t);
        CHECK(is_floating(wide) == is_floating(t));
        if (is_integer(t)) CHECK(integer_digits(wide) >= integer_digits(t));
        if (is_integer(t)) CHECK((info(wide).is_signed || !info(t).is_signed));
        with_storage_type(wide, [&]<class T> {
            CHECK(sizeof(T) == 8);
            CHECK(dtype_of<T> == wide);
        });
    }
    CHECK(byte_size(dtype::undefined) == 0);
    CHECK_FALSE(is_integer(dtype::boolean));
    CHECK_FALSE(is_floating(dtype::undefined));
    CHECK(is_floating(dtype::field61));
}

} // namespace dtype_test
