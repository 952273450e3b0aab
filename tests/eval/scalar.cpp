#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/scalar.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace scalar_test {
struct dual { // a user's scalar: a number and a derivative
    double value = 0, slope = 0;
    friend dual operator+(dual a, dual b) { return {a.value + b.value, a.slope + b.slope}; }
    friend dual operator*(dual a, dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
};
} // namespace scalar_test
template <>
struct gsub::scalar_traits<scalar_test::dual> {
    static constexpr auto provides = gsub::scalar_needs::transcendental;
};

namespace scalar_test {

using namespace gsub;

static_assert(scalar_traits<float>::provides == scalar_needs::transcendental);
static_assert(scalar_traits<std::int8_t>::provides == scalar_needs::ordered);
static_assert(scalar_traits<field61>::provides == scalar_needs::field, "a prime field has no order and no exp");
static_assert(scalar_traits<dual>::provides == scalar_needs::transcendental);
static_assert(scalar_needs::ring < scalar_needs::field && scalar_needs::field < scalar_needs::ordered);
static_assert(math::div<std::int32_t>(std::numeric_limits<std::int32_t>::min(), -1) ==
                  std::numeric_limits<std::int32_t>::min(),
              "while compiling too, where overflow would be an error");

template <class T>
T wrapped(__int128_t exact) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(static_cast<__uint128_t>(exact)));
}

template <class T>
void check_wrap_around(T a, T b) {
    __extension__ using wide = __int128;
    wide const x = a, y = b;
    if (math::add(a, b) != wrapped<T>(x + y) || math::sub(a, b) != wrapped<T>(x - y) ||
        math::mul(a, b) != wrapped<T>(x * y) || math::div(a, b) != (b == 0 ? T{0} : wrapped<T>(x / y))) {
        CAPTURE(+a, +b);
        CHECK(math::add(a, b) == wrapped<T>(x + y));
        CHECK(math::sub(a, b) == wrapped<T>(x - y));
        CHECK(math::mul(a, b) == wrapped<T>(x * y));
        CHECK(math::div(a, b) == (b == 0 ? T{0} : wrapped<T>(x / y)));
    }
}

template <class T>
void check_many() {
    using l = std::numeric_limits<T>;
    random_stream r{sizeof(T)};
    std::vector<T> const special{l::min(), static_cast<T>(l::min() + 1), static_cast<T>(-1),           0,       1,
                                 2,        static_cast<T>(l::max() / 2), static_cast<T>(l::max() - 1), l::max()};
    for (auto a : special)
        for (auto b : special) check_wrap_around<T>(a, b);
    for (int i = 0; i < 20'000; ++i) check_wrap_around<T>(static_cast<T>(r()), static_cast<T>(r() >> r.below(64)));
}

TEST_CASE("integer arithmetic wraps around modulo two to the number of bits, and no division raises a signal") {
    for (int a = -128; a < 128; ++a)
        for (int b = -128; b < 128; ++b) {
            check_wrap_around<std::int8_t>(static_cast<std::int8_t>(a), static_cast<std::int8_t>(b));
            check_wrap_around<std::uint8_t>(static_cast<std::uint8_t>(a + 128), static_cast<std::uint8_t>(b + 128));
        }
    check_many<std::int16_t>();
    check_many<std::int32_t>();
    check_many<std::int64_t>();
    SUCCEED();
}

TEST_CASE("division truncates toward zero, by zero it is zero, and the least number divided by minus one is itself") {
    CHECK(math::div(7, 2) == 3);
    CHECK(math::div(-7, 2) == -3);
    CHECK(math::div(7, -2) == -3);
    CHECK(math::div(std::int64_t{5}, std::int64_t{0}) == 0);
    CHECK(math::div(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}) ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(math::div(std::int8_t{-128}, std::int8_t{-1}) == -128);
    CHECK(std::isinf(math::div(1.0f, 0.0f))); // floats follow IEEE 754
    CHECK(std::isnan(math::div(0.0f, 0.0f)));
}

TEST_CASE("constants are the nearest element of the scalar") {
    CHECK(math::constant<float>(0.1) == 0.1f);
    CHECK(math::constant<double>(0.1) == 0.1);
    CHECK(math::constant<field61>(0.5) * field61{2} == field61{1});
    CHECK(math::constant<field61>(-3) == -field61{3});
    CHECK(math::constant<std::int32_t>(-2.7) == -2);
    // A constant of a hostile file must not be undefined behaviour. Read at run time, as the compiler saturates by
    // itself.
    double const volatile far = 1e300, edge = 0x1p63, nan = std::numeric_limits<double>::quiet_NaN(),
                          infinite = std::numeric_limits<double>::infinity();
    CHECK(math::constant<std::int32_t>(far) == std::numeric_limits<std::int32_t>::max());
    CHECK(math::constant<std::int8_t>(-far) == -128);
    CHECK(math::constant<std::uint8_t>(-1) == 0);
    CHECK(math::constant<std::int64_t>(edge) == std::numeric_limits<std::int64_t>::max());
    CHECK(math::constant<std::int64_t>(nan) == 0);
    CHECK(math::constant<std::int16_t>(infinite) == 32767);
}

template <class T>
T maximum_of(std::vector<T> numbers) {
    return math::maximum<T>(numbers);
}

TEST_CASE("the maximum is one of its numbers, none is larger, and their order does not matter") {
    random_stream r{1};
    for (int i = 0; i < 500; ++i) {
        std::vector<double> v(1 + r.below(8));
        std::vector<field61> f;
        for (auto& x : v) x = std::floor(r.uniform(-5, 5)), f.push_back(field61{static_cast<std::int64_t>(x)});
        auto const best = maximum_of(v);
        CHECK(best == *std::max_element(v.begin(), v.end()));
        auto const in_field = maximum_of(f);
        std::rotate(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(r.below(v.size())), v.end());
        std::reverse(f.begin(), f.end());
        CHECK(maximum_of(v) == best);
        CHECK(maximum_of(f) == in_field);
    }
    CHECK(maximum_of<std::int8_t>({-128, -127}) == -127);
}

TEST_CASE("the maximum of numbers with a NaN among them is NaN, wherever it stands") {
    auto const nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t at = 0; at < 4; ++at) {
        std::vector<float> v{1, 5, -2, 3};
        v[at] = nan;
        CHECK(std::isnan(maximum_of(v)));
    }
    CHECK(std::isinf(maximum_of<float>({-std::numeric_limits<float>::infinity()})));
}

TEST_CASE("in a field maximum and square root are functions, of which nothing else is known") {
    random_stream r{2};
    for (int i = 0; i < 200; ++i) {
        auto const a = field61::from_bits(r()), b = field61::from_bits(r());
        CHECK(math::sqrt(a) == math::sqrt(a));
        CHECK_FALSE(math::sqrt(a) == math::sqrt(b));
        CHECK_FALSE(math::sqrt(a) * math::sqrt(a) == a);
        CHECK_FALSE(maximum_of<field61>({a, b}) == maximum_of<field61>({a, a}));
        CHECK_FALSE(maximum_of<field61>({a, b}) == a);
        CHECK_FALSE(maximum_of<field61>({a}) == math::sqrt(a));
    }
    CHECK(math::sqrt(4.0f) == 2.0f);
    CHECK(std::isnan(math::sqrt(-1.0)));
}

} // namespace scalar_test
