#pragma once

#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/codegen/cpp/impl/cpp_prelude.hpp>
#include <gsub/codegen/cpp/vector_math.hpp>
#include <gsub/codegen/impl/indented_text.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace gsub::codegen::detail {

template <class = void>
class prelude_writer {
public:
    explicit prelude_writer(kernel const& k) : k_(k), width_(k.lanes * 4) {}

    std::string run() {
        if (k_.lanes == 4) keep_registers();
        types();
        extremes();
        parts();
        if (uses([](auto& i) { return i.op == opcode::reduce; })) reductions();
        with_mask("static inline void keep(float* p, vf v, int n) {",
                  "  if (n == 1) *p = v[0]; else __builtin_ia32_storeups512_mask(p, v, (unsigned short)((1u << n) - "
                  "1));",
                  "  for (int i = 0; i < n; ++i) p[i] = v[i];");
        return text_.take() + vector_math_text(k_.lanes, as_span(functions()));
    }

private:
    void types() {
        text_.line(format_text("typedef float vf __attribute__((vector_size({})));", width_));
        text_.line(format_text("typedef float uf __attribute__((vector_size({}), aligned(4), may_alias));", width_));
        // A scalar less zero is itself, signed zeros and NaN included.
        text_.line("static inline vf wide(float s) { return s - vf{}; }");
        text_.line("static inline vf wide(vf v) { return v; }");
        if (k_.lanes == 4 && uses([](auto& i) { return i.op == opcode::broadcast; })) lane_operands();
    }

    // GCC for AArch64 reads what follows ahead of its use, and puts accumulators in each other's place: both take more
    // registers than there are.
    void keep_registers() {
        text_.line("#if defined __aarch64__ && !defined __clang__");
        text_.line("#pragma GCC optimize(\"no-schedule-insns\", \"no-tree-coalesce-vars\")");
        text_.line("#endif");
    }

    // Elements that follow each other, each for all lanes: lanes of a vector where products take them.
    void lane_operands() {
        text_.line("#ifdef __aarch64__");
        text_.line("#define lanes_of_4(q, at) const vf q = (vf)*(const uf*)(at);");
        text_.line("#define lane_of_4(q, lane, at) q[lane]");
        text_.line("#else");
        text_.line("#define lanes_of_4(q, at)");
        text_.line("#define lane_of_4(q, lane, at) *(at)");
        text_.line("#endif");
    }

    // A function with one body for AVX-512, where vectors are as wide, and another one.
    void with_mask(std::string_view head, std::string_view masked, std::string_view otherwise) {
        text_.line(head);
        if (width_ == 64) {
            text_.line("#ifdef __AVX512F__");
            text_.line(masked);
            text_.line("#else");
        }
        text_.line(otherwise);
        if (width_ == 64) text_.line("#endif");
        text_.line("}");
    }

    void extremes() {
        auto const extreme = [&](std::string_view function, std::string_view builtin, std::string_view otherwise) {
            with_mask(format_text("static inline vf {}(vf a, vf b) {{", function),
                      format_text("#ifdef __clang__\n  return (vf)__builtin_ia32_{}ps512(b, a, 4);\n#else\n  return "
                                  "(vf)__builtin_ia32_{}ps512_mask(b, a, a, (unsigned short)-1, 4);\n#endif",
                                  builtin, builtin),
                      otherwise);
        };
        extreme("vmax", "max", "  return a < b ? b : a;");
        extreme("vmin", "min", "  return b < a ? b : a;");
        text_.line("static inline vf vmaxnan(vf a, vf b) { vf m = vmax(a, b); return b != b ? b : m; }");
    }

    // Vectors with less than all lanes, or whose lanes do not stand one after another.
    void parts() {
        with_mask("static inline vf part(const float* p, int n) {",
                  "  return (vf)__builtin_ia32_loadups512_mask(p, vf{}, (unsigned short)((1u << n) - 1));",
                  "  vf v = {}; for (int i = 0; i < n; ++i) v[i] = p[i]; return v;");
        if (uses([](auto& i) { return i.stride != 1; }))
            text_.line("static inline vf strided(const float* p, long s, int n) { vf v = {}; for (int i = 0; i < n; "
                       "++i) v[i] = p[i * s]; return v; }");
        auto const is_step = [](opcode op) { return op == opcode::multiply_add || op == opcode::accumulate; };
        if (uses([&](auto& i) { return is_step(i.op) && i.lanes != k_.lanes; }))
            with_mask("static inline vf first(vf a, vf b, int n) {",
                      "  return (vf)__builtin_ia32_blendmps_512_mask(b, a, (unsigned short)((1u << n) - 1));",
                      "  for (int i = 0; i < n; ++i) b[i] = a[i]; return b;");
    }

    void reductions() {
        std::string add, max;
        for (auto half = k_.lanes / 2; half > 0; half /= 2) {
            auto const order = rotated_lanes(k_.lanes, half);
            add += format_text(" v += __builtin_shufflevector(v, v, {});", order);
            max += format_text(" o = __builtin_shufflevector(v, v, {}); v = o > v ? o : v;", order);
        }
        text_.line(format_text("static inline float sum_of(vf v) {{{} return v[0]; }}", add));
        // As integers of that order, NaN the greatest: their maximum is one instruction.
        text_.line(format_text("typedef int max_bits __attribute__((vector_size({})));", width_));
        text_.line(format_text(
            "static inline float max_of(vf x) {{ max_bits v = (max_bits)x, o; v ^= (v >> 31) & 0x7fffffff; v = x "
            "!= x ? max_bits{{}} + 0x7fc00000 : v;{} v ^= (v >> 31) & 0x7fffffff; return ((vf)v)[0]; }}",
            max));
    }

    // Operations on f32 that have a function.
    std::vector<loop::scalar_op> functions() const {
        std::vector<loop::scalar_op> used;
        uses([&](auto& i) {
            auto const computes = i.op == opcode::compute && i.type == dtype::f32;
            if (computes && !vector_function(i.function).empty()) used.push_back(i.function);
            return false;
        });
        return used;
    }
    bool uses(function_ref<bool(instruction const&)> what) const {
        auto const of_body = uses(k_.body, what); // both are visited
        return uses(k_.fallback, what) || of_body;
    }
    static bool uses(std::vector<statement> const& statements, function_ref<bool(instruction const&)> what) {
        return std::any_of(statements.begin(), statements.end(), [&](auto& n) {
            return std::any_of(n.code.begin(), n.code.end(), what) || uses(n.body, what) || uses(n.otherwise, what);
        });
    }

    kernel const& k_;
    std::int32_t width_; // of a vector of f32, in bytes
    indented_text text_;
};

GSUB_LAZY_BODY std::string cpp_prelude(kernel const& k) {
    return prelude_writer{k}.run();
}

} // namespace gsub::codegen::detail
