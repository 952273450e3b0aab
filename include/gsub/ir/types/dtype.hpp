// Element types, and the two 16-bit floating-point formats that C++20 lacks.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gsub {

/// Element type of a tensor. `undefined` stands where a model does not say (results of unknown operators).
/// `field61` holds elements of the prime field in which rules are proved; no file contains it. The numbers stand in
/// hashes and in the C interface: new types go to the end.
enum class dtype : std::uint8_t {
    undefined,
    f64,
    f32,
    f16,
    bf16,
    i64,
    i32,
    i16,
    i8,
    u8,
    boolean,
    field61,
    u64,
    u32,
    u16,
};

/// IEEE binary16. Arithmetic happens in float; a value is rounded to nearest, ties to even, when stored.
struct float16 {
    std::uint16_t bits = 0;
    float16() = default;
    constexpr explicit float16(float value) noexcept : bits(from_float(value)) {}
    constexpr operator float() const noexcept { return to_float(bits); }

private:
    static constexpr std::uint16_t from_float(float value) noexcept {
        auto const word = std::bit_cast<std::uint32_t>(value);
        auto const sign = static_cast<std::uint16_t>(word >> 16 & 0x8000u);
        auto const magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
        if (magnitude >= 0x47800000u) return sign | 0x7c00u; // 65536 and more, infinity
        if (magnitude < 0x38800000u) {                       // below 2^-14: subnormal
            if (magnitude < 0x33000000u) return sign;        // at most half of the least subnormal, ties to zero
            auto const shift = 126u - (magnitude >> 23);     // 14 .. 24
            auto const mantissa = (magnitude & 0x7fffffu) | 0x800000u;
            auto const rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1u);
            auto const kept = mantissa >> shift;
            return static_cast<std::uint16_t>(sign + kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u));
        }
        auto const rounded = magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u);
        return static_cast<std::uint16_t>(sign + (rounded >> 13)); // a carry into the exponent is right, up to infinity
    }
    static constexpr float to_float(std::uint16_t bits) noexcept {
        auto const sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
        auto const exponent = bits >> 10 & 0x1fu;
        auto const mantissa = static_cast<std::uint32_t>(bits & 0x3ffu);
        if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
        if (exponent == 0) {
            auto const value = static_cast<float>(mantissa) * 0x1p-24f;
            return sign ? -value : value;
        }
        return std::bit_cast<float>(sign | (exponent + 112u) << 23 | mantissa << 13);
    }
};

/// bfloat16: the upper half of a float, rounded to nearest, ties to even.
struct bfloat16 {
    std::uint16_t bits = 0;
    bfloat16() = default;
    constexpr explicit bfloat16(float value) noexcept : bits(from_float(value)) {}
    constexpr operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

private:
    static constexpr std::uint16_t from_float(float value) noexcept {
        auto const word = std::bit_cast<std::uint32_t>(value);
        if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(word >> 16 | 0x40u); // a quiet NaN
        return static_cast<std::uint16_t>((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
    }
};

/// Facts of an element type.
struct dtype_info {
    std::string_view name;
    std::uint8_t bytes;
    bool floating;
    bool integer;   ///< signed or unsigned; `boolean` is neither
    bool is_signed; ///< has negative numbers
    int onnx;       ///< number in `TensorProto.DataType`, 0 where ONNX has none
};

namespace detail {
inline constexpr std::array<dtype_info, 15> dtype_table{{
    // name, bytes, floating, integer, signed, ONNX
    {"?", 0, false, false, false, 0},
    {"f64", 8, true, false, true, 11},
    {"f32", 4, true, false, true, 1},
    {"f16", 2, true, false, true, 10},
    {"bf16", 2, true, false, true, 16},
    {"i64", 8, false, true, true, 7},
    {"i32", 4, false, true, true, 6},
    {"i16", 2, false, true, true, 5},
    {"i8", 1, false, true, true, 3},
    {"u8", 1, false, true, false, 2},
    {"bool", 1, false, false, false, 9},
    {"field61", 8, true, false, false, 0},
    {"u64", 8, false, true, false, 13},
    {"u32", 4, false, true, false, 12},
    {"u16", 2, false, true, false, 4},
}};
} // namespace detail

[[nodiscard]] constexpr dtype_info const& info(dtype t) noexcept {
    return detail::dtype_table[static_cast<std::size_t>(t)];
}
[[nodiscard]] constexpr std::string_view to_string(dtype t) noexcept {
    return info(t).name;
}
[[nodiscard]] constexpr std::size_t byte_size(dtype t) noexcept {
    return info(t).bytes;
}
[[nodiscard]] constexpr bool is_floating(dtype t) noexcept {
    return info(t).floating;
}
[[nodiscard]] constexpr bool is_integer(dtype t) noexcept {
    return info(t).integer;
}
/// Bits of the largest number of an integer type: 63 for `i64`, 64 for `u64`. *Requires* an integer type.
[[nodiscard]] constexpr int integer_digits(dtype t) noexcept {
    return 8 * info(t).bytes - (info(t).is_signed ? 1 : 0);
}

/// The widest type of the same kind, which has every number of `t`: `f64` for floats, `u64` for `u64`, else `i64`.
[[nodiscard]] constexpr dtype widest_of_kind(dtype t) noexcept {
    return is_floating(t) ? dtype::f64 : t == dtype::u64 ? t : dtype::i64;
}

/// The element types of tensors in files and models: all but `undefined` and `field61`.
inline constexpr auto stored_dtypes = [] {
    std::array<dtype, detail::dtype_table.size() - 2> types{};
    for (std::size_t i = 0, count = 0; i < detail::dtype_table.size(); ++i)
        if (detail::dtype_table[i].onnx != 0) types[count++] = static_cast<dtype>(i);
    return types;
}();

/// The element type with a name such as `f32`, or nothing.
[[nodiscard]] constexpr std::optional<dtype> dtype_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < detail::dtype_table.size(); ++i)
        if (detail::dtype_table[i].name == name) return static_cast<dtype>(i);
    return std::nullopt;
}

/// The element type with a number of ONNX's `TensorProto.DataType`, or nothing where gsub does not compute with it.
[[nodiscard]] constexpr std::optional<dtype> dtype_of_onnx(std::int64_t number) noexcept {
    for (std::size_t i = 1; i < detail::dtype_table.size(); ++i)
        if (number != 0 && detail::dtype_table[i].onnx == number) return static_cast<dtype>(i);
    return std::nullopt;
}

/// The element type that a C++ type is stored as.
template <class T>
inline constexpr dtype dtype_of = dtype::undefined;
template <>
inline constexpr dtype dtype_of<double> = dtype::f64;
template <>
inline constexpr dtype dtype_of<float> = dtype::f32;
template <>
inline constexpr dtype dtype_of<float16> = dtype::f16;
template <>
inline constexpr dtype dtype_of<bfloat16> = dtype::bf16;
template <>
inline constexpr dtype dtype_of<std::int64_t> = dtype::i64;
template <>
inline constexpr dtype dtype_of<std::int32_t> = dtype::i32;
template <>
inline constexpr dtype dtype_of<std::int16_t> = dtype::i16;
template <>
inline constexpr dtype dtype_of<std::int8_t> = dtype::i8;
template <>
inline constexpr dtype dtype_of<std::uint8_t> = dtype::u8;
template <>
inline constexpr dtype dtype_of<std::uint64_t> = dtype::u64;
template <>
inline constexpr dtype dtype_of<std::uint32_t> = dtype::u32;
template <>
inline constexpr dtype dtype_of<std::uint16_t> = dtype::u16;
template <>
inline constexpr dtype dtype_of<bool> = dtype::boolean;

/// Calls `f.template operator()<T>()` with the C++ type that stores `t`. *Requires* a type that has one.
template <class F>
constexpr decltype(auto) with_storage_type(dtype t, F&& f) {
    switch (t) {
    case dtype::f64:
        return f.template operator()<double>();
    case dtype::f16:
        return f.template operator()<float16>();
    case dtype::bf16:
        return f.template operator()<bfloat16>();
    case dtype::i64:
        return f.template operator()<std::int64_t>();
    case dtype::i32:
        return f.template operator()<std::int32_t>();
    case dtype::i16:
        return f.template operator()<std::int16_t>();
    case dtype::i8:
        return f.template operator()<std::int8_t>();
    case dtype::u8:
        return f.template operator()<std::uint8_t>();
    case dtype::u64:
        return f.template operator()<std::uint64_t>();
    case dtype::u32:
        return f.template operator()<std::uint32_t>();
    case dtype::u16:
        return f.template operator()<std::uint16_t>();
    case dtype::boolean:
        return f.template operator()<bool>();
    default:
        return f.template operator()<float>();
    }
}

} // namespace gsub
