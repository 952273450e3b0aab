// Extern calls: how an exported model calls a function of the application.
#pragma once

#include <gsub/aot/impl/literal.ipp>
#include <gsub/core/format.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gsub::aot::detail {

// The types of gsub/runtime/extern_kernel.h, member by member: the function has been compiled with that file.
inline constexpr char const* extern_types = R"text(#include <stddef.h>
#include <stdint.h>
namespace types {
struct array { void* data; const int64_t* dims; int32_t rank, dtype; int64_t elements; };
struct string { const char* data; size_t size; };
struct attribute { const char* name; int32_t kind; size_t count; const int64_t* integers; const double* reals; const string* texts; };
struct call {
    const array* operands; size_t operand_count;
    const array* results; size_t result_count;
    const attribute* attributes; size_t attribute_count;
    const void* typed; void* user; char* message;
    void (*parallel_for)(const call*, size_t, void (*)(void*, size_t), void*);
    size_t concurrency; void* threads;
};
struct failure { int status, function; char message[512]; };
inline void one_by_one(const call*, size_t count, void (*body)(void*, size_t), void* argument) {
    for (size_t i = 0; i < count; ++i) body(argument, i);
}
)text";

// A name that C takes, but for its own words.
GSUB_LAZY [[nodiscard]] bool is_symbol(std::string_view text) {
    return !text.empty() && text.size() <= 256 && !(text[0] >= '0' && text[0] <= '9') &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
           });
}

// Each element's text, separated by commas, and a zero where there is none.
template <class Range, class F>
[[nodiscard]] std::string listed(Range const& range, F&& text) {
    std::string out;
    for (auto const& e : range) out += format_text("{}{}", out.empty() ? "" : ", ", text(e));
    return out.empty() ? "0" : out;
}

// A call as a text that is called as kernels are; its last value is the `failed` of the context (text_runner.ipp),
// whose members `failure` repeats.
GSUB_LAZY [[nodiscard]] runtime::kernel_source text_of(runtime::user_op const& step) {
    GSUB_ASSERT(is_symbol(step.symbol()), "a function that is called has a name");
    auto const arrays = step.arrays();
    auto const operands = step.operand_count();
    auto const integer = [](std::int64_t i) { return c_literal(i); };
    std::string tables, rows;
    std::size_t values = 0;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        auto const& a = arrays[i];
        auto const dims = std::span{a.dims, static_cast<std::size_t>(a.rank)};
        auto const given = a.dtype != GSUB_UNDEFINED;
        if (given) tables += format_text("const int64_t dims_{}[] = {{{}}};\n", i, listed(dims, integer));
        rows += given ? format_text("    {{b[{}], dims_{}, {}, {}, {}L}},\n", values++, i, a.rank, a.dtype, a.elements)
                      : std::string{"    {},\n"};
    }
    std::string attributes;
    for (std::size_t i = 0; i < step.attributes().size(); ++i) {
        auto const& a = step.attributes()[i];
        auto const has = [&](auto const* list, char const* type, char const* name, auto&& text) {
            if (!list) return std::string{"nullptr"};
            tables +=
                format_text("const {} {}_{}[] = {{{}}};\n", type, name, i, listed(std::span{list, a.count}, text));
            return format_text("{}_{}", name, i);
        };
        auto const integers = has(a.integers, "int64_t", "integers", integer);
        auto const reals = has(a.reals, "double", "reals", [](double d) { return c_literal(d); });
        auto const texts = has(a.texts, "string", "texts", [](gsub_text const& t) {
            return format_text("{{{}, {}}}", c_literal(std::string_view{t.data, t.size}), t.size);
        });
        attributes += format_text("    {{{}, {}, {}, {}, {}, {}}},\n", c_literal(std::string_view{a.name}), a.kind,
                                  a.count, integers, reals, texts);
    }
    auto text = format_text("{}{}const attribute attributes[] = {{\n{}    {{}}}};\n}}\nusing namespace types;\n",
                            extern_types, tables, attributes);
    text += format_text(
        R"(extern "C" int {0}(const call*);
extern "C" void gsub_step(void* const* b, long, long) {{
  const array arrays[] = {{
{1}  }};
  failure* const failed = (failure*)b[{2}];
  const call c = {{arrays, {3}, arrays + {3}, {4}, attributes, {5}, nullptr, nullptr, failed->message, one_by_one, 1, nullptr}};
  failed->function = {0}(&c);
  failed->message[sizeof failed->message - 1] = 0;
}}
)",
        step.symbol(), rows, values, operands, arrays.size() - operands, step.attributes().size());
    return {std::move(text), "gsub_step", {}};
}

} // namespace gsub::aot::detail
