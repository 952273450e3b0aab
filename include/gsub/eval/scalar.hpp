// Scalars for evaluation: floating-point numbers, integers, a prime field, the user's own.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/eval/field.hpp>
#include <gsub/ir/ops/op.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace gsub {

/// Scalar traits: what a scalar type provides. Specialise `provides` for a scalar of your own.
template <class T>
struct scalar_traits {
    static constexpr auto provides = std::is_floating_point_v<T> ? scalar_needs::transcendental : scalar_needs::ordered;
};
template <>
struct scalar_traits<field61> {
    static constexpr auto provides = scalar_needs::field;
};

/// Functions of scalars that `evaluate<Op>` is written with. Found for a user's scalar by argument-dependent lookup.
namespace math {

/// Converts a real constant to a scalar. Among integers it truncates and saturates, and NaN is 0, as in a Cast.
template <class T>
[[nodiscard]] T constant(double value) {
    if constexpr (std::same_as<T, field61>)
        return field61::from_real(value);
    else if constexpr (std::is_integral_v<T>)
        return value != value                                                ? T{0}
               : value <= static_cast<double>(std::numeric_limits<T>::min()) ? std::numeric_limits<T>::min()
               : value >= std::ldexp(1.0, std::numeric_limits<T>::digits)    ? std::numeric_limits<T>::max()
                                                                             : static_cast<T>(value);
    else
        return static_cast<T>(value);
}

// Integer arithmetic wraps around, as in the files' reference implementations; signed overflow is undefined in C++.
template <class T>
[[nodiscard]] constexpr T add(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
        return a + b;
}
template <class T>
[[nodiscard]] constexpr T sub(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    else
        return a - b;
}
template <class T>
[[nodiscard]] constexpr T mul(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
        return a * b;
}
/// Division. Integers truncate; x / 0 is 0 and min / -1 wraps around to min, so that no input can raise a signal.
template <class T>
[[nodiscard]] constexpr T div(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>) {
        if (b == 0) return T{0};
        if constexpr (std::is_signed_v<T>)
            if (b == T{-1}) return sub(T{0}, a);
        return static_cast<T>(a / b);
    } else {
        return a / b;
    }
}

using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::cos;
using std::cosh;
using std::erf;
using std::exp;
using std::fmod;
using std::log;
using std::pow;
using std::sin;
using std::sinh;
using std::tan;
using std::tanh;

/// What an operation gives for the bits of two integers. Inference lets no other type come here.
template <class T, class Operation>
[[nodiscard]] constexpr T combine_bits(T a, [[maybe_unused]] T b, [[maybe_unused]] Operation operation) noexcept {
    if constexpr (std::is_integral_v<T>) {
        using bits = std::make_unsigned_t<T>;
        return static_cast<T>(operation(static_cast<bits>(a), static_cast<bits>(b)));
    } else {
        return a;
    }
}

/// Power; among integers by squaring, modulo two to the number of bits, and 1 / a^n truncates.
template <class T>
[[nodiscard]] T power(T base, T exponent) {
    if constexpr (std::is_integral_v<T>) {
        if constexpr (std::is_signed_v<T>)
            if (exponent < 0) { // only 1 and -1 have inverses; x / 0 is 0
                auto const odd = static_cast<bool>(exponent & 1);
                return base == 1 ? T{1} : base == T{-1} ? (odd ? T{-1} : T{1}) : T{0};
            }
        T result{1};
        for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1, base = mul(base, base))
            if (e & 1) result = mul(result, base);
        return result;
    } else {
        return pow(base, exponent);
    }
}

/// Square root; in a field an uninterpreted function, which is what folding a normalisation needs of it.
template <class T>
[[nodiscard]] T sqrt(T x) {
    if constexpr (std::same_as<T, field61>)
        return field61::from_bits(hasher{hash_name("sqrt")}.add(x.value()).finish().low);
    else
        return std::sqrt(x);
}

/// Maximum of numbers, NaN if one of them is; in a field an uninterpreted symmetric function, which sorts its argument.
template <class T>
[[nodiscard]] T maximum(std::span<T> numbers) {
    if constexpr (std::same_as<T, field61>) {
        std::sort(numbers.begin(), numbers.end());
        hasher h{hash_name("maximum")};
        for (auto x : numbers) h.add(x.value());
        return field61::from_bits(h.finish().low);
    } else {
        auto best = numbers[0];
        for (auto x : numbers)
            if (x > best || x != x) best = x;
        return best;
    }
}

} // namespace math

} // namespace gsub
