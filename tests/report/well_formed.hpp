// A small checker of XML, for what pictures and pages must be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace well_formed {

/// What is wrong with a text as XML, empty where it is well-formed: tags nest, attributes are quoted, entities are the
/// five known ones or numbers, no control characters.
inline std::string problem_of(std::string_view text) {
    std::vector<std::string> open;
    std::size_t roots = 0;
    for (std::size_t i = 0; i < text.size();) {
        auto const c = static_cast<unsigned char>(text[i]);
        if (c < 32 && c != '\n') return "a control character";
        if (c == '&') {
            auto const end = text.find(';', i);
            auto const name = end == text.npos ? std::string_view{} : text.substr(i + 1, end - i - 1);
            if (name != "amp" && name != "lt" && name != "gt" && name != "quot" && !name.starts_with("#"))
                return "a bare ampersand";
            i = end;
        } else if (c == '<') {
            if (text.substr(i).starts_with("<!DOCTYPE")) {
                i = text.find('>', i) + 1;
                continue;
            }
            auto const closing = text.substr(i).starts_with("</");
            auto at = i + 1 + closing;
            auto const begin = at;
            while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0)) ++at;
            std::string const name{text.substr(begin, at - begin)};
            if (name.empty()) return "a bare < at " + std::string{text.substr(i, 20)};
            auto quoted = false;
            for (; at < text.size() && (quoted || text[at] != '>'); ++at) {
                if (text[at] == '<') return "a < inside of " + name;
                if (text[at] == '"') quoted = !quoted;
                if (text[at] == '=' && !quoted && text[at + 1] != '"') return "an unquoted attribute of " + name;
            }
            if (at == text.size()) return name + " does not end";
            if (closing) {
                if (open.empty() || open.back() != name) return name + " is closed out of turn";
                open.pop_back();
            } else if (text[at - 1] != '/') {
                if (open.empty() && ++roots > 1) return "a second root";
                open.push_back(name);
            }
            i = at;
        }
        ++i;
    }
    return open.empty() ? "" : open.back() + " stays open";
}

inline std::size_t count(std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

/// Names that try to break out of their place.
inline std::vector<std::string> hostile_names() {
    return {"</text><script>alert(1)</script>",
            "\" onload=\"alert(1)",
            "]]>",
            "a & b",
            "<!--",
            "'",
            "\xff\xfe broken",
            std::string{"nul\0byte", 8},
            "\xed\xa0\x80",
            "\xe2\x80\xae reversed",
            "two\nlines",
            std::string(500, '<'),
            "</style>",
            "\xef\xbf\xbf",
            "\xc2\x85"};
}

} // namespace well_formed
