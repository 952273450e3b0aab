// Putting texts and numbers together without a formatting library: messages are everywhere, and each must compile fast.
#pragma once

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gsub {

/// A text or a number on its way into a message. Numbers take their shortest exact form, in every locale.
class message_piece {
public:
    message_piece(char const* text) noexcept : text_(text) {}
    message_piece(std::string_view text) noexcept : text_(text) {}
    message_piece(std::string const& text) noexcept : text_(text) {}
    // One constructor a type, none a template: choosing among templates for every piece costs every includer compile
    // time.
    message_piece(int number) noexcept : message_piece(static_cast<long long>(number)) {}
    message_piece(unsigned number) noexcept : message_piece(static_cast<unsigned long long>(number)) {}
    message_piece(long number) noexcept : message_piece(static_cast<long long>(number)) {}
    message_piece(unsigned long number) noexcept : message_piece(static_cast<unsigned long long>(number)) {}
    message_piece(long long number) noexcept;
    message_piece(unsigned long long number) noexcept;
    message_piece(double number) noexcept;
    message_piece(message_piece const&) = delete; // text_ may point into digits_
    message_piece& operator=(message_piece const&) = delete;
    ~message_piece() = default;

    [[nodiscard]] std::string_view text() const noexcept { return text_; }

private:
    char digits_[32];
    std::string_view text_;
};

inline message_piece::message_piece(long long number) noexcept
    : text_(digits_, static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr - digits_)) {
}
inline message_piece::message_piece(unsigned long long number) noexcept
    : text_(digits_, static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr - digits_)) {
}
inline message_piece::message_piece(double number) noexcept
    : text_(digits_, static_cast<std::size_t>(std::to_chars(digits_, digits_ + sizeof digits_, number).ptr - digits_)) {
}

/// The pieces one after the other: `message({"axis ", axis, " for operand ", to_string(x)})`.
[[nodiscard]] inline std::string message(std::initializer_list<message_piece> pieces) {
    std::size_t size = 0;
    for (auto const& p : pieces) size += p.text().size();
    std::string out;
    out.reserve(size);
    for (auto const& p : pieces) out += p.text();
    return out;
}

namespace detail {

inline void append_printable(std::string& out, char c) {
    auto const code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127)
        out += {'\\', 'x', "0123456789abcdef"[code >> 4], "0123456789abcdef"[code & 15]};
    else
        out += c;
}

} // namespace detail

/// The text between double quotes, with quotes, backslashes and control characters escaped.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        detail::append_printable(out, c);
    }
    return out + '"';
}

/// The text as it may go to a terminal: control characters other than the end of a line are escaped, for names come
/// from models.
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

} // namespace gsub
