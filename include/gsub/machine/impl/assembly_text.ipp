// Parts of the parsers of assembly: operands of both syntaxes, lists of words, and the maker of lines.
#pragma once

#include <gsub/machine/assembly.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::machine::detail {

enum class operand_kind : std::uint8_t { integer, vector, mask, immediate, memory, name, other };

// Operand of either syntax.
struct text_operand {
    operand_kind kind = operand_kind::other;
    register_id reg = no_register; // none: the zero register
    std::int32_t bytes = 0;        // width of a register
    std::int32_t element = 0;      // bytes of an element where the operand says so
    std::int32_t count = 1;        // registers of a list
    bool by_element = false;       // one lane of it
    std::int64_t value = 0;        // immediate; displacement
    bool constant = true;          // whether `value` is a number rather than a symbol
    register_id base = no_register, index = no_register, mask = no_register;
    std::int64_t scale = 1;
    bool zeroing = false, broadcast = false, before = false; // before: [x0, 16]!
    std::string_view text{};

    [[nodiscard]] bool is(operand_kind k) const noexcept { return kind == k; }
};
using text_operands = std::vector<text_operand>;

inline constexpr std::size_t most_operands = 8;

[[nodiscard]] inline std::string_view trimmed(std::string_view s) noexcept {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}
// Whether a word stands in a list with blanks between; the empty word is written `-`.
[[nodiscard]] inline bool in_list(std::string_view list, std::string_view word) noexcept {
    if (word.empty()) word = "-";
    while (!list.empty()) {
        auto const end = std::min(list.find(' '), list.size());
        if (list.substr(0, end) == word) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}
// A number as assembly has it: decimal, or hexadecimal after 0x.
[[nodiscard]] inline std::optional<std::int64_t> number_of(std::string_view s) noexcept {
    auto const minus = !s.empty() && s.front() == '-';
    if (minus || (!s.empty() && s.front() == '+')) s.remove_prefix(1);
    auto const hex = s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    if (hex) s.remove_prefix(2);
    std::uint64_t n = 0;
    auto const [end, fault] = std::from_chars(s.data(), s.data() + s.size(), n, hex ? 16 : 10);
    if (s.empty() || fault != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return static_cast<std::int64_t>(minus ? ~n + 1 : n);
}

// Row of a table of mnemonics: a stem and the suffixes that it may have, `-` for none.
struct mnemonic_row {
    std::string_view stems, suffixes;
    instruction_class what;
};
struct mnemonic_match {
    mnemonic_row const* row = nullptr; // none: the table lacks the name
    std::string_view stem{}, suffix{};
};
[[nodiscard]] inline mnemonic_match match_mnemonic(std::span<mnemonic_row const> rows, std::string_view name) noexcept {
    for (auto const& row : rows)
        for (auto rest = row.stems; !rest.empty();) {
            auto const end = std::min(rest.find(' '), rest.size());
            auto const stem = rest.substr(0, end);
            if (name.starts_with(stem) && in_list(row.suffixes, name.substr(stem.size())))
                return {&row, stem, name.substr(stem.size())};
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    return {};
}
// Parts of a text between commas outside of brackets.
[[nodiscard]] inline std::vector<std::string_view> split_operands(std::string_view s) {
    std::vector<std::string_view> out;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= s.size(); ++i) {
        if (i < s.size() && in_list("( [ {", s.substr(i, 1))) ++depth;
        if (i < s.size() && in_list(") ] }", s.substr(i, 1))) --depth;
        if (i < s.size() && (s[i] != ',' || depth > 0)) continue;
        if (auto const part = trimmed(s.substr(begin, i - begin)); !part.empty() || !out.empty() || i < s.size())
            out.push_back(part);
        begin = i + 1;
    }
    return out;
}

// What the parser of a syntax fills in: the line, its instructions, and the name of the label to which it jumps.
struct line_maker {
    assembly_line& line;
    std::vector<instruction>& code;
    std::string_view target{}; // label to which it jumps
    std::string_view note{};   // what a reader must know who counts it
    bool unknown = false;      // whether the tables lack its mnemonic

    instruction& add(instruction_class what, std::int32_t bytes) {
        code.push_back({what, bytes, {}, {}, {}, -1});
        return code.back();
    }
    // Address registers of an instruction, and what it reads or writes there.
    static void address(instruction& i, text_operand const& at, std::int32_t bytes, bool broadcast = false) {
        for (auto const r : {at.base, at.index}) use(i, r);
        i.memory = {-1, bytes, broadcast};
    }
    static void use(instruction& i, register_id r) {
        if (r != no_register) i.uses.push_back(r);
    }
    static void define(instruction& i, register_id r) {
        if (r != no_register) i.defs.push_back(r);
    }
    void effect(integer_effect e) {
        if (e.to < followed_registers) line.effects.push_back(e);
    }
    void writes(register_id r) {
        if (r < followed_registers && (r < flags_register || r >= first_stack_slot)) line.writes.push_back(r);
    }
    void compare(register_id left, register_id right, std::int64_t value) {
        line.sets_flags = true;
        line.compares = {left, right, value};
    }
};

// Places of the stack that a function names: by their distance from the stack or frame pointer.
class stack_slots {
public:
    void clear() noexcept { known_.clear(), frame_ = no_register; }
    void frame(register_id r) noexcept { frame_ = r; }
    [[nodiscard]] register_id slot(text_operand const& at, register_id stack) {
        if (at.base == no_register || at.index != no_register || !at.constant || at.value > 1 << 30 ||
            at.value < -(1 << 30) || (at.base != stack && at.base != frame_))
            return no_register;
        auto const key = at.value * 64 + at.base;
        auto const found = std::find(known_.begin(), known_.end(), key);
        auto const position = static_cast<std::size_t>(found - known_.begin());
        if (position > last_stack_slot - first_stack_slot) return no_register;
        if (found == known_.end()) known_.push_back(key);
        return static_cast<register_id>(first_stack_slot + position);
    }

private:
    std::vector<std::int64_t> known_;
    register_id frame_ = no_register;
};

} // namespace gsub::machine::detail
