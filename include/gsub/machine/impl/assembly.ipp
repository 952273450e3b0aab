#pragma once

#include <gsub/core/format.hpp>
#include <gsub/machine/assembly.hpp>
#include <gsub/machine/impl/aarch64_reader.ipp>
#include <gsub/machine/impl/basic_blocks.ipp>
#include <gsub/machine/impl/x86_reader.ipp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace gsub::machine {

GSUB_LAZY_BODY std::string_view to_string(assembly_syntax s) noexcept {
    return s == assembly_syntax::x86_64 ? "AT&T x86-64" : "AArch64";
}

GSUB_LAZY_BODY result<assembly_function const*> assembly_unit::function(std::string_view name) const {
    std::string there;
    for (auto const& f : functions) {
        if (f.name == name) return &f;
        if (there.size() < 200) there += (there.empty() ? "" : ", ") + in_quotes(f.name);
    }
    return error{problem{errors::assembly_text,
                         {},
                         {},
                         format_text("the assembly has no function {}", quoted{name}),
                         "one of " + there}};
}

GSUB_LAZY_BODY void class_counts::add(std::span<instruction const> code, double times) {
    for (auto const& i : code) {
        of[static_cast<std::size_t>(i.what)] += times;
        if (i.folds_load()) of[static_cast<std::size_t>(i.folded_class())] += times;
    }
}

namespace detail {

// Reads a text line by line; `Reader` knows the instructions of a syntax.
template <class Reader>
class assembly_parser {
public:
    assembly_parser(std::string_view text, assembly_syntax syntax, assembly_limits const& limits)
        : text_(text), syntax_(syntax), limits_(limits) {}

    [[nodiscard]] result<assembly_unit> parse() {
        if (text_.size() > limits_.bytes)
            return fault(0, format_text("{} bytes, more than the limit of {}", text_.size(), limits_.bytes),
                         "one function at a time");
        find_functions();
        for (auto rest = text_; !rest.empty();) {
            auto const end = std::min(rest.find('\n'), rest.size());
            ++number_;
            if (auto e = read_line(rest.substr(0, end))) return *e;
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        if (read_ == 0)
            return fault(0, "no instruction found in " + std::to_string(number_) + " lines",
                         "the output of `g++ -S`, not of a disassembler or an object file");
        for (std::size_t f = 0; f < unit_.functions.size(); ++f)
            if (auto e = link(f)) return *e;
        std::erase_if(unit_.functions, [](assembly_function const& f) { return f.lines.empty(); });
        return std::move(unit_);
    }

private:
    using failure = std::optional<error>;
    struct place {
        std::size_t function, line;
    };

    [[nodiscard]] static error fault(std::uint32_t line, std::string reason, std::string hint,
                                     error_id id = errors::assembly_text) {
        auto where = line > 0 ? "line " + std::to_string(line) + " of the assembly: " : std::string{"assembly: "};
        return error{problem{id, {}, {}, where + std::move(reason), std::move(hint)}};
    }

    // Where directives tell which labels are functions, other labels are none.
    void find_functions() {
        for (auto at = text_.find(".type"); at != text_.npos; at = text_.find(".type", at + 5)) {
            auto rest = trimmed(text_.substr(at + 5, std::min(text_.find('\n', at), text_.size()) - at - 5));
            auto const comma = rest.find(',');
            if (comma != rest.npos && rest.substr(comma).find("function") != rest.npos)
                types_.insert(trimmed(rest.substr(0, comma)));
        }
    }

    [[nodiscard]] std::string_view without_comment(std::string_view s) const noexcept {
        if (trimmed(s).starts_with('#')) return {};
        return trimmed(s.substr(0, s.find(syntax_ == assembly_syntax::x86_64 ? "#" : "//")));
    }

    failure read_line(std::string_view s) {
        s = without_comment(s);
        if (s.starts_with(".intel_syntax")) return fault(number_, "Intel syntax", "-masm=att", error_code::unsupported);
        while (!s.empty()) {
            if (auto const label = label_of(s); !label.empty()) {
                if (auto e = begin_label(label)) return e;
                s = trimmed(s.substr(label.size() + 1));
                continue;
            }
            if (s.front() == '.') return {}; // a directive
            auto const end = std::min(s.find(';'), s.size());
            if (auto const statement = trimmed(s.substr(0, end)); !statement.empty())
                if (auto e = read_statement(statement)) return e;
            s = trimmed(s.substr(std::min(end + 1, s.size())));
        }
        return {};
    }

    [[nodiscard]] static std::string_view label_of(std::string_view s) noexcept {
        if (s.front() == '"') {
            auto const close = s.find('"', 1);
            return close != s.npos && s.substr(close + 1).starts_with(':') ? s.substr(0, close + 1)
                                                                           : std::string_view{};
        }
        auto const end = s.find_first_of(": \t,(%[\"");
        return end != s.npos && end > 0 && s[end] == ':' ? s.substr(0, end) : std::string_view{};
    }

    failure begin_label(std::string_view label) {
        auto const local = label.starts_with(".L") || label.starts_with("L.") || (label[0] >= '0' && label[0] <= '9');
        if (types_.empty() ? !local : types_.contains(label)) {
            unit_.functions.push_back({std::string{label}, syntax_, {}, {}, {}, 0});
            reader_.begin_function();
        }
        if (unit_.functions.empty()) return {}; // of data in front of all functions
        auto const here = place{unit_.functions.size() - 1, unit_.functions.back().lines.size()};
        auto const fresh = labels_.emplace(label, here).second;
        if (!fresh && !(label[0] >= '0' && label[0] <= '9'))
            return fault(number_, format_text("label {} stands here a second time", quoted{label}),
                         "one unit at a time");
        return {};
    }

    failure read_statement(std::string_view statement) {
        if (++read_ > limits_.instructions)
            return fault(number_, format_text("more than {} instructions", limits_.instructions),
                         "one function at a time");
        if (unit_.functions.empty()) unit_.functions.push_back({"", syntax_, {}, {}, {}, 0});
        auto& f = unit_.functions.back();
        auto& line = f.lines.emplace_back();
        line.line = number_;
        line.first = static_cast<std::uint32_t>(f.code.size());
        line_maker maker{line, f.code};
        if (auto const bad = reader_.read(statement, maker))
            return fault(number_,
                         format_text("{}: {} is no operand of {}", quoted{statement.substr(0, 80)},
                                     quoted{bad->substr(0, 80)}, to_string(syntax_)),
                         "text that GCC or Clang wrote for that processor");
        line.last = static_cast<std::uint32_t>(f.code.size());
        targets_.resize(unit_.functions.size());
        if (!maker.target.empty()) targets_.back().push_back({f.lines.size() - 1, maker.target});
        if (maker.unknown)
            ++unit_.unknown,
                warn(number_, format_text("mnemonic {} is not known: taken by its operands", quoted{line.mnemonic}));
        if (!maker.note.empty()) warn(number_, format_text("{}: {}", quoted{line.mnemonic}, maker.note));
        return {};
    }
    void warn(std::uint32_t line, std::string text) {
        if (unit_.warnings.size() < 100) unit_.warnings.push_back({line, std::move(text)});
    }

    // Makes blocks of the lines of a function.
    failure link(std::size_t number) {
        auto& f = unit_.functions[number];
        auto const n = f.lines.size();
        std::vector<std::string_view> names(n + 1);
        std::vector<std::size_t> jumps(n, n); // to which line; n: out
        std::vector<line_flow> flows;
        for (auto const& l : f.lines) flows.push_back(l.flow);
        if (number < targets_.size())
            for (auto const& [line, label] : targets_[number]) {
                auto const found = labels_.find(label);
                if (found == labels_.end() && label.starts_with(".L"))
                    return fault(f.lines[line].line, format_text("label {} is nowhere", quoted{label}),
                                 "the whole text of the compiler");
                if (found == labels_.end() || found->second.function != number || found->second.line == n) continue;
                jumps[line] = found->second.line, names[jumps[line]] = label;
            }
        auto const blocks = cut_blocks(flows, jumps);
        if (blocks.size() > limits_.blocks)
            return fault(f.lines[blocks[limits_.blocks].first].line,
                         format_text("function {} has more than {} blocks", quoted{f.name}, limits_.blocks),
                         "a smaller function");
        for (auto const& b : blocks) {
            auto const &begin = f.lines[b.first], &end = f.lines[b.last - std::size_t{1}];
            f.lines[b.last - std::size_t{1}].target = b.target;
            f.blocks.push_back(
                {std::string{names[b.first]}, begin.line, b.first, b.last, begin.first, end.last, b.next});
        }
        return {};
    }

    std::string_view text_;
    assembly_syntax syntax_;
    assembly_limits const& limits_;
    Reader reader_;
    assembly_unit unit_;
    std::set<std::string_view> types_;
    std::map<std::string_view, place> labels_;
    std::vector<std::vector<std::pair<std::size_t, std::string_view>>> targets_; // of each function: line and label
    std::uint32_t number_ = 0;
    std::size_t read_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY result<assembly_unit> parse_assembly(std::string_view text, assembly_syntax syntax,
                                                    assembly_limits const& limits) {
    if (syntax == assembly_syntax::x86_64)
        return detail::assembly_parser<detail::x86_reader<>>{text, syntax, limits}.parse();
    return detail::assembly_parser<detail::aarch64_reader<>>{text, syntax, limits}.parse();
}

} // namespace gsub::machine
