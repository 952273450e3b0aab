// Parts of the parser of PTX: a text of which statements are taken one by one, and names of registers.
#pragma once

#include <gsub/machine/impl/assembly_text.ipp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::machine::detail::ptx {

[[nodiscard]] inline std::string_view first_word(std::string_view s) noexcept {
    return s.substr(0, std::min(s.find_first_of(" \t\r\n"), s.size()));
}
[[nodiscard]] inline std::string_view cleared(std::string_view s) noexcept {
    auto const begin = std::min(s.find_first_not_of(" \t\r\n"), s.size());
    return s.substr(begin);
}
// The words of a declaration.
[[nodiscard]] inline std::vector<std::string_view> words_of(std::string_view s) {
    std::vector<std::string_view> out;
    for (s = cleared(s); !s.empty(); s = cleared(s)) {
        out.push_back(first_word(s));
        s.remove_prefix(out.back().size());
    }
    return out;
}

// A text, comments taken out, and a place in it.
class text_scanner {
public:
    explicit text_scanner(std::string_view text) : text_(without_comments(text)) {}

    [[nodiscard]] bool ended() const noexcept { return at_ >= text_.size(); }
    [[nodiscard]] char front() const noexcept { return ended() ? '\0' : text_[at_]; }
    [[nodiscard]] std::uint32_t line() const noexcept { return line_; }

    void skip() {
        while (at_ < text_.size() && std::string_view{" \t\r\n"}.find(text_[at_]) != std::string_view::npos)
            advance(at_ + 1);
    }
    // The text up to one of some characters, which is not taken.
    [[nodiscard]] std::string_view until(std::string_view ends) const noexcept {
        auto const end = std::min(text_.find_first_of(ends, at_), text_.size());
        return trimmed(std::string_view{text_}.substr(at_, end - at_));
    }
    std::string_view take_until(std::string_view ends) {
        auto const taken = until(ends);
        advance(text_.find_first_of(ends, at_));
        return taken;
    }
    [[nodiscard]] bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        advance(at_ + 1);
        return true;
    }
    // Passes over braces and all between them. *Returns* whether they close.
    [[nodiscard]] bool skip_braces() {
        std::size_t depth = 0;
        do {
            advance(text_.find_first_of("{}", at_));
            if (at_ >= text_.size()) return false;
            depth = text_[at_] == '{' ? depth + 1 : depth - 1;
            advance(at_ + 1);
        } while (depth > 0);
        return true;
    }
    // A label, with its colon, or nothing.
    [[nodiscard]] std::string_view take_label() {
        constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
        auto const end = std::min(text_.find_first_not_of(letters, at_), text_.size());
        if (end == text_.size() || end == at_ || text_[end] != ':') return {};
        auto const label = std::string_view{text_}.substr(at_, end - at_);
        advance(end + 1);
        return label;
    }

private:
    [[nodiscard]] static std::string without_comments(std::string_view given) {
        std::string text{given};
        for (std::size_t i = 0; i + 1 < text.size(); ++i) {
            if (text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*')) continue;
            auto const line = text[i + 1] == '/';
            auto const close = line ? text.find('\n', i) : text.find("*/", i + 2);
            auto const end = close == text.npos ? text.size() : line ? close : close + 2;
            for (; i < end; ++i)
                if (text[i] != '\n') text[i] = ' ';
            --i;
        }
        return text;
    }
    void advance(std::size_t to) {
        for (to = std::min(to, text_.size()); at_ < to; ++at_) line_ += text_[at_] == '\n';
    }

    std::string text_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1;
};

// The names of a kernel's registers, by scope: single ones, and prefixes with so many numbers behind.
class register_names {
public:
    void clear() { scopes_.assign(1, {}), numbers_.clear(), declarations_ = 0; }
    void open() { scopes_.push_back({}); }
    void close() { scopes_.pop_back(); }
    [[nodiscard]] std::size_t depth() const noexcept { return scopes_.size(); }

    // Declares `%r<100>` or `%r`.
    [[nodiscard]] bool declare(std::string_view name, std::uint8_t bits) {
        auto const open = name.find('<');
        std::int64_t count = -1;
        if (open != name.npos) {
            auto const n =
                name.ends_with('>') ? number_of(name.substr(open + 1, name.size() - open - 2)) : std::nullopt;
            if (!n || *n < 0) return false;
            count = *n, name = name.substr(0, open);
        }
        if (name.empty()) return false;
        scopes_.back()[name] = {declarations_++, count, bits};
        return true;
    }
    // The number of a register, which it gets where it is met first.
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name, std::vector<std::uint8_t>& registers) {
        auto const digits = name.find_last_not_of("0123456789") + 1;
        auto const suffix = number_of(name.substr(digits));
        for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s) {
            if (auto const one = s->find(name); one != s->end() && one->second.count < 0)
                return number(one->second, -1, registers);
            if (!suffix || name.size() > digits + 9) continue;
            if (auto const many = s->find(name.substr(0, digits)); many != s->end() && *suffix < many->second.count)
                return number(many->second, *suffix, registers);
        }
        return std::nullopt;
    }

private:
    struct declaration {
        std::uint32_t number = 0;
        std::int64_t count = -1; // -1: it is one register
        std::uint8_t bits = 32;
    };
    using scope = std::map<std::string_view, declaration>;

    std::uint32_t number(declaration const& d, std::int64_t suffix, std::vector<std::uint8_t>& registers) {
        auto const [at, fresh] = numbers_.try_emplace({d.number, suffix}, static_cast<std::uint32_t>(registers.size()));
        if (fresh) registers.push_back(d.bits);
        return at->second;
    }

    std::vector<scope> scopes_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> numbers_;
    std::uint32_t declarations_ = 0;
};

} // namespace gsub::machine::detail::ptx
