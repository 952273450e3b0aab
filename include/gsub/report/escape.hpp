// Escaping of untrusted texts for XML, HTML and JSON: a name stays a name, whatever it contains.
#pragma once

#include <gsub/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace gsub::report {

/// Length in bytes of the UTF-8 character that a text begins with; 0 where it is empty or begins with none. Overlong
/// forms, surrogates and what lies beyond U+10FFFF are no characters. *Source* The Unicode Standard, table 3-7.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
    if (text.empty()) return 0;
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const lead = byte(0);
    if (lead < 0x80) return 1;
    std::size_t const length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0u) != 0x80u) return 0;
    auto const second = byte(1);
    auto const bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
    return bad ? 0 : length;
}

/// Escapes a text as content or quoted attribute of XML and HTML, cut after `most` characters with an ellipsis. The
/// five characters of markup become entities; invalid bytes, control characters and bidirectional controls become
/// U+FFFD.
GSUB_LAZY [[nodiscard]] std::string xml_text(std::string_view text, std::size_t most = static_cast<std::size_t>(-1));
/// Escapes a text as a JSON string, with its quotes; invalid bytes become U+FFFD.
GSUB_LAZY [[nodiscard]] std::string json_text(std::string_view text);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/escape.ipp>
#endif
