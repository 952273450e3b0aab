// Vector math functions on f64 in generated kernels: those of f64, and powers of f32, which need its digits.
//
// Errors in units of the last place: exponential 1, tanh and sigmoid 3; powers of f32 1. A sigmoid less than 2^-1022 is
// zero. Infinities, NaN, zeros and subnormals are as in the standard's functions.
//     exponential: x = n ln 2 + r, ln 2 in two parts, |r| <= 0.347; the series to degree 13, off by 2^-57. 2^n as two
//         factors, so that results at the ends of the range are right.
//     tanh: u / (u + 2) with u = e^2|x| - 1, from the series of e^r - 1 without a loss where n is 0.
//     power: 2^(y log2 |x|). log2 of x = 2^e m by the series of artanh((m - 1) / (m + 1)) to degree 15, off by 2^-45;
//         2^f, |f| <= 1/2, by the series to degree 9, off by 2^-37. Vectors with a lane that is zero, infinite or NaN
//         are left to powf.
#pragma once

#include <string_view>

namespace gsub::codegen::detail {

inline constexpr std::string_view two_to_the_text =
    R"(static inline v_f64 two_to_the(v_f64 n) { return (v_f64)(((v_u64)(n + 0x1.8p52) + 1023UL) << 52); }
)";
// n, the nearest whole number to x log2 e, and r.
inline constexpr std::string_view reduced_f64_text =
    R"(struct reduced_f64 { v_f64 n, r; };
static inline reduced_f64 reduce_f64(v_f64 x) {
  const v_f64 n = (x * 0x1.71547652b82fep0 + 0x1.8p52) - 0x1.8p52;
  return {n, (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33};
}
static inline v_f64 series_without_one(v_f64 r) {
  v_f64 p = r * 0x1.6124613a86d09p-33 + 0x1.1eed8eff8d898p-29;
  p = p * r + 0x1.ae64567f544e4p-26;
  p = p * r + 0x1.27e4fb7789f5cp-22;
  p = p * r + 0x1.71de3a556c734p-19;
  p = p * r + 0x1.a01a01a01a01ap-16;
  p = p * r + 0x1.a01a01a01a01ap-13;
  p = p * r + 0x1.6c16c16c16c17p-10;
  p = p * r + 0x1.1111111111111p-7;
  p = p * r + 0x1.5555555555555p-5;
  p = p * r + 0x1.5555555555555p-3;
  p = p * r + 0.5;
  return r + p * (r * r);
}
)";
inline constexpr std::string_view exp_f64_text =
    R"(static inline v_f64 exp_f64(v_f64 x) {
  const reduced_f64 of = reduce_f64(x);
  const v_f64 half = (of.n * 0.5 + 0x1.8p52) - 0x1.8p52;
  v_f64 y = (series_without_one(of.r) + 1.0) * two_to_the(half) * two_to_the(of.n - half);
  y = x < -746.0 ? v_f64{} : y;
  return x < 710.0 ? y : x * __builtin_inf();
}
)";
inline constexpr std::string_view sigmoid_f64_text =
    R"(static inline v_f64 sigmoid_f64(v_f64 x) { return 1.0 / (1.0 + exp_f64(-x)); }
)";
inline constexpr std::string_view tanh_f64_text =
    R"(static inline v_f64 tanh_f64(v_f64 x) {
  const v_u64 sign = (v_u64)x & 1UL << 63;
  v_f64 size = (v_f64)((v_u64)x ^ sign);
  size = size > 22.0 ? v_f64{} + 22.0 : size;
  const reduced_f64 of = reduce_f64(size + size);
  const v_f64 two = two_to_the(of.n), u = two * series_without_one(of.r) + (two - 1.0);
  return (v_f64)((v_u64)(u / (u + 2.0)) | sign);
}
)";
inline constexpr std::string_view power_f32_text =
    R"(static inline vf power_f32(vf x, vf y) {
  const vf size = (vf)((v_u32)x & 0x7fffffffu);
  const v_i32 usual = (size > 0.0f) & (size < __builtin_inff()) & ((vf)((v_u32)y & 0x7fffffffu) < __builtin_inff());
  int lanes[sizeof(vf) / 4], all = -1;
  __builtin_memcpy(lanes, &usual, sizeof usual);
  for (int lane : lanes) all &= lane;
  if (!all) return each_power_f32(x, y);
  const v_u64 bits = (v_u64)__builtin_convertvector(size, v_f64) - 0x3fe6a09e667f3bcdUL;
  const v_f64 m = (v_f64)((bits & 0xfffffffffffffUL) + 0x3fe6a09e667f3bcdUL);
  const v_f64 e = (v_f64)((bits + (1024UL << 52)) >> 52 | 0x4330000000000000UL) - (0x1p52 + 1024.0);
  const v_f64 t = (m - 1.0) / (m + 1.0), s = t * t;
  v_f64 p = s * (1.0 / 15) + 1.0 / 13;
  p = p * s + 1.0 / 11;
  p = p * s + 1.0 / 9;
  p = p * s + 1.0 / 7;
  p = p * s + 1.0 / 5;
  p = p * s + 1.0 / 3;
  p = p * s + 1.0;
  const v_f64 z = __builtin_convertvector(y, v_f64) * (e + p * t * 0x1.71547652b82fep1);
  const v_f64 n = (z + 0x1.8p52) - 0x1.8p52, f = (z - n) * 0x1.62e42fefa39efp-1;
  v_f64 q = f * (1.0 / 362880) + 1.0 / 40320;
  q = q * f + 1.0 / 5040;
  q = q * f + 1.0 / 720;
  q = q * f + 1.0 / 120;
  q = q * f + 1.0 / 24;
  q = q * f + 1.0 / 6;
  q = q * f + 0.5;
  q = q * f + 1.0;
  q = q * f + 1.0;
  // Choices between wide vectors are made lane by lane: here between those of f32.
  const vf log = __builtin_convertvector(z, vf);
  vf power = __builtin_convertvector(q * two_to_the(n), vf);
  power = log > 200.0f ? vf{} + __builtin_inff() : log < -200.0f ? vf{} : power;
  // Of negative numbers: the sign of odd powers, and nothing between whole ones. From 2^24 on all floats are even.
  const vf near = (vf)((v_u32)y & 0x7fffffffu);
  const vf whole = (near + 0x1p23f) - 0x1p23f, half = near * 0.5f, even = (half + 0x1p23f) - 0x1p23f;
  const v_i32 large = near >= 0x1p23f, broken = ~large & (whole != near);
  const v_i32 units = __builtin_convertvector(near < 0x1p24f ? near : vf{}, v_i32) & 1;
  const v_i32 odd = large ? units != 0 : even != half;
  const vf signed_power = odd ? -power : power;
  return x > 0.0f ? power : broken ? vf{} + __builtin_nanf("") : signed_power;
}
)";

} // namespace gsub::codegen::detail
