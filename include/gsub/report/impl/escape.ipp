#pragma once

#include <gsub/report/escape.hpp>

namespace gsub::report {

namespace detail {

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

// Control characters, those that turn the direction of writing, and the two that XML excludes.
[[nodiscard]] inline bool is_hidden(std::string_view c) noexcept {
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(c[i]); };
    switch (c.size()) {
    case 1:
        return byte(0) < 0x20 || byte(0) == 0x7f;
    case 2:
        return byte(0) == 0xc2 && byte(1) < 0xa0;
    case 3:
        return (byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) >= 0xaa || (byte(2) & 0xfeu) == 0x8e)) ||
               (byte(0) == 0xe2 && byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9) ||
               (byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe);
    default:
        return false;
    }
}

} // namespace detail

GSUB_LAZY_BODY std::string xml_text(std::string_view text, std::size_t most) {
    std::string out;
    for (std::size_t characters = 0; !text.empty(); ++characters) {
        if (characters == most) return out + "\xe2\x80\xa6";
        auto const length = utf8_length(text);
        auto const c = text.substr(0, length == 0 ? 1 : length);
        text.remove_prefix(c.size());
        if (length == 0 || detail::is_hidden(c))
            out += detail::replacement_character;
        else if (c == "&")
            out += "&amp;";
        else if (c == "<")
            out += "&lt;";
        else if (c == ">")
            out += "&gt;";
        else if (c == "\"")
            out += "&quot;";
        else if (c == "'")
            out += "&#39;";
        else
            out += c;
    }
    return out;
}

GSUB_LAZY_BODY std::string json_text(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        auto const length = utf8_length(text);
        auto const c = text.substr(0, length == 0 ? 1 : length);
        text.remove_prefix(c.size());
        auto const code = static_cast<unsigned char>(c[0]);
        if (length == 0)
            out += detail::replacement_character;
        else if (c == "\"" || c == "\\")
            (out += '\\') += c;
        else if (code < 0x20 || code == 0x7f)
            ((out += "\\u00") += "0123456789abcdef"[code >> 4]) += "0123456789abcdef"[code & 15];
        else
            out += c;
    }
    return out + '"';
}

} // namespace gsub::report
