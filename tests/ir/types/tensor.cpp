#include "catch.hpp"
#include "ir/integer_types.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tensor_test {

using namespace gsub;

static_assert(std::is_nothrow_move_constructible_v<tensor>);
static_assert(std::is_copy_constructible_v<tensor>);

inline constexpr auto stored = stored_dtypes;
inline constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr auto inf = std::numeric_limits<double>::infinity();

ints draw_dims(random_stream& r) {
    ints dims;
    for (auto n = r.below(5); n-- > 0;) dims.push_back(static_cast<std::int64_t>(r.below(5)));
    return dims;
}

template <class To, class From>
To convert(From value) {
    return tensor::scalar(value).converted_to(dtype_of<To>).template data<To>()[0];
}

TEST_CASE("a new tensor has the type that was asked for, aligned memory, and zeros where they were asked for") {
    random_stream r{1};
    for (int i = 0; i < 300; ++i) {
        auto const dims = draw_dims(r);
        auto const element = stored[r.below(std::size(stored))];
        auto const t = tensor::zeros(element, dims);
        CHECK(t.type() == tensor_type{element, std::span<std::int64_t const>{dims}});
        CHECK(t.elements() == std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>{}));
        CHECK(t.size_bytes() == static_cast<std::size_t>(t.elements()) * byte_size(element));
        CHECK(reinterpret_cast<std::uintptr_t>(t.raw().data()) % buffer_alignment == 0);
        CHECK(std::all_of(t.raw().begin(), t.raw().end(), [](std::byte b) { return b == std::byte{0}; }));
        CHECK(t.hash() == tensor::zeros(t.type()).hash());
    }
    CHECK(tensor{}.element() == dtype::undefined);
    CHECK(tensor{}.elements() == 0);
    CHECK(tensor::scalar(2.5f).rank() == 0);
    CHECK(tensor::scalar(2.5f).data<float>()[0] == 2.5f);
}

TEST_CASE("elements in pages of their own are zeros, aligned, written to and shared as any others") {
    for (std::int64_t count : {0, 1, 1000, 600'000, 3'000'000}) {
        auto t = tensor::in_pages(dtype::f32, ints{count}, count % 2 == 0);
        CHECK(t.hash() == tensor::zeros(dtype::f32, ints{count}).hash());
        CHECK(reinterpret_cast<std::uintptr_t>(t.raw().data()) % buffer_alignment == 0);
        auto const* const own = t.raw().data();
        for (auto& v : t.mutable_data<float>()) v = 3;
        CHECK(t.raw().data() == own);
        if (count == 0) continue;
        auto const copy = t;
        t.mutable_data<float>().back() = 4;
        CHECK(copy.data<float>().back() == 3);
    }
}

TEST_CASE("discarded elements give their pages back, unless somebody else has them, and the others stay") {
    auto const page = ::sysconf(_SC_PAGESIZE) / std::int64_t{sizeof(float)};
    auto const resident = [](tensor const& t, std::int64_t element) { // whether its page is in memory
        auto const at = reinterpret_cast<std::uintptr_t>(t.raw().data()) + static_cast<std::uintptr_t>(element) * 4;
        auto const size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        unsigned char in = 0;
        REQUIRE(::mincore(reinterpret_cast<void*>(at / size * size), 1, &in) == 0);
        return (in & 1) != 0;
    };
    for (bool const own_pages : {true, false}) {
        ints const sizes{16 * page};
        auto t = own_pages ? tensor::in_pages(dtype::f32, sizes) : tensor::uninitialized(dtype::f32, sizes);
        for (auto& v : t.mutable_data<float>()) v = 3;
        {
            auto const copy = t;
            t.discard(0, 16 * page);
            CHECK(copy.data<float>()[static_cast<std::size_t>(8 * page)] == 3);
        }
        t.discard(4 * page + 1, 6 * page);
        CHECK_FALSE(resident(t, 7 * page));
        for (auto i : {std::int64_t{0}, 4 * page, 10 * page + 1, 16 * page - 1})
            CHECK(t.data<float>()[static_cast<std::size_t>(i)] == 3);
        t.discard(0, 1); // less than a page
        CHECK(t.data<float>()[0] == 3);
    }
    float const theirs[2] = {5, 6};
    auto t = tensor::borrowed(dtype::f32, ints{2}, reinterpret_cast<std::byte const*>(theirs), nullptr);
    t.discard(0, 2);
    CHECK(theirs[0] == 5);
    tensor{}.discard(0, 0);
}

TEST_CASE("a copy shares its elements until one of the two is written to") {
    auto a = tensor::from<float>({3}, {1, 2, 3});
    auto const b = a;
    auto const c = a.reshaped(ints{1, 3});
    CHECK(a.raw().data() == b.raw().data());
    CHECK(c.raw().data() == b.raw().data());
    a.mutable_data<float>()[0] = 7;
    CHECK(b.data<float>()[0] == 1);
    CHECK(c.data<float>()[0] == 1);
    CHECK(a.data<float>()[0] == 7);
    auto const* const own = a.raw().data();
    a.mutable_data<float>()[1] = 8; // alone now: no second copy
    CHECK(a.raw().data() == own);
}

TEST_CASE("wrapped memory is written in place, whoever else holds it, and copied where tensors share it") {
    auto const owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
    auto* const bytes = reinterpret_cast<std::byte*>(owner->data());
    auto t = tensor::wrapping(dtype::f32, ints{2, 2}, bytes, owner);
    t.mutable_data<float>()[0] = 5;
    CHECK((*owner)[0] == 5);
    CHECK(t.raw().data() == bytes);
    auto shared = t;
    shared.mutable_data<float>()[1] = 7;
    CHECK((*owner)[1] == 2);
    CHECK(t.data<float>()[1] == 2);
    t.mutable_data<float>()[1] = 9; // the other one has a copy by now
    CHECK((*owner)[1] == 9);
    float plain[2] = {1, 2};
    auto unowned = tensor::wrapping(dtype::f32, ints{2}, reinterpret_cast<std::byte*>(plain));
    unowned.mutable_data<float>()[1] = 3;
    CHECK(plain[1] == 3);
}

TEST_CASE("borrowed elements are read in place, kept alive, and copied before the first write") {
    auto const owner = std::make_shared<std::vector<float> const>(std::vector<float>{1, 2, 3, 4});
    std::weak_ptr<std::vector<float> const> const observe = owner;
    auto t = tensor::borrowed(dtype::f32, ints{2, 2}, reinterpret_cast<std::byte const*>(owner->data()), owner);
    CHECK(t.raw().data() == reinterpret_cast<std::byte const*>(owner->data()));
    CHECK(t.data<float>()[3] == 4);
    t.mutable_data<float>()[3] = 9;
    CHECK((*owner)[3] == 4);
    CHECK(t.data<float>()[3] == 9);
    auto kept = tensor::borrowed(dtype::f32, ints{4}, reinterpret_cast<std::byte const*>(owner->data()), owner);
    auto const sum = [](tensor const& x) {
        auto const d = x.data<float>();
        return std::accumulate(d.begin(), d.end(), 0.0f);
    };
    CHECK(sum(kept) == 10);
    CHECK(observe.use_count() == 2); // owner and kept; t has a copy of its own
    kept = tensor{};
    CHECK(observe.use_count() == 1);
}

TEST_CASE("the hash depends on element type, dimensions and every element, and on nothing else") {
    auto const t = tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(t.hash() == tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}).hash());
    CHECK_FALSE(t.hash() == t.reshaped(ints{3, 2}).hash());
    CHECK_FALSE(t.hash() == t.converted_to(dtype::f64).hash());
    for (std::size_t i = 0; i < 6; ++i) {
        auto other = t;
        other.mutable_data<float>()[i] += 1;
        CHECK_FALSE(other.hash() == t.hash());
    }
    CHECK_FALSE(tensor::zeros(dtype::f32, ints{0}).hash() == tensor::zeros(dtype::f32, ints{0, 0}).hash());
}

TEST_CASE("conversion to a wider type and back gives the same elements") {
    random_stream r{2};
    auto const there_and_back = [&](dtype narrow, dtype wide) {
        CAPTURE(to_string(narrow), to_string(wide));
        auto t = tensor::uninitialized(narrow, ints{1000});
        if (is_floating(narrow))
            fill_random(t, r.split(1));
        else
            for (auto& b : t.mutable_raw()) b = static_cast<std::byte>(narrow == dtype::boolean ? r() & 1 : r());
        CHECK(t.converted_to(wide).converted_to(narrow).hash() == t.hash());
    };
    for (auto wide : stored) {
        there_and_back(wide, wide);
        if (wide != dtype::boolean) there_and_back(dtype::boolean, wide);
    }
    for (auto wide : {dtype::f64, dtype::f32}) {
        there_and_back(dtype::f16, wide);
        there_and_back(dtype::bf16, wide);
        for (auto narrow : stored)
            if (is_integer(narrow) && byte_size(narrow) < byte_size(wide)) there_and_back(narrow, wide);
    }
    there_and_back(dtype::f32, dtype::f64);
    there_and_back(dtype::i8, dtype::f16);
    there_and_back(dtype::u8, dtype::f16);
    for (auto narrow : stored)
        for (auto wide : stored) // modulo the bits of the wider one, those of the narrower one are kept
            if (is_integer(narrow) && is_integer(wide) && byte_size(narrow) <= byte_size(wide))
                there_and_back(narrow, wide);
}

// The number nearest to x among those of `digits` bits and of exponents from `least` on, ties to even.
long double nearest(long double x, int digits, int least) {
    if (x == 0 || !std::isfinite(x)) return x;
    auto const quantum = std::ldexp(1.0L, std::max(std::ilogb(x), least) - (digits - 1));
    return std::nearbyint(x / quantum) * quantum;
}

// Numbers that conversions may get wrong: ends of every type, powers of two and what is beside them, random bits.
tensor telling(dtype element, random_stream& r) {
    std::vector<std::uint64_t> words;
    for (int shift = 0; shift < 64; ++shift)
        for (std::uint64_t beside = 0; beside < 4; ++beside) {
            words.push_back((std::uint64_t{1} << shift) - beside);
            words.push_back((std::uint64_t{1} << shift) + beside);
            words.push_back((std::uint64_t{3} << shift) + (beside << (shift / 2)));
        }
    for (int i = 0; i < 500; ++i) words.push_back(r());
    auto t = tensor::uninitialized(element, ints{static_cast<std::int64_t>(words.size())});
    with_storage_type(element, [&]<class T> {
        auto const to = t.mutable_data<T>();
        for (std::size_t i = 0; i < words.size(); ++i) {
            if constexpr (std::is_integral_v<T>) {
                to[i] = static_cast<T>(words[i]);
            } else {
                auto const number =
                    i % 2 ? static_cast<double>(static_cast<std::int64_t>(words[i])) : static_cast<double>(words[i]);
                auto const fraction = i % 3 == 0 ? 0.5 : i % 3 == 1 ? 1 + 0x1p-12 : 1.0;
                if constexpr (std::is_same_v<T, double>)
                    to[i] = number * fraction;
                else
                    to[i] = static_cast<T>(static_cast<float>(number * fraction));
            }
        }
        if constexpr (!std::is_integral_v<T>)
            to[0] = T(std::numeric_limits<float>::quiet_NaN()), to[1] = T(-std::numeric_limits<float>::infinity()),
            to[2] = T(std::numeric_limits<float>::infinity()), to[3] = T(-0.5f);
    });
    return t;
}

// What Cast makes of a number; a long double has every number of every type.
static_assert(std::numeric_limits<long double>::digits >= 64);
template <class To>
bool is_image(To got, long double x, std::int64_t bits) {
    if constexpr (std::is_same_v<To, bool>) {
        return got == (x != 0);
    } else if constexpr (std::is_integral_v<To>) {
        if (bits != 0 || x == 0) return got == static_cast<To>(bits); // of an integer: its low bits
        if (std::isnan(x)) return got == 0;
        constexpr auto low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
        auto const whole = std::trunc(x);
        return got == (whole <= static_cast<long double>(low)    ? low
                       : whole >= static_cast<long double>(high) ? high
                                                                 : static_cast<To>(whole));
    } else {
        auto const value = static_cast<long double>(static_cast<double>(got));
        if (std::isnan(x)) return std::isnan(value);
        constexpr auto digits = std::is_same_v<To, double>    ? 53
                                : std::is_same_v<To, float>   ? 24
                                : std::is_same_v<To, float16> ? 11
                                                              : 8;
        constexpr auto least = std::is_same_v<To, double> ? -1022 : std::is_same_v<To, float16> ? -14 : -126;
        constexpr auto most = std::is_same_v<To, double> ? 1024 : std::is_same_v<To, float16> ? 16 : 128;
        auto const expected = nearest(x, digits, least);
        return std::abs(expected) >= std::ldexp(1.0L, most)
                   ? std::isinf(value) && std::signbit(value) == std::signbit(x)
                   : value == expected;
    }
}

TEST_CASE("every number of every type becomes the one that a cast to any other type names") {
    random_stream r{11};
    for (auto from : stored)
        for (auto to : stored) {
            CAPTURE(to_string(from), to_string(to));
            auto const x = telling(from, r), y = x.converted_to(to);
            std::size_t wrong = 0;
            with_storage_type(from, [&]<class From> {
                auto const in = x.data<From>();
                with_storage_type(to, [&]<class To> {
                    auto const out = y.data<To>();
                    for (std::size_t i = 0; i < in.size(); ++i)
                        if constexpr (std::is_integral_v<From>)
                            wrong +=
                                !is_image(out[i], static_cast<long double>(in[i]), static_cast<std::int64_t>(in[i]));
                        else
                            wrong += !is_image(out[i], static_cast<long double>(static_cast<double>(in[i])), 0);
                });
            });
            CHECK(wrong == 0);
        }
}

TEST_CASE("floats become integers by truncation, saturation at the ends, and zero for NaN") {
    CHECK(convert<std::int32_t>(2.9) == 2);
    CHECK(convert<std::int32_t>(-2.9f) == -2);
    CHECK(convert<std::int32_t>(-0.5) == 0);
    CHECK(convert<std::int8_t>(127.9) == 127);
    CHECK(convert<std::int8_t>(128.0) == 127);
    CHECK(convert<std::int8_t>(-129.0) == -128);
    CHECK(convert<std::uint8_t>(-1.0) == 0);
    CHECK(convert<std::uint8_t>(256.0f) == 255);
    CHECK(convert<std::int64_t>(1e300) == std::numeric_limits<std::int64_t>::max());
    CHECK(convert<std::int64_t>(0x1p63) == std::numeric_limits<std::int64_t>::max());
    CHECK(convert<std::int64_t>(-0x1p63) == std::numeric_limits<std::int64_t>::min());
    CHECK(convert<std::int64_t>(0x1.fffffffffffffp62) == static_cast<std::int64_t>(0x1.fffffffffffffp62));
    CHECK(convert<std::uint64_t>(0x1p64) == std::numeric_limits<std::uint64_t>::max());
    CHECK(convert<std::uint64_t>(0x1.fffffffffffffp63) == static_cast<std::uint64_t>(0x1.fffffffffffffp63));
    CHECK(convert<std::uint32_t>(-0.5) == 0);
    CHECK(convert<std::uint16_t>(nan) == 0);
    CHECK(convert<std::int32_t>(inf) == std::numeric_limits<std::int32_t>::max());
    CHECK(convert<std::int32_t>(-inf) == std::numeric_limits<std::int32_t>::min());
    CHECK(convert<std::int16_t>(nan) == 0);
    CHECK(convert<std::int32_t>(float16{-3.5f}) == -3);
}

TEST_CASE("anything but zero becomes true, truth becomes one, integers wrap around") {
    CHECK(convert<bool>(0.25f));
    CHECK(convert<bool>(nan));
    CHECK_FALSE(convert<bool>(-0.0));
    CHECK(convert<bool>(std::int64_t{256}));
    CHECK(convert<float>(true) == 1.0f);
    CHECK(convert<std::int8_t>(std::int32_t{300}) == 44);
    CHECK(convert<std::uint8_t>(std::int64_t{-1}) == 255);
    CHECK(convert<std::uint64_t>(std::int8_t{-1}) == std::numeric_limits<std::uint64_t>::max());
    CHECK(convert<std::int64_t>(std::numeric_limits<std::uint64_t>::max()) == -1);
    CHECK(convert<float>(std::numeric_limits<std::uint64_t>::max()) == 0x1p64f);
    CHECK(convert<bool>(std::uint64_t{1} << 63));
    CHECK(std::isinf(convert<float>(1e300)));
    CHECK(std::isnan(convert<float>(nan)));
    CHECK(std::isinf(float{convert<float16>(70000.0f)}));
}

TEST_CASE("a double or an integer becomes a 16-bit float by one rounding, not by two") {
    // Just above the tie of two halves: rounding to float first would hide the last bit and tie to even.
    CHECK(double{convert<float16>(1 + 0x1p-11 + 0x1p-40)} == 1 + 0x1p-10);
    CHECK(double{convert<float16>(1 + 0x1p-11)} == 1);
    CHECK(double{convert<float16>(-(1 + 0x3p-11 - 0x1p-40))} == -(1 + 0x1p-10));
    CHECK(double{convert<float16>(0x1p-25 + 0x1p-70)} == 0x1p-24);
    CHECK(double{convert<float16>(65520 - 0x1p-30)} == 65504);
    CHECK(double{convert<bfloat16>(1 + 0x1p-8 + 0x1p-40)} == 1 + 0x1p-7);
    CHECK(double{convert<bfloat16>((std::int64_t{1} << 40) + (std::int64_t{1} << 32) + 1)} == 0x1.02p40);
    CHECK(double{convert<bfloat16>((std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1)} == 0x1.02p62);
    random_stream r{3};
    std::size_t wrong = 0;
    for (int i = 0; i < 100'000; ++i) {
        // A tie of two neighbours, moved by less than a float can see.
        auto const k = static_cast<double>(1024 + r.below(1024)), tie = k + 0.5;
        auto const near = tie + std::ldexp(r.uniform(-1, 1), -30);
        auto const scale = std::ldexp(1.0, static_cast<int>(r.below(16)) - 12);
        auto const expected = near < tie ? k : near > tie ? k + 1 : std::nearbyint(tie);
        wrong += double{convert<float16>(near * scale)} != expected * scale;
    }
    CHECK(wrong == 0);
}

TEST_CASE("random values are determined by the seed and agree between precisions up to rounding") {
    auto const draw = [](dtype element, std::uint64_t seed) {
        auto t = tensor::uninitialized(element, ints{500});
        fill_random(t, random_stream{seed});
        return t;
    };
    for (auto element : stored) {
        CHECK(draw(element, 5).hash() == draw(element, 5).hash());
        CHECK_FALSE(draw(element, 5).hash() == draw(element, 6).hash());
    }
    CHECK(draw(dtype::f64, 5).converted_to(dtype::f32).hash() == draw(dtype::f32, 5).hash());
    CHECK(draw(dtype::f64, 5).converted_to(dtype::f16).hash() == draw(dtype::f16, 5).hash());
    for (auto element : stored)
        if (!is_floating(element))
            for (auto x : draw(element, 7).to_ints()) CHECK((x == 0 || x == 1));
}

TEST_CASE("a tensor differs from itself by nothing, and from another by what was changed") {
    random_stream r{4};
    for (int i = 0; i < 100; ++i) {
        auto const dims = draw_dims(r);
        auto t = tensor::uninitialized(dtype::f64, dims);
        fill_random(t, r.split(static_cast<std::uint64_t>(i)));
        auto const none = compare(t, t).value();
        CHECK(none.max_absolute == 0);
        CHECK(none.max_relative == 0);
        CHECK(none.outside == 0);
        CHECK(none.same_specials);
        if (t.elements() == 0) continue;
        auto u = t;
        auto const place = r.below(static_cast<std::uint64_t>(t.elements()));
        u.mutable_data<double>()[place] += 0.5;
        auto const one = compare(u, t).value();
        CHECK(std::abs(one.max_absolute - 0.5) < 1e-12);
        CHECK(one.outside == 1);
        CHECK(std::abs(one.mean_absolute * static_cast<double>(t.elements()) - 0.5) < 1e-9);
        CHECK(compare(u, t, 0, 0.6).value().outside == 0);
    }
}

TEST_CASE("special values must stand at the same places with the same sign") {
    auto const t = tensor::from<double>({4}, {nan, inf, -inf, 1});
    CHECK(compare(t, t).value().same_specials);
    CHECK(compare(t, t.converted_to(dtype::f16)).value().same_specials);
    for (auto const& other :
         {tensor::from<double>({4}, {0, inf, -inf, 1}), tensor::from<double>({4}, {nan, -inf, -inf, 1}),
          tensor::from<double>({4}, {nan, inf, -inf, nan}), tensor::from<double>({4}, {inf, inf, -inf, 1})}) {
        CHECK_FALSE(compare(t, other).value().same_specials);
        CHECK_FALSE(compare(other, t).value().same_specials);
        CHECK(compare(t, other).value().outside == 1);
    }
    CHECK(compare(tensor::scalar(1.0), tensor::scalar(0.0)).value().max_relative == inf);
}

TEST_CASE("tensors of different shapes cannot be compared") {
    auto const d = compare(tensor::zeros(dtype::f32, ints{2, 3}), tensor::zeros(dtype::f32, ints{3, 2}));
    REQUIRE_FALSE(d);
    CHECK(d.error().message() == "negative result: shapes differ: f32[2,3] against f32[3,2]");
    CHECK_FALSE(compare(tensor::zeros(dtype::f32, ints{}), tensor::zeros(dtype::f32, ints{1})));
}

TEST_CASE("a tensor is printed with its type and its first elements") {
    CHECK(to_string(tensor::from<float>({1, 4}, {0.5f, 1, 2, 0.1f}), 3) == "f32[1,4] {0.5, 1, 2, ...}");
    CHECK(to_string(tensor::from<float>({2}, {0.1f, -0.0f})) == "f32[2] {0.1, -0}");
    CHECK(to_string(tensor::from<std::int8_t>({2}, {-5, 7})) == "i8[2] {-5, 7}");
    CHECK(to_string(tensor::from<bool>({2}, {true, false})) == "bool[2] {1, 0}");
    CHECK(to_string(tensor::scalar(nan)) == "f64[] {nan}");
    CHECK(to_string(tensor::zeros(dtype::f32, ints{0, 3})) == "f32[0,3] {}");
    CHECK(to_string(tensor{}) == "?[] {}");
    each_integer_type([]<class T> {
        auto const low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        CHECK(to_string(tensor::from<T>({2}, {low, high})) ==
              fmt::format("{}[2] {{{}, {}}}", to_string(dtype_of<T>), std::to_string(low), std::to_string(high)));
    });
    std::ostringstream out;
    out << tensor::scalar(std::int64_t{1} << 62);
    CHECK(out.str() == "i64[] {4611686018427387904}");
}

TEST_CASE("integers of every kind are read as integers") {
    CHECK(tensor::from<std::uint8_t>({2}, {0, 255}).to_ints() == ints{0, 255});
    CHECK(tensor::from<std::uint32_t>({2}, {0, 4294967295}).to_ints() == ints{0, 4294967295});
    CHECK(tensor::from<std::uint64_t>({2}, {7, std::uint64_t{1} << 63}).to_ints() ==
          ints{7, std::numeric_limits<std::int64_t>::min()});
    CHECK(tensor::from<bool>({2}, {true, false}).to_ints() == ints{1, 0});
    CHECK(tensor::scalar(std::numeric_limits<std::int64_t>::min()).to_ints() ==
          ints{std::numeric_limits<std::int64_t>::min()});
}

} // namespace tensor_test
