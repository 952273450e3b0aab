#pragma once

#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/core/format.hpp>

namespace gsub::codegen::detail {

GSUB_LAZY_BODY std::string wide(instruction const& i, int number) {
    return format_text("wide({})", operand(i, number));
}
GSUB_LAZY_BODY void define(indented_text& text, reg r, std::string_view value) {
    text.line(format_text("const auto {} = {};", name_of_register(r), value));
}

GSUB_LAZY_BODY std::string rotated_lanes(std::int32_t lanes, std::int32_t by) {
    std::string order;
    for (std::int32_t l = 0; l < lanes; ++l) order += format_text("{}{}", l ? ", " : "", (l + by) % lanes);
    return order;
}

} // namespace gsub::codegen::detail
