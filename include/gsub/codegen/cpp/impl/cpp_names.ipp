#pragma once

#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/core/format.hpp>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY std::string name_of_variable(variable v) {
    return format_text("i{}", v);
}
GSUB_LAZY_BODY std::string name_of_register(reg r) {
    return std::to_string(r).insert(0, 1, 'r'); // by far the most frequent text
}
GSUB_LAZY_BODY std::string operand(instruction const& i, int number) {
    return name_of_register(i.operands[number]);
}
GSUB_LAZY_BODY std::string wide(instruction const& i, int number) {
    return format_text("wide({})", operand(i, number));
}
GSUB_LAZY_BODY void define(indented_text& text, reg r, std::string_view value) {
    text.line(format_text("const auto {} = {};", name_of_register(r), value));
}

GSUB_LAZY_BODY std::string long_literal(std::int64_t v) {
    return format_text("{}L", v);
}

GSUB_LAZY_BODY std::string text_of(affine const& a) {
    std::string out;
    for (auto const& t : a.terms())
        out += format_text("{}{}{}", out.empty() ? "" : " + ", name_of_variable(t.of),
                           t.factor == 1 ? "" : format_text(" * {}", long_literal(t.factor)));
    if (a.constant() != 0 || out.empty())
        out += format_text("{}{}{}{}", out.empty() ? "" : " + ", a.constant() < 0 ? "(" : "",
                           long_literal(a.constant()), a.constant() < 0 ? ")" : "");
    return out;
}

GSUB_LAZY_BODY std::string text_of(std::vector<loop::bound> const& bounds) {
    std::string all;
    for (auto const& c : bounds)
        all += format_text("{}(unsigned long)({}) < {}UL", all.empty() ? "" : " && ", text_of(c.value), c.extent);
    return all;
}

GSUB_LAZY_BODY std::string text_of(limit const& l) {
    auto const value = text_of(l.value);
    if (l.divisor == 1) return value;
    // ceil for values of either sign: the truncation of a negative quotient is its ceiling
    return format_text("(({}) > 0 ? (({}) + {}) / {} : ({}) / {})", value, value, long_literal(l.divisor - 1),
                       long_literal(l.divisor), value, long_literal(l.divisor));
}

GSUB_LAZY_BODY std::string rotated_lanes(std::int32_t lanes, std::int32_t by) {
    std::string order;
    for (std::int32_t l = 0; l < lanes; ++l) order += format_text("{}{}", l ? ", " : "", (l + by) % lanes);
    return order;
}

} // namespace gsub::codegen::detail
