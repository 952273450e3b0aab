// operand_reader: reads operands of PTX instructions, by the names that a kernel declares.
#pragma once

#include <gsub/machine/impl/ptx_scanner.ipp>
#include <gsub/machine/impl/ptx_text.ipp>
#include <gsub/machine/impl/trip_counter.ipp>
#include <gsub/machine/ptx.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gsub::machine::detail::ptx {

class operand_reader {
public:
    struct unreadable {
        std::string_view text, expected;
    };
    using bad_operand = std::optional<unreadable>;

    void begin_kernel(ptx_kernel& k) {
        k_ = &k;
        names.clear(), symbols_.clear();
    }
    // Reads operands into an instruction.
    [[nodiscard]] bad_operand read(opcode_words const& words, std::string_view text, ptx_instruction& i) {
        auto const parts = split_operands(text);
        auto result = !in_list(without_result, words.name()) && !words.has("store");
        auto const both = words.name() == "wgmma"; // what is added to is given first
        for (std::size_t k = 0; k < parts.size(); ++k) {
            auto const part = cleared(parts[k]);
            auto const first = k == 0 && result && !part.starts_with('[');
            if (auto e = read_operand(part, first, both, i)) return e;
        }
        if (words.name() == "cp" && i.what == ptx_class::copy_async && parts.size() > 2)
            i.bytes = static_cast<std::int32_t>(std::clamp<std::int64_t>(number_of(parts[2]).value_or(0), 0, 1 << 20));
        // Several results of one instruction are pieces of it.
        if (i.defs.size() > 1) i.does = ptx_operation::other;
        return {};
    }

    register_names names;
    std::map<std::string, std::int64_t> shared; // of the module: bytes by name

private:
    [[nodiscard]] bad_operand read_operand(std::string_view s, bool result, bool both, ptx_instruction& i) {
        if (s.starts_with('{') || s.starts_with('[')) {
            if (!s.ends_with(s.front() == '{' ? '}' : ']')) return unreadable{s, "a brace or bracket that closes"};
            if (s.starts_with('{')) i.does = ptx_operation::other;
            for (auto const part : split_operands(s.substr(1, s.size() - 2)))
                if (auto e = read_operand(cleared(part), result && s.front() == '{', both, i)) return e;
            return {};
        }
        if (auto const bar = s.find('|'); bar != s.npos) {
            i.does = ptx_operation::other;
            if (auto e = read_operand(trimmed(s.substr(0, bar)), result, both, i)) return e;
            return read_operand(trimmed(s.substr(bar + 1)), result, both, i);
        }
        if (s.starts_with('!')) i.does = ptx_operation::other, s = cleared(s.substr(1));
        if (s.empty()) return unreadable{s, "an operand"};
        if (s == "_") return {};
        auto const o = operand(s);
        if (!o) return unreadable{s, "a register that is declared, or a number"};
        if (result && o->kind == ptx_operand::kinds::reg) i.defs.push_back(o->number);
        if (!result || both) i.uses.push_back(*o);
        return {};
    }
    // A register, number or name, and what may be added to it.
    [[nodiscard]] std::optional<ptx_operand> operand(std::string_view s) {
        using kinds = ptx_operand::kinds;
        std::int64_t more = 0;
        if (auto const plus = s.find_first_of("+-", 1); plus != s.npos && !s.starts_with("0")) {
            auto text = trimmed(s.substr(plus));
            if (text.starts_with("+-")) text.remove_prefix(1);
            auto const n = number_of(text);
            if (!n) return std::nullopt;
            more = *n, s = trimmed(s.substr(0, plus));
        }
        if (auto const r = names.find(s, k_->registers)) return ptx_operand{kinds::reg, *r, more};
        if (s.starts_with('%')) {
            auto const special = special_of(s);
            if (!special) return std::nullopt;
            return ptx_operand{kinds::special, static_cast<std::uint32_t>(*special), more};
        }
        if (s == "WARP_SZ") return ptx_operand{kinds::immediate, 0, 32};
        if ((s.starts_with("0f") || s.starts_with("0d") || s.starts_with("0F") || s.starts_with("0D")) &&
            s.size() > 2) {
            auto const bits = number_of(std::string{"0x"} + std::string{s.substr(2)});
            return bits ? std::optional{ptx_operand{kinds::immediate, 0, *bits}} : std::nullopt;
        }
        auto const unsuffixed = s.ends_with('U') ? s.substr(0, s.size() - 1) : s;
        if (auto const n = number_of(unsuffixed)) return ptx_operand{kinds::immediate, 0, wrapped_sum(*n, more)};
        if ((s.front() >= '0' && s.front() <= '9') || s.front() == '-') {
            auto const real = s.find_first_not_of("0123456789.eE+-") == s.npos;
            return real ? std::optional{ptx_operand{kinds::immediate, 0, 0}} : std::nullopt;
        }
        if (s.find_first_of(" \t\r\n\"'()<>") != s.npos) return std::nullopt;
        auto const& all = k_->parameters;
        for (std::size_t p = 0; p < all.size(); ++p)
            if (all[p].name == s) return ptx_operand{kinds::parameter, static_cast<std::uint32_t>(p), more};
        auto const [symbol, fresh] = symbols_.try_emplace(s, static_cast<std::uint32_t>(symbols_.size()));
        // Shared memory of the module is the kernel's where it names it.
        if (auto const found = shared.find(std::string{s}); fresh && found != shared.end())
            k_->shared_bytes += found->second;
        return ptx_operand{kinds::symbol, symbol->second, more};
    }

    ptx_kernel* k_ = nullptr;
    std::map<std::string_view, std::uint32_t> symbols_; // of the kernel, as they are met
};

} // namespace gsub::machine::detail::ptx
