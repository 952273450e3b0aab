#pragma once

#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/c_element.hpp>
#include <gsub/core/format.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::codegen::detail {

// Rounding to 16 bits is that of a float whose last bit is odd where it is inexact, so that it is no tie.
inline constexpr std::string_view odd_text = R"(static inline float odd(double x) {
  const float near = (float)x;
  if ((double)near == x || x != x) return near;
  unsigned bits;
  __builtin_memcpy(&bits, &near, 4);
  bits = (bits - (__builtin_fabs((double)near) > __builtin_fabs(x))) | 1u;
  float out;
  __builtin_memcpy(&out, &bits, 4);
  return out;
}
static inline float odd(float x) { return x; }
static inline float odd(unsigned long x) {
  return odd((double)(x > 1UL << 53 ? (x & ~0xfffUL) | (x & 0xfff ? 0x800UL : 0UL) : x));
}
static inline float odd(long x) { return x < 0 ? -odd(0UL - (unsigned long)x) : odd((unsigned long)x); }
static inline float odd(int x) { return odd((double)x); }
static inline float odd(unsigned x) { return odd((double)x); }
)";
inline constexpr std::string_view f32_to_f16_text = R"(static inline v_u16 cast_f32_f16(vf x) {
#ifdef GSUB_HALF_VECTORS
  return (v_u16)__builtin_ia32_vcvtps2ph512_mask(x, 0, v_i16{}, (unsigned short)-1);
#else
  const v_u32 word = (v_u32)x, sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
  const v_u32 normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
  const v_u32 small = (v_u32)((vf)size + 0.5f) - 0x3f000000u;
  v_u32 y = size < 0x38800000u ? small : normal;
  y = size >= 0x47800000u ? v_u32{} + 0x7c00u : y;
  y = size > 0x7f800000u ? (size >> 13 & 0x3ffu) | 0x7e00u : y;
  return __builtin_convertvector(sign | y, v_u16);
#endif
}
)";
inline constexpr std::string_view f16_to_f32_text = R"(static inline vf cast_f16_f32(v_u16 x) {
#ifdef GSUB_HALF_VECTORS
  return (vf)__builtin_ia32_vcvtph2ps512_mask((v_i16)x, vf{}, (unsigned short)-1, 4);
#else
  const v_u32 word = __builtin_convertvector(x, v_u32), sign = (word & 0x8000u) << 16, size = word & 0x7fffu;
  const vf small = __builtin_convertvector((v_i32)size, vf) * 0x1p-24f;
  v_u32 y = (size << 13) + 0x38000000u;
  y = size < 0x400u ? (v_u32)small : y;
  y = size >= 0x7c00u ? (size << 13) | 0x7f800000u : y;
  y = size > 0x7c00u ? y | 0x400000u : y;
  return (vf)(sign | y);
#endif
}
)";
inline constexpr std::string_view f32_to_bf16_text = R"(static inline v_u16 cast_f32_bf16(vf x) {
  const v_u32 word = (v_u32)x;
  v_u32 y = (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
  y = (word & 0x7fffffffu) > 0x7f800000u ? word >> 16 | 0x40u : y;
  return __builtin_convertvector(y, v_u16);
}
)";
inline constexpr std::string_view bf16_to_f32_text = R"(static inline vf cast_bf16_f32(v_u16 x) {
  v_u32 y = __builtin_convertvector(x, v_u32) << 16;
  y = (y & 0x7fffffffu) > 0x7f800000u ? y | 0x400000u : y;
  return (vf)y;
}
)";

// Writes the function that casts vectors of one type to another.
template <class = void>
class cast_writer {
public:
    cast_writer(typed_functions& functions, dtype from, dtype to, std::string const& name)
        : functions_(functions), from_(from), to_(to), f_(c_element_of(from)), t_(c_element_of(to)), name_(name) {}

    void write() {
        if (is_half(from_)) return from_half();
        if (from_ == dtype::boolean) return from_boolean();
        if (to_ == dtype::boolean)
            return returns(
                format_text("(v_u8)__builtin_convertvector(a != {}{{}}, v_i8) & wide((unsigned char)1)", f_.vector));
        if (is_half(to_)) return to_half();
        if (is_floating(from_) && is_integer(to_)) return to_integer();
        if (is_integer(from_) && byte_size(from_) < 4 && to_ == dtype::f32) return short_to_f32();
        returns(format_text("__builtin_convertvector(a, {})", t_.vector));
    }

private:
    void add(std::string_view text) { functions_.functions_ += text; }
    void returns(std::string_view value) {
        add(format_text("static inline {} {}({} a) {{ return {}; }}\n", t_.vector, name_, f_.vector, value));
    }
    // By way of another type, which holds each number.
    void by_way_of(dtype between) {
        auto const first = functions_.cast(from_, between);
        returns(format_text("{}({}(a))", functions_.cast(between, to_), first));
    }

    void from_half() {
        if (to_ != dtype::f32) return by_way_of(dtype::f32);
        add(from_ == dtype::f16 ? f16_to_f32_text : bf16_to_f32_text);
    }
    void from_boolean() {
        auto const ones = "(v_u8)(a != v_u8{}) & wide((unsigned char)1)";
        returns(to_ == dtype::u8 ? std::string{ones} : format_text("{}({})", functions_.cast(dtype::u8, to_), ones));
    }
    void to_half() {
        if (from_ == dtype::f32) return add(to_ == dtype::f16 ? f32_to_f16_text : f32_to_bf16_text);
        auto const narrow = functions_.cast(dtype::f32, to_);
        if (functions_.begin("odd")) add(odd_text);
        // Whole numbers of 16 bits are exact in f32.
        auto const odd = format_text("odd_{}", f_.name);
        if (functions_.begin(odd))
            add(functions_.lanewise(dtype::f32, odd, from_, byte_size(from_) < 4 ? "(float)a[l]" : "odd(a[l])"));
        returns(format_text("{}({}(a))", narrow, odd));
    }

    // Truncates and saturates.
    void to_integer() {
        // By way of f64, which is exact: GCC 12 fails on the loop over lanes ("store_constructor") with AVX-512.
        if (from_ == dtype::f32 && byte_size(to_) == 8) return by_way_of(dtype::f64);
        auto const digits = integer_digits(to_);
        auto const most = digits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << digits) - 1;
        if (from_ == dtype::f32 && (byte_size(to_) < 4 || to_ == dtype::i32)) return f32_to_integer(digits, most);
        auto const low = info(to_).is_signed ? format_text("-0x1p{}", digits) : std::string{"0.0"};
        add(functions_.lanewise(
            to_, name_, from_,
            format_text("a[l] != a[l] ? ({0})0 : a[l] < {1} ? ({0})({1}) : a[l] >= 0x1p{2} ? ({0}){3}UL : ({0})a[l]",
                        t_.c, low, digits, most)));
    }
    // The same on whole vectors: of f32 to as wide integers, which are cut.
    void f32_to_integer(int digits, std::uint64_t most) {
        auto const low = info(to_).is_signed ? format_text("-0x1p{}f", digits) : std::string{"0.0f"};
        add(format_text("static inline {0} {1}(vf a) {{\n"
                        "  const v_i32 below = a < {2}, above = a >= 0x1p{3}f, number = a == a;\n"
                        "  v_i32 y = __builtin_convertvector(number & ~below & ~above ? a : vf{{}}, v_i32);\n"
                        "  y = below ? v_i32{{}} + (int)({2}) : above ? v_i32{{}} + {4} : y;\n"
                        "  return {5};\n}}\n",
                        t_.vector, name_, low, digits, most,
                        to_ == dtype::i32 ? std::string{"y"}
                                          : format_text("__builtin_convertvector(y, {})", t_.vector)));
    }
    // In steps to twice the width: compilers take others element by element.
    void short_to_f32() {
        auto const words = byte_size(from_) == 1 ? "__builtin_convertvector(a, v_i16)" : "a";
        returns(format_text("__builtin_convertvector(__builtin_convertvector({}, v_i32), vf)", words));
    }

    typed_functions& functions_;
    dtype from_, to_;
    c_element const &f_, &t_;
    std::string const& name_;
};

} // namespace gsub::codegen::detail
