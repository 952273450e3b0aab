#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/record_text.hpp>

#include <algorithm>
#include <charconv>

namespace gsub::kernels {

namespace detail {

GSUB_LAZY_BODY void print_real(std::string& out, double value) {
    out += value != value ? "nan" : to_string(shortest{value});
}

} // namespace detail

GSUB_LAZY_BODY bool record_reader::skip_space() noexcept {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ > 0 && text_[at_ - 1] == ' ';
}

GSUB_LAZY_BODY bool record_reader::at_end() noexcept {
    skip_space();
    return at_ == text_.size();
}

GSUB_LAZY_BODY bool record_reader::accept(char c) noexcept {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
}

GSUB_LAZY_BODY void record_reader::expect(char c) {
    if (!accept(c)) fail_expected(at_, in_quotes({&c, 1}));
}

GSUB_LAZY_BODY std::size_t record_reader::token_end(std::size_t from) const noexcept {
    auto const belongs = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '?' ||
               c == '.' || c == '+' || c == '-';
    };
    while (from < text_.size() && belongs(text_[from])) ++from;
    return from;
}

GSUB_LAZY_BODY std::string_view record_reader::token() noexcept {
    skip_space();
    auto const start = at_;
    at_ = token_end(at_);
    return text_.substr(start, at_ - start);
}

GSUB_LAZY_BODY std::int64_t record_reader::integer(std::int64_t low, std::int64_t high) {
    auto const text = token();
    std::int64_t value = 0;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value < low || value > high)
        fail_expected(at_ - text.size(), format_text("an integer from {} to {}", low, high));
    return value;
}

GSUB_LAZY_BODY std::uint64_t record_reader::natural(std::uint64_t high) {
    auto const text = token();
    std::uint64_t value = 0;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value > high)
        fail_expected(at_ - text.size(), format_text("an integer from 0 to {}", high));
    return value;
}

GSUB_LAZY_BODY double record_reader::real() {
    using limits = std::numeric_limits<double>;
    auto const text = token();
    if (text == "nan") return limits::quiet_NaN();
    if (text == "inf") return limits::infinity();
    if (text == "-inf") return -limits::infinity();
    double value = 0;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Other words for what is no number are not ours.
    auto const number = value - value == 0 && end == text.data() + text.size();
    if (code == std::errc::result_out_of_range && number) fail(at_ - text.size(), "the number is out of range");
    if (code != std::errc{} || !number) fail_expected(at_ - text.size(), "a real number");
    return value;
}

GSUB_LAZY_BODY std::string record_reader::quoted() {
    auto const digit = [&](std::size_t at) {
        auto const c = at < text_.size() ? text_[at] : ' ';
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        fail_expected(at, "a hexadecimal digit");
    };
    expect('"');
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] != '\\') {
            out += text_[at_];
        } else if (++at_; at_ < text_.size() && text_[at_] == 'x') {
            out += static_cast<char>(digit(at_ + 1) * 16 + digit(at_ + 2));
            at_ += 2;
        } else if (at_ < text_.size()) {
            out += text_[at_];
        } else {
            fail_expected(at_, "a character");
        }
    }
    expect('"');
    return out;
}

GSUB_LAZY_BODY std::size_t record_reader::word(std::string_view what, std::span<std::string_view const> words) {
    auto const text = token();
    auto const found = std::find(words.begin(), words.end(), text);
    if (found != words.end() && !text.empty()) return static_cast<std::size_t>(found - words.begin());
    std::string expected = format_text("a {} (", what);
    for (std::size_t i = 0; i < words.size(); ++i) (expected += i ? ", " : "") += words[i];
    fail_expected(at_ - text.size(), expected + ")");
}

GSUB_LAZY_BODY void record_reader::fail(std::size_t offset, std::string_view reason) const {
    throw error{error_code::invalid_input, format_text("column {}: {}", offset + 1, reason)};
}

GSUB_LAZY_BODY void record_reader::fail_expected(std::size_t offset, std::string_view expected) const {
    // A long token is cut; where none begins, there is a character.
    auto const size = std::clamp<std::size_t>(token_end(offset) - offset, 1, 30);
    auto const found = offset < text_.size() ? in_quotes(text_.substr(offset, size)) : "the end";
    fail(offset, format_text("expected {}, found {}", expected, found));
}

} // namespace gsub::kernels
