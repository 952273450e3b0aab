#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/format.hpp>
#include <gsub/report/table.hpp>

#include <algorithm>

namespace gsub::report {

namespace detail {

// Characters as a terminal counts them: every byte of UTF-8 but continuation bytes.
GSUB_INLINE std::size_t width(std::string const& text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}
GSUB_INLINE bool looks_like_number(std::string const& text) {
    return text.empty() || (text[0] >= '0' && text[0] <= '9') || text[0] == '-' || text[0] == '+';
}

} // namespace detail

GSUB_INLINE std::string table::text() const {
    std::vector<std::size_t> widths;
    std::vector<bool> numeric;
    for (std::size_t c = 0; c < header_.size(); ++c) {
        auto widest = detail::width(header_[c]);
        auto numbers = !rows_.empty();
        for (auto const& row : rows_)
            widest = std::max(widest, detail::width(row[c])), numbers = numbers && detail::looks_like_number(row[c]);
        widths.push_back(widest);
        numeric.push_back(numbers);
    }
    std::string out;
    auto const line = [&](std::vector<std::string> const& row) {
        std::string text;
        for (std::size_t c = 0; c < row.size(); ++c) {
            std::string const gap(widths[c] - detail::width(row[c]), ' ');
            text += format_text("{}{}{}{}", c ? "  " : "", numeric[c] ? gap : "", row[c], numeric[c] ? "" : gap);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + '\n';
    };
    line(header_);
    for (auto const& row : rows_) line(row);
    return out;
}

GSUB_INLINE std::string table::markdown() const {
    std::string out;
    auto const line = [&](std::vector<std::string> const& row) {
        out += '|';
        for (auto const& entry : row) {
            out += ' ';
            for (char c : entry) {
                if (c == '|' || c == '\\') out += '\\';
                out += c == '\n' ? ' ' : c;
            }
            out += " |";
        }
        out += '\n';
    };
    line(header_);
    line(std::vector<std::string>(header_.size(), "---"));
    for (auto const& row : rows_) line(row);
    return out;
}

} // namespace gsub::report
