#pragma once

#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/c_element.hpp>
#include <gsub/codegen/simt/impl/lane_functions.hpp>
#include <gsub/core/format.hpp>

#include <bit>
#include <cmath>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY std::string lane_literal(double real, std::int64_t integer, dtype t) {
    if (t == dtype::f32 && !std::isfinite(static_cast<float>(real)))
        return format_text("f32_of_bits({}u)", std::bit_cast<std::uint32_t>(static_cast<float>(real)));
    if (t == dtype::f64 && !std::isfinite(real))
        return format_text("f64_of_bits({}UL)", std::bit_cast<std::uint64_t>(real));
    return literal(real, integer, t);
}

// Unsigned type in which integers wrap: what is shorter would be promoted to int.
GSUB_LAZY [[nodiscard]] std::string_view wrapping_type(dtype t) {
    return byte_size(t) == 8 ? "unsigned long" : "unsigned";
}

GSUB_LAZY_BODY void lane_functions::define(std::string_view name, std::string_view text) {
    if (names_.find(format_text(" {} ", name)) != std::string::npos) return;
    names_ += format_text(" {} ", name);
    text_ += format_text("{}{}\n", qualifiers_, text);
}

GSUB_LAZY_BODY std::string lane_functions::call(loop::scalar_op op, dtype of, std::span<std::string const> operands) {
    using loop::scalar_op;
    struct row {
        scalar_op op;
        std::string_view real, integer{}; // integers: as reals where empty; {t} is the type, {u} the one that wraps
    };
    static constexpr row rows[] = {
        {scalar_op::add, "{a} + {b}", "({t})(({u}){a} + ({u}){b})"},
        {scalar_op::subtract, "{a} - {b}", "({t})(({u}){a} - ({u}){b})"},
        {scalar_op::multiply, "{a} * {b}", "({t})(({u}){a} * ({u}){b})"},
        {scalar_op::divide, "{a} / {b}", "{b} == 0 ? ({t})0 : ({t})({a} / {b})"},
        {scalar_op::power, "pow({a}, {b})"},
        {scalar_op::maximum, "{a} < {b} ? {b} : {a}"},
        {scalar_op::minimum, "{b} < {a} ? {b} : {a}"},
        {scalar_op::equal, "(unsigned char)({a} == {b})"},
        {scalar_op::less, "(unsigned char)({a} < {b})"},
        {scalar_op::less_equal, "(unsigned char)({a} <= {b})"},
        {scalar_op::logical_and, "(unsigned char)({a} != 0 & {b} != 0)"},
        {scalar_op::logical_or, "(unsigned char)({a} != 0 | {b} != 0)"},
        {scalar_op::logical_xor, "(unsigned char)({a} != 0 ^ {b} != 0)"},
        {scalar_op::logical_not, "(unsigned char)({a} == 0)"},
        {scalar_op::bitwise_and, "({t})({a} & {b})"},
        {scalar_op::bitwise_or, "({t})({a} | {b})"},
        {scalar_op::bitwise_xor, "({t})({a} ^ {b})"},
        {scalar_op::select, "{a} != 0 ? {b} : {c}"},
        {scalar_op::negate, "-{a}", "({t})(({u})0 - ({u}){a})"},
        {scalar_op::absolute, "fabs({a})", "{a} < 0 ? ({t})(({u})0 - ({u}){a}) : {a}"},
        {scalar_op::square_root, "sqrt({a})"},
        {scalar_op::floor, "floor({a})"},
        {scalar_op::round, "rint({a})"},
        {scalar_op::exponential, "exp({a})"},
        {scalar_op::logarithm, "log({a})"},
        {scalar_op::tanh, "tanh({a})"},
        {scalar_op::erf, "erf({a})"},
        {scalar_op::sigmoid, "({t})1 / (({t})1 + exp(-{a}))"},
        {scalar_op::sin, "sin({a})"},
        {scalar_op::cos, "cos({a})"},
        {scalar_op::tan, "tan({a})"},
        {scalar_op::asin, "asin({a})"},
        {scalar_op::acos, "acos({a})"},
        {scalar_op::atan, "atan({a})"},
        {scalar_op::sinh, "sinh({a})"},
        {scalar_op::cosh, "cosh({a})"},
        {scalar_op::asinh, "asinh({a})"},
        {scalar_op::acosh, "acosh({a})"},
        {scalar_op::atanh, "atanh({a})"},
        {scalar_op::remainder, "fmod({a}, {b})"},
    };
    auto const computed = exact(op);
    auto const is_real = is_floating(of);
    if (computed == scalar_op::equal && of == dtype::boolean)
        return format_text("(unsigned char)(({} != 0) == ({} != 0))", operands[0], operands[1]);
    if (computed == scalar_op::absolute && !is_real && !info(of).is_signed) return operands[0];
    if (computed == scalar_op::divide && !is_real && info(of).is_signed)
        return format_text("{1} == 0 ? ({2})0 : {1} == -1 ? ({2})(({3})0 - ({3}){0}) : ({2})({0} / {1})", operands[0],
                           operands[1], c_type(of), wrapping_type(of));
    for (auto const& r : rows) {
        if (r.op != computed) continue;
        std::string out;
        auto const form = is_real || r.integer.empty() ? r.real : r.integer;
        for (std::size_t at = 0; at < form.size(); ++at) {
            if (form[at] != '{') {
                out += form[at];
                continue;
            }
            auto const what = form[at + 1];
            out += what == 't'   ? std::string{c_type(of)}
                   : what == 'u' ? std::string{wrapping_type(of)}
                                 : operands[static_cast<std::size_t>(what - 'a')];
            at += 2;
        }
        return out;
    }
    GSUB_ASSERT(false, "an operation of operands that is no cast");
    return {};
}

GSUB_LAZY_BODY std::string lane_functions::combine(loop::scalar_op op, dtype of, std::string const& accumulator,
                                                   std::string const& value) {
    std::string const both[] = {accumulator, value};
    if (op == loop::scalar_op::add) return call(op, of, both);
    auto const greater = call(loop::scalar_op::maximum, of, both);
    return is_floating(of) ? format_text("{0} != {0} ? {0} : {1}", value, greater) : greater;
}

GSUB_LAZY_BODY std::string lane_functions::entry(std::string const& integer, std::int64_t entries,
                                                 std::string const& status, std::string_view memory) {
    define("entry_of", format_text("long entry_of(long k, long n, {}int* status) {{\n"
                                   "  if (k >= -n && k < n) return k < 0 ? k + n : k;\n"
                                   "  *status = 1;\n"
                                   "  return 0;\n}}",
                                   memory));
    return format_text("entry_of((long){}, {}L, {})", integer, entries, status);
}

// ---- casts

GSUB_LAZY_BODY std::string lane_functions::cast(dtype from, dtype to, std::string const& value) {
    if (from == to) return value;
    if (is_half(from)) {
        auto const single = half_to_f32(from, value);
        return to == dtype::f32 ? single : cast(dtype::f32, to, single);
    }
    if (to == dtype::boolean) return format_text("(unsigned char)({} != 0)", value);
    if (from == dtype::boolean) return cast(dtype::u8, to, format_text("(unsigned char)({} != 0)", value));
    if (is_half(to)) return f32_to_half(to, rounded_to_odd(from, value));
    if (is_floating(from) && is_integer(to)) return saturated(from, to, value);
    return format_text("({})({})", c_type(to), value);
}

GSUB_LAZY_BODY std::string lane_functions::half_to_f32(dtype from, std::string const& value) {
    if (from == dtype::bf16) {
        define("f32_of_bf16", "float f32_of_bf16(unsigned short x) {\n"
                              "  const unsigned y = (unsigned)x << 16;\n"
                              "  return f32_of_bits((y & 0x7fffffffu) > 0x7f800000u ? y | 0x400000u : y);\n}");
        return format_text("f32_of_bf16({})", value);
    }
    define("f32_of_f16", "float f32_of_f16(unsigned short x) {\n"
                         "  const unsigned sign = ((unsigned)x & 0x8000u) << 16, size = x & 0x7fffu;\n"
                         "  if (size < 0x400u) return f32_of_bits(bits_of_f32((float)size * 5.9604644775390625e-8f) | "
                         "sign);\n"
                         "  const unsigned y = size < 0x7c00u ? (size << 13) + 0x38000000u\n"
                         "                     : size == 0x7c00u ? 0x7f800000u : (size << 13) | 0x7fc00000u;\n"
                         "  return f32_of_bits(y | sign);\n}");
    return format_text("f32_of_f16({})", value);
}

GSUB_LAZY_BODY std::string lane_functions::f32_to_half(dtype to, std::string const& value) {
    if (to == dtype::bf16) {
        define("bf16_of", "unsigned short bf16_of(float x) {\n"
                          "  const unsigned word = bits_of_f32(x);\n"
                          "  return (unsigned short)((word & 0x7fffffffu) > 0x7f800000u\n"
                          "                              ? word >> 16 | 0x40u\n"
                          "                              : (word + 0x7fffu + (word >> 16 & 1u)) >> 16);\n}");
        return format_text("bf16_of({})", value);
    }
    define("f16_of", "unsigned short f16_of(float x) {\n"
                     "  const unsigned word = bits_of_f32(x), sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;\n"
                     "  unsigned y;\n"
                     "  if (size > 0x7f800000u) y = (size >> 13 & 0x3ffu) | 0x7e00u;\n"
                     "  else if (size >= 0x47800000u) y = 0x7c00u;\n"
                     "  else if (size < 0x38800000u) y = bits_of_f32(f32_of_bits(size) + 0.5f) - 0x3f000000u;\n"
                     "  else y = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;\n"
                     "  return (unsigned short)(y | sign);\n}");
    return format_text("f16_of({})", value);
}

// Rounding to 16 bits is that of a float whose last bit is odd where it is inexact, so that it is no tie.
GSUB_LAZY_BODY std::string lane_functions::rounded_to_odd(dtype from, std::string const& value) {
    if (from == dtype::f32) return value;
    if (is_integer(from) && byte_size(from) < 4) return format_text("(float)({})", value);
    define("odd_f64", "float odd_f64(double x) {\n"
                      "  const float near = (float)x;\n"
                      "  if ((double)near == x || x != x) return near;\n"
                      "  return f32_of_bits((bits_of_f32(near) - (fabs((double)near) > fabs(x) ? 1u : 0u)) | 1u);\n}");
    if (from != dtype::i64 && from != dtype::u64) return format_text("odd_f64((double)({}))", value);
    define("odd_u64", "float odd_u64(unsigned long x) {\n"
                      "  return odd_f64((double)(x > 1UL << 53 ? (x & ~0xfffUL) | ((x & 0xfffUL) != 0 ? 0x800UL : 0UL)"
                      " : x));\n}");
    if (from == dtype::u64) return format_text("odd_u64({})", value);
    define("odd_i64", "float odd_i64(long x) { return x < 0 ? -odd_u64(0UL - (unsigned long)x) : odd_u64((unsigned "
                      "long)x); }");
    return format_text("odd_i64({})", value);
}

// Truncates and saturates, by way of f64, which is exact.
GSUB_LAZY_BODY std::string lane_functions::saturated(dtype from, dtype to, std::string const& value) {
    auto const digits = integer_digits(to);
    auto const most = digits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << digits) - 1;
    auto const limit = std::ldexp(1.0, digits);
    auto const name = format_text("{}_of_f64", c_element_of(to).name);
    auto const least = info(to).is_signed ? format_text("(-{}L - 1)", most) : std::string{"0"};
    define(name,
           format_text("{0} {1}(double x) {{\n"
                       "  return x != x ? ({0})0 : x < {2:.1f} ? ({0}){3} : x >= {4:.1f} ? ({0}){5}UL : ({0})x;\n}}",
                       c_type(to), name, info(to).is_signed ? -limit : 0.0, least, limit, most));
    return from == dtype::f64 ? format_text("{}({})", name, value) : format_text("{}((double)({}))", name, value);
}

} // namespace gsub::codegen::detail
