// C literals: texts and numbers as source.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/format.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gsub::aot::detail {

// Any bytes as a literal of C: what is not plain becomes octal digits, always three.
GSUB_LAZY std::string c_literal(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        auto const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view{" _.,:;/+-()[]{}=<>"}.find(c) != std::string_view::npos;
        auto const code = static_cast<unsigned char>(c);
        if (plain)
            out += c;
        else
            out += {'\\', static_cast<char>('0' + (code >> 6)), static_cast<char>('0' + (code >> 3 & 7)),
                    static_cast<char>('0' + (code & 7))};
    }
    return out + '"';
}

GSUB_LAZY std::string c_literal(std::int64_t i) {
    return i == std::numeric_limits<std::int64_t>::min() ? format_text("({}L - 1)", i + 1) : format_text("{}L", i);
}
GSUB_LAZY std::string c_literal(double d) {
    if (std::isnan(d)) return "__builtin_nan(\"\")";
    if (std::isinf(d)) return d > 0 ? "__builtin_inf()" : "-__builtin_inf()";
    return format_text("{:a}", d);
}

} // namespace gsub::aot::detail
