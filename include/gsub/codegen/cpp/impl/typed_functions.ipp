#pragma once

#include <gsub/codegen/cpp/impl/double_math.ipp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/core/format.hpp>

#include <cmath>
#include <limits>

namespace gsub::codegen {

namespace detail {

// A row of the table of C types: how elements are stored and computed with.
struct c_element {
    dtype type;
    std::string_view c, name, vector, unaligned, without_sign, mask;
};
inline constexpr c_element c_elements[] = {
    {dtype::f64, "double", "f64", "v_f64", "u_f64", "", "v_i64"},
    {dtype::f32, "float", "f32", "vf", "uf", "", "v_i32"},
    {dtype::f16, "unsigned short", "f16", "v_u16", "u_u16", "v_u16", "v_i16"},
    {dtype::bf16, "unsigned short", "bf16", "v_u16", "u_u16", "v_u16", "v_i16"},
    {dtype::i64, "long", "i64", "v_i64", "u_i64", "v_u64", "v_i64"},
    {dtype::i32, "int", "i32", "v_i32", "u_i32", "v_u32", "v_i32"},
    {dtype::i16, "short", "i16", "v_i16", "u_i16", "v_u16", "v_i16"},
    {dtype::i8, "signed char", "i8", "v_i8", "u_i8", "v_u8", "v_i8"},
    {dtype::u64, "unsigned long", "u64", "v_u64", "u_u64", "v_u64", "v_i64"},
    {dtype::u32, "unsigned", "u32", "v_u32", "u_u32", "v_u32", "v_i32"},
    {dtype::u16, "unsigned short", "u16", "v_u16", "u_u16", "v_u16", "v_i16"},
    {dtype::u8, "unsigned char", "u8", "v_u8", "u_u8", "v_u8", "v_i8"},
    {dtype::boolean, "unsigned char", "bool", "v_u8", "u_u8", "v_u8", "v_i8"},
};
[[nodiscard]] constexpr c_element const& c_element_of(dtype t) noexcept {
    for (auto const& e : c_elements)
        if (e.type == t) return e;
    return c_elements[1]; // no other type is in a kernel
}

[[nodiscard]] constexpr bool is_half(dtype t) noexcept {
    return t == dtype::f16 || t == dtype::bf16;
}

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

} // namespace detail

GSUB_INLINE std::string_view c_type(dtype t) noexcept {
    return detail::c_element_of(t).c;
}
GSUB_INLINE std::string_view vector_type(dtype t) noexcept {
    return detail::c_element_of(t).vector;
}
GSUB_INLINE std::string_view unaligned_type(dtype t) noexcept {
    return detail::c_element_of(t).unaligned;
}

GSUB_LAZY_BODY std::string literal(double real, std::int64_t integer, dtype t) {
    switch (t) {
    case dtype::f16:
        return fmt::format("(unsigned short){}", float16{static_cast<float>(real)}.bits);
    case dtype::bf16:
        return fmt::format("(unsigned short){}", bfloat16{static_cast<float>(real)}.bits);
    case dtype::f32:
    case dtype::f64: {
        auto const single = t == dtype::f32;
        auto const v = single ? static_cast<double>(static_cast<float>(real)) : real;
        auto const builtin = single ? "f" : "";
        if (v != v) return fmt::format("__builtin_nan{}(\"\")", builtin);
        if (std::isinf(v)) return fmt::format("{}__builtin_inf{}()", v < 0 ? "-" : "", builtin);
        auto text = fmt::format("{}", v);
        if (text.find_first_of(".e") == std::string::npos) text += ".0"; // no integer: it would lose the sign of zero
        return fmt::format("({}){}", c_type(t), text);
    }
    case dtype::u64:
        return fmt::format("{}UL", static_cast<std::uint64_t>(integer));
    default:
        if (integer == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807L - 1)";
        return fmt::format("({}){}L", c_type(t), integer);
    }
}

GSUB_LAZY_BODY bool typed_functions::begin(std::string const& name) {
    if (names_.find(fmt::format(" {} ", name)) != std::string::npos) return false;
    names_ += name + " ";
    return true;
}

// A function of vectors, computed one lane after another: in memory, since a call in between would store and load whole
// vectors for each lane. GCC must not see that the second is a constant: it makes roots of powers, wrong for -inf.
GSUB_LAZY_BODY std::string typed_functions::lanewise(dtype result, std::string_view name, dtype of,
                                                     std::string_view value, bool two) const {
    auto const &r = detail::c_element_of(result), &e = detail::c_element_of(of);
    return fmt::format("static inline {0} {1}({2} v{3}) {{\n"
                       "  {4} y[{5}]; {6} a[{5}]{7};\n"
                       "  __builtin_memcpy(a, &v, sizeof v);\n{8}"
                       "  for (int l = 0; l < {5}; ++l) y[l] = {9};\n"
                       "  {0} out;\n"
                       "  __builtin_memcpy(&out, y, sizeof out);\n"
                       "  return out;\n}}\n",
                       r.vector, name, e.vector, two ? fmt::format(", {} w", e.vector) : "", r.c, lanes_, e.c,
                       two ? fmt::format(", b[{}]", lanes_) : "",
                       two ? "  __builtin_memcpy(b, &w, sizeof w);\n  asm(\"\" : \"+m\"(b));\n" : "", value);
}

GSUB_LAZY_BODY std::string typed_functions::call(loop::scalar_op op, dtype of) {
    using loop::scalar_op;
    if (exact(op) != op) return call(exact(op), of); // what is approximated is f32's
    auto const& e = detail::c_element_of(of);
    auto const name = fmt::format("{}_{}", to_string(op), e.name);
    if (!begin(name)) return name;
    auto const floats = is_floating(of);
    auto const unary = [&](std::string_view value) {
        functions_ += fmt::format("static inline {0} {1}({0} a) {{ return {2}; }}\n", e.vector, name, value);
    };
    auto const binary = [&](std::string_view value) {
        functions_ += fmt::format("static inline {0} {1}({0} a, {0} b) {{ return {2}; }}\n", e.vector, name, value);
    };
    auto const wrapping = [&](std::string_view value) { // signed sums would overflow
        binary(floats ? fmt::format("a {} b", value)
                      : fmt::format("({1})(({0})a {2} ({0})b)", e.without_sign, e.vector, value));
    };
    auto const truth = [&](std::string_view condition) {
        functions_ += fmt::format("static inline v_u8 {1}({0} a, {0} b) {{ return "
                                  "(v_u8)__builtin_convertvector({2}, v_i8) & wide((unsigned char)1); }}\n",
                                  e.vector, name, condition);
    };
    // An instruction of which the second operand counts where one is NaN or both are zeros: compilers do not find it.
    auto const extreme = [&](std::string_view builtin, std::string_view value) {
        if (of != dtype::f64 || lanes_ != 8) return binary(value);
        functions_ += fmt::format("static inline {0} {1}({0} a, {0} b) {{\n"
                                  "#if defined __AVX512F__ && defined __clang__\n"
                                  "  return ({0})__builtin_ia32_{2}pd512(b, a, 4);\n"
                                  "#elif defined __AVX512F__\n"
                                  "  return ({0})__builtin_ia32_{2}pd512_mask(b, a, a, (unsigned char)-1, 4);\n"
                                  "#else\n  return {3};\n#endif\n}}\n",
                                  e.vector, name, builtin, value);
    };
    auto const each = [&](std::string_view value) { functions_ += lanewise(of, name, of, value); };
    auto const defined = [&](std::string_view text) { functions_ += text; };
    auto const of_series = [&](std::string_view text) {
        if (begin("two_to_the")) defined(detail::two_to_the_text);
        if (begin("reduce_f64")) defined(detail::reduced_f64_text);
        defined(text);
    };
    switch (op) {
    case scalar_op::add:
        wrapping("+");
        break;
    case scalar_op::subtract:
        wrapping("-");
        break;
    case scalar_op::multiply:
        if (byte_size(of) < 4 && !floats) // promoted to int, which would overflow
            functions_ +=
                fmt::format("static inline {0} {1}({0} a, {0} b) {{ {0} y; for (int l = 0; l < {2}; ++l) y[l] "
                            "= ({3})((unsigned)a[l] * (unsigned)b[l]); return y; }}\n",
                            e.vector, name, lanes_, e.c);
        else
            wrapping("*");
        break;
    case scalar_op::divide:
        if (floats) {
            binary("a / b");
        } else {
            auto const quotient =
                info(of).is_signed
                    ? fmt::format("b[l] == -1 ? ({0})(0UL - (unsigned long)a[l]) : ({0})(a[l] / b[l])", e.c)
                    : fmt::format("({})(a[l] / b[l])", e.c);
            if (of == dtype::i32) // exact by way of f64
                functions_ += fmt::format("static inline v_i32 {}(v_i32 a, v_i32 b) {{\n"
                                          "  const v_i32 one = b == -1, none = b == 0;\n"
                                          "  const v_f64 q = __builtin_convertvector(a, v_f64) / "
                                          "__builtin_convertvector(one | none ? v_i32{{}} "
                                          "+ 1 : b, v_f64);\n"
                                          "  const v_i32 y = __builtin_convertvector(q, v_i32);\n"
                                          "  return one ? (v_i32)(v_u32{{}} - (v_u32)a) : none ? v_i32{{}} : y;\n}}\n",
                                          name);
            else
                functions_ += lanewise(of, name, of, fmt::format("b[l] == 0 ? ({})0 : {}", e.c, quotient), true);
        }
        break;
    case scalar_op::power:
        if (of == dtype::f32) {
            functions_ += lanewise(of, "each_power_f32", of, "__builtin_powf(a[l], b[l])", true);
            if (begin("two_to_the")) defined(detail::two_to_the_text);
            defined(detail::power_f32_text);
        } else {
            functions_ += lanewise(of, name, of, "__builtin_pow(a[l], b[l])", true);
        }
        break;
    case scalar_op::maximum:
        extreme("max", "a < b ? b : a");
        break;
    case scalar_op::minimum:
        extreme("min", "b < a ? b : a");
        break;
    case scalar_op::equal:
        if (of == dtype::boolean)
            truth("(a != v_u8{}) == (b != v_u8{})");
        else
            truth("a == b");
        break;
    case scalar_op::less:
        truth("a < b");
        break;
    case scalar_op::less_equal:
        truth("a <= b");
        break;
    case scalar_op::logical_and:
        truth("(a != v_u8{}) & (b != v_u8{})");
        break;
    case scalar_op::logical_or:
        truth("(a != v_u8{}) | (b != v_u8{})");
        break;
    case scalar_op::logical_xor:
        truth("(a != v_u8{}) ^ (b != v_u8{})");
        break;
    case scalar_op::logical_not:
        unary("(v_u8)(a == v_u8{}) & wide((unsigned char)1)");
        break;
    case scalar_op::select:
        functions_ +=
            fmt::format("static inline {0} {1}(v_u8 c, {0} a, {0} b) {{ return __builtin_convertvector((v_i8)(c "
                        "!= v_u8{{}}), {2}) != {2}{{}} ? a : b; }}\n",
                        e.vector, name, e.mask);
        break;
    case scalar_op::negate:
        unary(floats ? "-a" : fmt::format("({})(({}){{}} - ({})a)", e.vector, e.without_sign, e.without_sign));
        break;
    case scalar_op::absolute:
        if (floats)
            unary(fmt::format("(a < {0}{{}} ? -a : a) + {0}{{}}", e.vector));
        else if (info(of).is_signed)
            unary(fmt::format("a < {0}{{}} ? ({0})({1}{{}} - ({1})a) : a", e.vector, e.without_sign));
        else
            unary("a");
        break;
    case scalar_op::square_root:
        each("__builtin_sqrt(a[l])");
        break;
    case scalar_op::floor:
        each("__builtin_floor(a[l])");
        break;
    case scalar_op::round: // a sum with the first number of no fraction rounds
        functions_ +=
            fmt::format("static inline {0} {1}({0} a) {{ const {0} size = a < {0}{{}} ? -a : a, near = (size + "
                        "{2}) - {2}; return ({0})(({3})(size < {2} ? near : size) | (({3})a & "
                        "({3})(-{0}{{}}))); }}\n",
                        e.vector, name, of == dtype::f32 ? "0x1p23f" : "0x1p52", e.mask);
        break;
    case scalar_op::exponential:
        of_series(detail::exp_f64_text);
        break;
    case scalar_op::logarithm:
        each("__builtin_log(a[l])");
        break;
    case scalar_op::tanh:
        of_series(detail::tanh_f64_text);
        break;
    case scalar_op::erf:
        each("__builtin_erf(a[l])");
        break;
    case scalar_op::sigmoid:
        static_cast<void>(call(scalar_op::exponential, of)); // before it
        defined(detail::sigmoid_f64_text);
        break;
    case scalar_op::fast_exponential:
    case scalar_op::fast_tanh:
    case scalar_op::fast_erf:
    case scalar_op::constant:
    case scalar_op::load:
    case scalar_op::reduced:
    case scalar_op::cast:
        GSUB_ASSERT(false, "an operation of operands that is exact and no cast");
    }
    return name;
}

GSUB_LAZY_BODY std::string typed_functions::maximum_or_nan(dtype of) {
    if (!is_floating(of)) return call(loop::scalar_op::maximum, of);
    auto const& e = detail::c_element_of(of);
    auto const name = fmt::format("maximum_or_nan_{}", e.name);
    auto const larger = call(loop::scalar_op::maximum, of); // before it
    if (begin(name))
        functions_ +=
            fmt::format("static inline {0} {1}({0} a, {0} b) {{ {0} m = {2}(a, b); return b != b ? b : m; }}\n",
                        e.vector, name, larger);
    return name;
}

GSUB_LAZY_BODY std::string typed_functions::cast(dtype from, dtype to) {
    auto const &f = detail::c_element_of(from), &t = detail::c_element_of(to);
    auto const name = fmt::format("cast_{}_{}", f.name, t.name);
    if (!begin(name)) return name;
    auto const by = [&](std::string_view value) {
        functions_ += fmt::format("static inline {} {}({} a) {{ return {}; }}\n", t.vector, name, f.vector, value);
    };
    if (detail::is_half(from)) {
        if (to == dtype::f32)
            functions_ += from == dtype::f16 ? detail::f16_to_f32_text : detail::bf16_to_f32_text;
        else {
            auto const wide = cast(from, dtype::f32);
            by(fmt::format("{}({}(a))", cast(dtype::f32, to), wide));
        }
    } else if (from == dtype::boolean) {
        auto const ones = "(v_u8)(a != v_u8{}) & wide((unsigned char)1)";
        by(to == dtype::u8 ? std::string{ones} : fmt::format("{}({})", cast(dtype::u8, to), ones));
    } else if (to == dtype::boolean) {
        by(fmt::format("(v_u8)__builtin_convertvector(a != {}{{}}, v_i8) & wide((unsigned char)1)", f.vector));
    } else if (detail::is_half(to)) {
        if (from == dtype::f32) {
            functions_ += to == dtype::f16 ? detail::f32_to_f16_text : detail::f32_to_bf16_text;
        } else {
            auto const narrow = cast(dtype::f32, to);
            if (begin("odd")) functions_ += detail::odd_text;
            // Whole numbers of 16 bits are exact in f32.
            auto const odd = fmt::format("odd_{}", f.name);
            if (begin(odd))
                functions_ += lanewise(dtype::f32, odd, from, byte_size(from) < 4 ? "(float)a[l]" : "odd(a[l])");
            by(fmt::format("{}({}(a))", narrow, odd));
        }
    } else if (from == dtype::f32 && is_integer(to) && byte_size(to) == 8) {
        // By way of f64, which is exact: GCC 12 fails on the loop over lanes ("store_constructor") with AVX-512.
        auto const wide = cast(from, dtype::f64);
        by(fmt::format("{}({}(a))", cast(dtype::f64, to), wide));
    } else if (from == dtype::f32 && is_integer(to) && (byte_size(to) < 4 || to == dtype::i32)) {
        // The same on whole vectors: of f32 to as wide integers, which are cut.
        auto const digits = integer_digits(to);
        auto const low = info(to).is_signed ? fmt::format("-0x1p{}f", digits) : std::string{"0.0f"};
        auto const most = (std::uint64_t{1} << digits) - 1;
        functions_ +=
            fmt::format("static inline {0} {1}(vf a) {{\n"
                        "  const v_i32 below = a < {2}, above = a >= 0x1p{3}f, number = a == a;\n"
                        "  v_i32 y = __builtin_convertvector(number & ~below & ~above ? a : vf{{}}, v_i32);\n"
                        "  y = below ? v_i32{{}} + (int)({2}) : above ? v_i32{{}} + {4} : y;\n"
                        "  return {5};\n}}\n",
                        t.vector, name, low, digits, most,
                        to == dtype::i32 ? std::string{"y"} : fmt::format("__builtin_convertvector(y, {})", t.vector));
    } else if (is_floating(from) && is_integer(to)) { // truncates and saturates
        auto const digits = integer_digits(to);
        auto const low = info(to).is_signed ? fmt::format("-0x1p{}", digits) : std::string{"0.0"};
        auto const most = digits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << digits) - 1;
        functions_ +=
            lanewise(to, name, from,
                     fmt::format("a[l] != a[l] ? ({0})0 : a[l] < {1} ? ({0})({1}) : a[l] >= 0x1p{2} ? ({0}){3}UL : "
                                 "({0})a[l]",
                                 t.c, low, digits, most));
    } else if (is_integer(from) && byte_size(from) < 4 && to == dtype::f32) {
        // In steps to twice the width: compilers take others element by element.
        auto const words = byte_size(from) == 1 ? "__builtin_convertvector(a, v_i16)" : "a";
        by(fmt::format("__builtin_convertvector(__builtin_convertvector({}, v_i32), vf)", words));
    } else {
        by(fmt::format("__builtin_convertvector(a, {})", t.vector));
    }
    return name;
}

GSUB_LAZY_BODY std::string typed_functions::transpose(dtype of) {
    auto const& e = detail::c_element_of(of);
    auto name = fmt::format("transpose_{}", e.name);
    if (!begin(name)) return name;
    std::string calls;
    for (std::int32_t half = 1; half < lanes_; half *= 2) {
        std::string first, second; // columns of a and, behind them, of b
        for (std::int32_t l = 0; l < lanes_; ++l) {
            auto const low = (l & half) == 0;
            first += fmt::format(", {}", low ? l : lanes_ + l - half);
            second += fmt::format(", {}", low ? l + half : lanes_ + l);
        }
        functions_ += fmt::format("static inline __attribute__((always_inline)) void {0}_{1}({2}& a, {2}& b) {{ const "
                                  "{2} x = __builtin_shufflevector(a, b{3}); b = __builtin_shufflevector(a, b{4}); a = "
                                  "x; }}\n",
                                  name, half, e.vector, first, second);
        for (std::int32_t l = 0; l < lanes_; ++l)
            if ((l & half) == 0) calls += fmt::format("  {}_{}(r[{}], r[{}]);\n", name, half, l, l + half);
    }
    functions_ +=
        fmt::format("static inline __attribute__((always_inline)) void {}({}* r) {{\n{}}}\n", name, e.vector, calls);
    return name;
}

GSUB_LAZY_BODY void typed_functions::choices() {
    if (!begin("choices")) return;
    functions_ += R"(static inline long entry_of(long k, long n, int* status, int) {
  if (k >= -n && k < n) return k < 0 ? k + n : k;
  __atomic_store_n(status, 1, __ATOMIC_RELAXED);
  return 0;
}
template <class V, class E = decltype(V{}[0])> static inline v_i64 entry_of(V k, long n, int* status, int lanes) {
  v_i64 out = {};
  for (int i = 0; i < lanes; ++i) out[i] = entry_of((long)k[i], n, status, 0);
  return out;
}
template <class V, class S> static inline V gathered(const S* p, v_i64 at, long entry, long s, int n) {
  V v = {};
  for (int i = 0; i < n; ++i) v[i] = p[at[i] * entry + i * s];
  return v;
}
)";
}

GSUB_LAZY_BODY std::string typed_functions::text() const {
    std::string out;
    for (auto const& e : detail::c_elements) {
        if (e.type == dtype::f32 || detail::is_half(e.type) || e.type == dtype::boolean) continue;
        auto const bytes = static_cast<std::int32_t>(byte_size(e.type));
        out += fmt::format("typedef {0} {1} __attribute__((vector_size({2})));\n"
                           "typedef {0} {3} __attribute__((vector_size({2}), aligned({4}), may_alias));\n"
                           "static inline {1} wide({0} s) {{ return s - {1}{{}}; }}\n"
                           "static inline {1} wide({1} v) {{ return v; }}\n",
                           e.c, e.vector, bytes * lanes_, e.unaligned, bytes);
    }
    if (lanes_ == 16) out += "#ifdef __AVX512F__\n#define GSUB_HALF_VECTORS\n#endif\n";
    out +=
        "template <class V, class S> static inline V part_of(const S* p, int n) { V v = {}; for (int i = 0; i < n; "
        "++i) "
        "v[i] = p[i]; return v; }\n"
        "template <class V, class S> static inline V strided_of(const S* p, long s, int n) { V v = {}; for (int i = 0; "
        "i < n; ++i) v[i] = p[i * s]; return v; }\n"
        "template <class V, class S> static inline void keep_of(S* p, V v, int n) { for (int i = 0; i < n; ++i) p[i] = "
        "v[i]; }\n"
        "template <class V> static inline V first_of(V a, V b, int n) { for (int i = 0; i < n; ++i) b[i] = a[i]; "
        "return "
        "b; }\n";
    return out + functions_;
}

} // namespace gsub::codegen
