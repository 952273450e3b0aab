#pragma once

#include <gsub/codegen/impl/c_names.hpp>
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

GSUB_LAZY_BODY std::string long_literal(std::int64_t v) {
    return format_text("{}L", v);
}

GSUB_LAZY_BODY std::string text_of(affine const& a, c_integer const& as) {
    std::string out;
    for (auto const& t : a.terms())
        out += format_text("{}{}{}", out.empty() ? "" : " + ", name_of_variable(t.of),
                           t.factor == 1 ? "" : format_text(" * {}{}", t.factor, as.suffix));
    if (a.constant() != 0 || out.empty())
        out += format_text("{}{}{}{}{}", out.empty() ? "" : " + ", a.constant() < 0 ? "(" : "", a.constant(), as.suffix,
                           a.constant() < 0 ? ")" : "");
    return out;
}

GSUB_LAZY_BODY std::string text_of(std::vector<loop::bound> const& bounds, c_integer const& as) {
    std::string all;
    for (auto const& c : bounds)
        all += format_text("{}({})({}) < {}{}", all.empty() ? "" : " && ", as.without_sign, text_of(c.value, as),
                           c.extent, as.unsigned_suffix);
    return all;
}

GSUB_LAZY_BODY std::string text_of(limit const& l, c_integer const& as) {
    auto const value = text_of(l.value, as);
    if (l.divisor == 1) return value;
    // ceil for values of either sign: the truncation of a negative quotient is its ceiling
    return format_text("(({0}) > 0 ? (({0}) + {1}{3}) / {2}{3} : ({0}) / {2}{3})", value, l.divisor - 1, l.divisor,
                       as.suffix);
}

} // namespace gsub::codegen::detail
