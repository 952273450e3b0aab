// Texts of steps: C++ that needs nothing of gsub, with numbers of the graph, but no names.
#pragma once

#include <gsub/core/message.hpp>
#include <gsub/runtime/program.hpp>

namespace gsub::runtime::detail {

// A function like a kernel's, with others before it.
GSUB_LAZY step_source source_of_step(std::string_view body, std::int64_t positions, std::string_view before = {}) {
    return {{message({before, "extern \"C\" void gsub_step(void* const* b, long begin, long end) {\n", body, "}\n"}),
             "gsub_step",
             {}},
            positions};
}

GSUB_LAZY step_source source_of_copy(copy_call const& c) {
    std::string text = "  for (long t = begin; t < end; ++t) {\n";
    for (auto const& m : c.moves)
        if (m.size > 0)
            text += message({"    __builtin_memcpy((char*)b[", m.to, "] + ", m.to_at, "L + t * ", m.to_step,
                             "L, (const char*)b[", m.from, "] + ", m.from_at, "L + t * ", m.from_step, "L, ", m.size,
                             "UL);\n"});
    return source_of_step(text + "  }\n", c.times);
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
    case dtype::u8:
    case dtype::boolean:
        return "unsigned char";
    default: // bits of 16-bit floats
        return "unsigned short";
    }
}
// Elements that are moved only.
GSUB_LAZY std::string item_type(dtype t) {
    auto const size = byte_size(t);
    return message({"  typedef unsigned ",
                    size == 1   ? "char"
                    : size == 2 ? "short"
                    : size == 4 ? "int"
                                : "long",
                    " item __attribute__((may_alias));\n"});
}

// As `make_gather_step` has it; `b[3]` becomes 1 where an index is out of range.
GSUB_LAZY step_source source_of_gather(std::size_t outer, std::int64_t size, std::size_t inner, std::size_t count,
                                       dtype integers) {
    auto out = source_of_step(message({"  const long size = ", size, ", inner = ", inner, ", count = ", count,
                                       ";\n  const ", c_type(integers), "* chosen = (const ", c_type(integers),
                                       "*)b[1];\n", R"(  for (long at = begin; at < end; ++at) {
    long k = chosen[at % count];
    if (k < -size || k >= size) {
      __atomic_store_n((int*)b[3], 1, __ATOMIC_RELAXED);
      return;
    }
    if (k < 0) k += size;
    __builtin_memcpy((char*)b[2] + at * inner, (const char*)b[0] + (at / count * size + k) * inner, inner);
  }
)"}),
                              static_cast<std::int64_t>(outer * count));
    out.checks = true;
    return out;
}

} // namespace gsub::runtime::detail
