#pragma once

#include <gsub/codegen/cpp/impl/cast_writer.ipp>
#include <gsub/codegen/cpp/impl/operation_writer.ipp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/c_element.hpp>
#include <gsub/core/format.hpp>

#include <cmath>
#include <limits>

namespace gsub::codegen {

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
        return format_text("(unsigned short){}", float16{static_cast<float>(real)}.bits);
    case dtype::bf16:
        return format_text("(unsigned short){}", bfloat16{static_cast<float>(real)}.bits);
    case dtype::f32:
    case dtype::f64: {
        auto const single = t == dtype::f32;
        auto const v = single ? static_cast<double>(static_cast<float>(real)) : real;
        auto const builtin = single ? "f" : "";
        if (v != v) return format_text("__builtin_nan{}(\"\")", builtin);
        if (std::isinf(v)) return format_text("{}__builtin_inf{}()", v < 0 ? "-" : "", builtin);
        auto text = format_text("{}", v);
        if (text.find_first_of(".e") == std::string::npos) text += ".0"; // no integer: it would lose the sign of zero
        return format_text("({}){}", c_type(t), text);
    }
    case dtype::u64:
        return format_text("{}UL", static_cast<std::uint64_t>(integer));
    default:
        if (integer == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807L - 1)";
        return format_text("({}){}L", c_type(t), integer);
    }
}

GSUB_LAZY_BODY bool typed_functions::begin(std::string const& name) {
    if (names_.find(format_text(" {} ", name)) != std::string::npos) return false;
    names_ += name + " ";
    return true;
}

// A function of vectors, computed one lane after another: in memory, since a call in between would store and load whole
// vectors for each lane. GCC must not see that the second is a constant: it makes roots of powers, wrong for -inf.
GSUB_LAZY_BODY std::string typed_functions::lanewise(dtype result, std::string_view name, dtype of,
                                                     std::string_view value, bool two) const {
    auto const &r = detail::c_element_of(result), &e = detail::c_element_of(of);
    return format_text("static inline {0} {1}({2} v{3}) {{\n"
                       "  {4} y[{5}]; {6} a[{5}]{7};\n"
                       "  __builtin_memcpy(a, &v, sizeof v);\n{8}"
                       "  for (int l = 0; l < {5}; ++l) y[l] = {9};\n"
                       "  {0} out;\n"
                       "  __builtin_memcpy(&out, y, sizeof out);\n"
                       "  return out;\n}}\n",
                       r.vector, name, e.vector, two ? format_text(", {} w", e.vector) : "", r.c, lanes_, e.c,
                       two ? format_text(", b[{}]", lanes_) : "",
                       two ? "  __builtin_memcpy(b, &w, sizeof w);\n  asm(\"\" : \"+m\"(b));\n" : "", value);
}

GSUB_LAZY_BODY std::string typed_functions::call(loop::scalar_op op, dtype of) {
    auto const computed = exact(op); // what is approximated is f32's
    auto name = format_text("{}_{}", to_string(computed), detail::c_element_of(of).name);
    if (begin(name)) detail::operation_writer{*this, of, name}.write(computed);
    return name;
}

GSUB_LAZY_BODY std::string typed_functions::maximum_or_nan(dtype of) {
    if (!is_floating(of)) return call(loop::scalar_op::maximum, of);
    auto const& e = detail::c_element_of(of);
    auto const name = format_text("maximum_or_nan_{}", e.name);
    auto const larger = call(loop::scalar_op::maximum, of); // before it
    if (begin(name))
        functions_ +=
            format_text("static inline {0} {1}({0} a, {0} b) {{ {0} m = {2}(a, b); return b != b ? b : m; }}\n",
                        e.vector, name, larger);
    return name;
}

GSUB_LAZY_BODY std::string typed_functions::cast(dtype from, dtype to) {
    auto name = format_text("cast_{}_{}", detail::c_element_of(from).name, detail::c_element_of(to).name);
    if (begin(name)) detail::cast_writer{*this, from, to, name}.write();
    return name;
}

GSUB_LAZY_BODY std::string typed_functions::transpose(dtype of) {
    auto const& e = detail::c_element_of(of);
    auto name = format_text("transpose_{}", e.name);
    if (!begin(name)) return name;
    std::string calls;
    for (std::int32_t half = 1; half < lanes_; half *= 2) {
        std::string first, second; // columns of a and, behind them, of b
        for (std::int32_t l = 0; l < lanes_; ++l) {
            auto const low = (l & half) == 0;
            first += format_text(", {}", low ? l : lanes_ + l - half);
            second += format_text(", {}", low ? l + half : lanes_ + l);
        }
        functions_ += format_text("static inline __attribute__((always_inline)) void {0}_{1}({2}& a, {2}& b) {{ const "
                                  "{2} x = __builtin_shufflevector(a, b{3}); b = __builtin_shufflevector(a, b{4}); a = "
                                  "x; }}\n",
                                  name, half, e.vector, first, second);
        for (std::int32_t l = 0; l < lanes_; ++l)
            if ((l & half) == 0) calls += format_text("  {}_{}(r[{}], r[{}]);\n", name, half, l, l + half);
    }
    functions_ +=
        format_text("static inline __attribute__((always_inline)) void {}({}* r) {{\n{}}}\n", name, e.vector, calls);
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
        out += format_text("typedef {0} {1} __attribute__((vector_size({2})));\n"
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
