// The prime field in which rewrite rules are proved: integers modulo the Mersenne prime 2^61 - 1.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/ir/types/dtype.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

namespace gsub {

/// An element of the field with p = 2^61 - 1 elements. Sums, products and quotients are exact, so two polynomial
/// expressions that agree at a random point are equal, except with probability degree / p.
/// *Source* Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", 1980.
class field61 {
public:
    static constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;

    constexpr field61() = default;
    /// The image of an integer.
    constexpr explicit field61(std::int64_t value) noexcept
        : value_(value >= 0 ? reduce(static_cast<std::uint64_t>(value))
                            : negate(reduce(0 - static_cast<std::uint64_t>(value)))) {}
    /// An element from arbitrary bits, for random draws: the image of an unsigned integer.
    static constexpr field61 from_bits(std::uint64_t word) noexcept { return raw(reduce(word)); }
    /// The image of a finite floating-point number, exact: m * 2^e. NaN and infinities become fixed arbitrary elements.
    static field61 from_real(double value) noexcept {
        if (!std::isfinite(value)) return from_bits(hasher{std::bit_cast<std::uint64_t>(value)}.finish().low);
        int exponent = 0;
        auto const mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
        // 2^61 = 1, so powers of two, negative ones too, are rotations.
        auto const shift = ((exponent - 53) % 61 + 61) % 61;
        return field61{mantissa} * raw(std::uint64_t{1} << shift);
    }

    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

    friend constexpr field61 operator+(field61 a, field61 b) noexcept { return raw(fold(a.value_ + b.value_)); }
    friend constexpr field61 operator-(field61 a, field61 b) noexcept { return raw(fold(a.value_ + negate(b.value_))); }
    friend constexpr field61 operator-(field61 a) noexcept { return raw(negate(a.value_)); }
    friend constexpr field61 operator*(field61 a, field61 b) noexcept {
        auto const product = static_cast<uint128>(a.value_) * b.value_;
        return raw(fold(static_cast<std::uint64_t>(product & modulus) + static_cast<std::uint64_t>(product >> 61)));
    }
    /// The quotient; a / 0 is 0, as good as any value of a partial function.
    friend constexpr field61 operator/(field61 a, field61 b) noexcept { return a * inverse(b); }
    constexpr field61& operator+=(field61 b) noexcept { return *this = *this + b; }
    constexpr field61& operator*=(field61 b) noexcept { return *this = *this * b; }
    friend constexpr bool operator==(field61, field61) = default;
    friend constexpr auto operator<=>(field61 a, field61 b) noexcept {
        return a.value_ <=> b.value_;
    } // for sorting only

private:
    static constexpr field61 raw(std::uint64_t v) noexcept {
        field61 f;
        f.value_ = v;
        return f;
    }
    static constexpr std::uint64_t fold(std::uint64_t v) noexcept { return v >= modulus ? v - modulus : v; } // v < 2p
    static constexpr std::uint64_t reduce(std::uint64_t v) noexcept { return fold(fold((v & modulus) + (v >> 61))); }
    static constexpr std::uint64_t negate(std::uint64_t v) noexcept { return v == 0 ? 0 : modulus - v; }
    static constexpr field61 inverse(field61 a) noexcept { // a^(p-2)
        field61 power = a, result = raw(1);
        for (auto e = modulus - 2; e != 0; e >>= 1) {
            if (e & 1) result *= power;
            power *= power;
        }
        return result;
    }
    std::uint64_t value_ = 0;
};

template <>
inline constexpr dtype dtype_of<field61> = dtype::field61;

} // namespace gsub
