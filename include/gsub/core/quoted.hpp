// Quoting of untrusted names: escaped between quotes, or made printable.
#pragma once

#include <string>
#include <string_view>

namespace gsub {

namespace detail {

inline void append_printable(std::string& out, char c) {
    auto const code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127)
        out += {'\\', 'x', "0123456789abcdef"[code >> 4], "0123456789abcdef"[code & 15]};
    else
        out += c;
}

} // namespace detail

/// Quotes a text: double quotes around it, with quotes, backslashes and control characters escaped.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        detail::append_printable(out, c);
    }
    return out + '"';
}

/// Escapes a text for a terminal: control characters other than the end of a line, because names come from models.
[[nodiscard]] inline std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (char c : text)
        if (c == '\n')
            out += c;
        else
            detail::append_printable(out, c);
    return out;
}

/// Quoted name that comes from a model; quotes, backslashes and control characters are escaped. Its formatter
/// (`core/format.hpp`) knows no other form.
struct quoted {
    std::string_view text;
};
[[nodiscard]] inline std::string to_string(quoted const& q) {
    return in_quotes(q.text);
}

} // namespace gsub
