// text_reader: the lexer of the textual IR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::detail {

/// Reads tokens from text that may be anything. All errors are thrown with the line.
template <class = void>
class text_reader {
public:
    explicit text_reader(std::string_view text) : text_(text) {}

    [[noreturn]] void fail(std::string_view expected) const;
    [[nodiscard]] bool done() { return skip_space(), at_ == text_.size(); }
    [[nodiscard]] bool next_is(char c) { return skip_space(), at_ < text_.size() && text_[at_] == c; }
    /// Takes a piece of punctuation or a word if it comes next.
    bool accept(std::string_view token);
    void expect(std::string_view token);
    std::string_view word();
    std::int64_t integer() { return number<std::int64_t>("an integer"); }
    double real() { return number<double>("a number"); }
    std::string string();
    /// `0x` and pairs of hexadecimal digits up to the next other character.
    std::vector<std::byte> hex_bytes();

private:
    static bool is_word(char c) noexcept;
    static int hex_value(char c) noexcept;
    [[nodiscard]] unsigned hex_digit(std::size_t ahead) const;
    void skip_space();
    template <class Number>
    Number number(std::string_view expected);

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
};

} // namespace gsub::detail
