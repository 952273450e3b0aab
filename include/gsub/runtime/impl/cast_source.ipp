// The text of a cast.
#pragma once

#include <gsub/runtime/impl/step_source.ipp>

#include <limits>

namespace gsub::runtime::detail {

// Rounding to 16 bits as `float16` and `bfloat16` round, of a float that `odd` made of what is exact: where that is
// inexact its last bit is odd, so that it is no tie. NaNs become quiet.
inline constexpr char const* sixteen_bit_floats = R"(static inline unsigned bits_of(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
static inline float of_bits(unsigned bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
static inline float odd(double x) {
  const float near = (float)x;
  if ((double)near == x || x != x) return near;
  return of_bits((bits_of(near) - (__builtin_fabs((double)near) > __builtin_fabs(x))) | 1u);
}
static inline float odd(long x) {
  const long exact = 1L << 53;
  return odd((double)(x < -exact || x > exact ? (x & ~0x7ffL) | (x & 0x7ff ? 0x800 : 0) : x));
}
static inline float odd(unsigned long x) {
  return odd((double)(x > 1UL << 53 ? (x & ~0x7ffUL) | (x & 0x7ffUL ? 0x800UL : 0UL) : x));
}
static inline unsigned short to_f16(float x) {
  const unsigned word = bits_of(x), sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
  if (size > 0x7f800000u) return sign | 0x7e00u | (size >> 13 & 0x3ffu);
  if (size >= 0x47800000u) return sign | 0x7c00u;
  if (size >= 0x38800000u) return sign + ((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
  if (size < 0x33000000u) return sign;
  const unsigned shift = 126u - (size >> 23), digits = (size & 0x7fffffu) | 0x800000u;
  const unsigned rest = digits & ((1u << shift) - 1u), half = 1u << (shift - 1u), kept = digits >> shift;
  return sign + kept + (rest > half || (rest == half && (kept & 1u)));
}
static inline double from_f16(unsigned short bits) {
  const unsigned sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1fu, digits = bits & 0x3ffu;
  if (exponent == 31) return of_bits(sign | 0x7f800000u | digits << 13 | (digits ? 0x400000u : 0u));
  if (exponent == 0) return sign ? -(digits * 0x1p-24) : digits * 0x1p-24;
  return of_bits(sign | (exponent + 112u) << 23 | digits << 13);
}
static inline unsigned short to_bf16(float x) {
  const unsigned word = bits_of(x);
  if ((word & 0x7fffffffu) > 0x7f800000u) return word >> 16 | 0x40u;
  return (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
}
static inline double from_bf16(unsigned short bits) {
  const unsigned word = (unsigned)bits << 16;
  return of_bits((word & 0x7fffffffu) > 0x7f800000u ? word | 0x400000u : word);
}
)";

// `tensor::converted_to`, by way of the widest type of the source's kind.
GSUB_LAZY step_source source_of_cast(dtype from, dtype to, std::int64_t count) {
    auto const real = is_floating(from), sixteen_in = from == dtype::f16 || from == dtype::bf16,
               sixteen_out = to == dtype::f16 || to == dtype::bf16;
    auto const load = sixteen_in               ? message({"from_", to_string(from), "(x[i])"})
                      : from == dtype::boolean ? std::string{"x[i] != 0"}
                                               : std::string{"x[i]"};
    std::string store;
    if (to == dtype::boolean) {
        store = "v != 0";
    } else if (sixteen_out) {
        store = message({"to_", to_string(to), "(odd(v))"});
    } else if (real && is_integer(to)) { // truncates and saturates
        auto const digits = integer_digits(to);
        auto const low = info(to).is_signed ? message({"-0x1p", digits}) : std::string{"0.0"};
        store = message({"v != v ? 0 : v < ", low, " ? (", c_type(to), ")(", low, ") : v >= 0x1p", digits, " ? (",
                         c_type(to), ")", std::numeric_limits<std::uint64_t>::max() >> (64 - digits), "UL : (",
                         c_type(to), ")v"});
    } else {
        store = message({"(", c_type(to), ")v"});
    }
    constexpr std::int64_t block = 4096; // elements of a position
    return source_of_step(message({"  const ",
                                   c_type(from),
                                   "* x = (const ",
                                   c_type(from),
                                   "*)b[0];\n  ",
                                   c_type(to),
                                   "* y = (",
                                   c_type(to),
                                   "*)b[1];\n  const long stop = end * ",
                                   block,
                                   " < ",
                                   count,
                                   "L ? end * ",
                                   block,
                                   " : ",
                                   count,
                                   "L;\n  for (long i = begin * ",
                                   block,
                                   "; i < stop; ++i) {\n    const ",
                                   c_type(widest_of_kind(from)),
                                   " v = ",
                                   load,
                                   ";\n    y[i] = ",
                                   store,
                                   ";\n  }\n"}),
                          (count + block - 1) / block, sixteen_in || sixteen_out ? sixteen_bit_floats : "");
}

} // namespace gsub::runtime::detail
