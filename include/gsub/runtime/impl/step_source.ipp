// Texts of steps: C++ that needs nothing of gsub, with numbers of the graph, but no names.
#pragma once

#include <gsub/core/message.hpp>
#include <gsub/runtime/program.hpp>

#include <fmt/format.h>

namespace gsub::runtime::detail {

// A function like a kernel's, with others before it.
GSUB_LAZY step_source source_of_step(std::string_view body, std::int64_t positions, std::string_view before = {}) {
    return {{message({before, "extern \"C\" void gsub_step(void* const* b, long begin, long end) {\n", body, "}\n"}),
             "gsub_step",
             {}},
            positions};
}

// Many bytes a few times are cut, so that threads can share them.
GSUB_LAZY step_source source_of_copy(copy_call const& c) {
    constexpr std::int64_t enough = 64; // positions
    auto const parts = c.times < enough && 2 * c.bytes() >= bytes_worth_threads ? enough : std::int64_t{1};
    auto text =
        fmt::format("  for (long at = begin; at < end; ++at) {{\n    const long t = at / {0}, k = at % {0};\n", parts);
    for (auto const& m : c.moves) {
        if (m.size == 0) continue;
        auto const first = parts == 1 ? std::string{"0L"} : fmt::format("{}L * k / {}", m.size, parts);
        auto const size =
            parts == 1 ? fmt::format("{}L", m.size) : fmt::format("{}L * (k + 1) / {} - {}", m.size, parts, first);
        text += fmt::format(
            "    __builtin_memcpy((char*)b[{}] + {}L + t * {}L + {}, (const char*)b[{}] + {}L + t * {}L + {}, {});\n",
            m.to, m.to_at, m.to_step, first, m.from, m.from_at, m.from_step, first, size);
    }
    return source_of_step(text + "  }\n", c.times * parts);
}

// The type that elements are stored as.
GSUB_LAZY std::string_view c_type(dtype t) {
    switch (t) {
    case dtype::f64:
        return "double";
    case dtype::f32:
        return "float";
    case dtype::i64:
        return "long";
    case dtype::i32:
        return "int";
    case dtype::i16:
        return "short";
    case dtype::i8:
        return "signed char";
    case dtype::u64:
        return "unsigned long";
    case dtype::u32:
        return "unsigned int";
    case dtype::u8:
    case dtype::boolean:
        return "unsigned char";
    default: // also bits of 16-bit floats
        return "unsigned short";
    }
}
} // namespace gsub::runtime::detail
