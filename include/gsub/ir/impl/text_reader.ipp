#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/ir/impl/text_reader.hpp>

#include <algorithm>
#include <charconv>

namespace gsub::detail {

template <class T>
void text_reader<T>::fail(std::string_view expected) const {
    auto const rest = text_.substr(at_, std::min<std::size_t>(text_.find('\n', at_) - at_, 30));
    throw error{problem{errors::graph_text,
                        {},
                        {},
                        format_text("line {}: expected {}, found {}", line_, expected,
                                    at_ < text_.size() ? in_quotes(rest) : "the end"),
                        {}}};
}

template <class T>
bool text_reader<T>::accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    auto const end = at_ + token.size();
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
}

template <class T>
void text_reader<T>::expect(std::string_view token) {
    if (!accept(token)) fail(in_quotes(token));
}

template <class T>
std::string_view text_reader<T>::word() {
    skip_space();
    auto const start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start) fail("a word");
    return text_.substr(start, at_ - start);
}

template <class T>
template <class Number>
Number text_reader<T>::number(std::string_view expected) {
    skip_space();
    Number value = 0;
    auto const [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc{}) fail(expected);
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
}

template <class T>
std::string text_reader<T>::string() {
    expect("\"");
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\n') fail("a closing quote");
        if (text_[at_] != '\\') {
            out += text_[at_];
            continue;
        }
        if (++at_ == text_.size()) break;
        if (text_[at_] != 'x') {
            out += text_[at_];
            continue;
        }
        auto const high = hex_digit(1), low = hex_digit(2);
        out += static_cast<char>(high << 4 | low);
        at_ += 2;
    }
    if (at_ == text_.size()) fail("a closing quote");
    ++at_;
    return out;
}

template <class T>
std::vector<std::byte> text_reader<T>::hex_bytes() {
    std::vector<std::byte> out;
    skip_space();
    if (!text_.substr(at_).starts_with("0x")) fail("0x");
    at_ += 2;
    while (at_ + 1 < text_.size() && hex_value(text_[at_]) >= 0) {
        out.push_back(static_cast<std::byte>(hex_digit(0) << 4 | hex_digit(1)));
        at_ += 2;
    }
    return out;
}

template <class T>
bool text_reader<T>::is_word(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

template <class T>
int text_reader<T>::hex_value(char c) noexcept {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

template <class T>
unsigned text_reader<T>::hex_digit(std::size_t ahead) const {
    auto const v = at_ + ahead < text_.size() ? hex_value(text_[at_ + ahead]) : -1;
    if (v < 0) fail("two hexadecimal digits");
    return static_cast<unsigned>(v);
}

template <class T>
void text_reader<T>::skip_space() {
    for (; at_ < text_.size(); ++at_) {
        auto const c = text_[at_];
        if (c == '#') {
            while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
        } else if (c == '\n') {
            ++line_;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

} // namespace gsub::detail
