// Evaluation of fast math operators, the approximations of transcendental operators.
#pragma once

#include <gsub/eval/evaluate_math.hpp>
#include <gsub/eval/evaluate_nn.hpp>
#include <gsub/ir/ops/ops_fast.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace gsub {

namespace math {

namespace detail {
// x within a bound of either sign; NaN stays.
[[nodiscard]] inline float within(float x, float bound) noexcept {
    return x > bound ? bound : x < -bound ? -bound : x;
}
// Coefficients of x^0, x^1, ...
template <std::size_t N>
[[nodiscard]] constexpr float polynomial(float x, float const (&coefficients)[N]) noexcept {
    float y = coefficients[N - 1];
    for (auto i = N - 1; i-- > 0;) y = y * x + coefficients[i];
    return y;
}
} // namespace detail

/// e^x within 2.5e-7 of the result. Infinity where the result is greater than the greatest f32, zero where it is less
/// than the least normal one; NaN gives NaN. x = n ln 2 + r, a polynomial in r, and n goes into the exponent.
[[nodiscard]] inline float fast_exp(float x) noexcept {
    if (x != x) return x;
    if (x > 88.7228394f) return std::numeric_limits<float>::infinity();
    if (x < -87.3365402f) return 0;
    auto const n = std::floor(x * 1.44269504f + 0.5f);
    auto const r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    auto const y = detail::polynomial(r, {1, 1, 5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f, 8.3334519073e-3f,
                                          1.3981999507e-3f, 1.9875691500e-4f});
    // In two factors, as 2^128 is beyond the type where the result is not.
    auto const exponent = static_cast<std::int32_t>(n), half = exponent / 2;
    auto const power = [](std::int32_t e) { return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23); };
    return y * power(half) * power(exponent - half);
}
/// tanh within 5e-7; never beyond -1 and 1, and of the sign of x, zeros too. NaN gives NaN.
[[nodiscard]] inline float fast_tanh(float x) noexcept {
    auto const c = detail::within(x, 7.90531111f), s = c * c;
    auto const p =
        detail::polynomial(s, {4.89352455891786e-3f, 6.37261928875436e-4f, 1.48572235717979e-5f, 5.12229709037114e-8f,
                               -8.60467152213735e-11f, 2.00018790482477e-13f, -2.76076847742355e-16f});
    auto const q =
        detail::polynomial(s, {4.89352518554385e-3f, 2.26843463243900e-3f, 1.18534705686654e-4f, 1.19825839466702e-6f});
    return detail::within(c * p / q, 1);
}
/// erf within 5e-7; never beyond -1 and 1, and of the sign of x, zeros too. NaN gives NaN.
[[nodiscard]] inline float fast_erf(float x) noexcept {
    auto const c = detail::within(x, 4), s = c * c;
    auto const p = detail::polynomial(s, {-1.60960333262415e-2f, -2.95459980854025e-3f, -7.34990630326855e-4f,
                                          -5.69250639462346e-5f, -2.10102402082508e-6f, 2.77068142495902e-8f,
                                          -2.72614225801306e-10f});
    auto const q = detail::polynomial(s, {-1.42647390514189e-2f, -7.37332916720468e-3f, -1.68282697438203e-3f,
                                          -2.13374055278905e-4f, -1.45660718464996e-5f});
    return detail::within(c * p / q, 1);
}

// Nothing is approximated in other scalars.
template <class T>
[[nodiscard]] T fast_exp(T x) {
    return exp(x);
}
template <class T>
[[nodiscard]] T fast_tanh(T x) {
    return tanh(x);
}
template <class T>
[[nodiscard]] T fast_erf(T x) {
    return erf(x);
}

} // namespace math

template <>
struct evaluate<ops::fast_exp> {
    template <class T>
    static T scalar(T x) {
        return math::fast_exp(x);
    }
};
template <>
struct evaluate<ops::fast_tanh> {
    template <class T>
    static T scalar(T x) {
        return math::fast_tanh(x);
    }
};
template <>
struct evaluate<ops::fast_erf> {
    template <class T>
    static T scalar(T x) {
        return math::fast_erf(x);
    }
};
/// Fast softmax is within 1e-6 of the exact one, as probabilities are at most 1.
template <>
struct evaluate<ops::fast_softmax> {
    template <class T>
    static void run(op_call<T>& k) {
        evaluate<ops::softmax>::run_with(k, k.template attributes<ops::fast_softmax>(),
                                         [](T x) { return math::fast_exp(x); });
    }
};

} // namespace gsub
