#pragma once

#include <gsub/core/format.hpp>
#include <gsub/machine/impl/basic_blocks.ipp>
#include <gsub/machine/impl/ptx_operands.ipp>
#include <gsub/machine/impl/ptx_scanner.ipp>
#include <gsub/machine/impl/ptx_text.ipp>
#include <gsub/machine/ptx.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace gsub::machine {

GSUB_LAZY_BODY std::string_view to_string(ptx_class c) noexcept {
    constexpr std::string_view names[ptx_classes] = {"fma",    "floating", "special", "integer", "convert",
                                                     "move",   "load",     "store",   "atomic",  "copy async",
                                                     "matrix", "shuffle",  "barrier", "branch",  "other"};
    return names[static_cast<std::size_t>(c)];
}
GSUB_LAZY_BODY std::string_view to_string(ptx_space s) noexcept {
    constexpr std::string_view names[ptx_spaces] = {"none",  "generic",   "global",  "shared",
                                                    "local", "parameter", "constant"};
    return names[static_cast<std::size_t>(s)];
}

GSUB_LAZY_BODY result<ptx_kernel const*> ptx_module::kernel(std::string_view name) const {
    std::string there;
    for (auto const& k : kernels) {
        if (k.name == name) return &k;
        if (there.size() < 200) there += (there.empty() ? "" : ", ") + in_quotes(k.name);
    }
    return error{problem{
        errors::assembly_text, {}, {}, format_text("the PTX has no kernel {}", quoted{name}), "one of " + there}};
}

namespace detail {

// Reads a text statement by statement.
template <class = void>
class ptx_parser {
public:
    ptx_parser(std::string_view text, assembly_limits const& limits)
        : limits_(limits), given_(text.size()), text_(text.substr(0, limits.bytes)) {}

    [[nodiscard]] result<ptx_module> parse() {
        if (given_ > limits_.bytes)
            return fault(format_text("{} bytes, more than the limit of {}", given_, limits_.bytes),
                         "one kernel at a time");
        for (text_.skip(); !text_.ended(); text_.skip())
            if (auto e = read_declaration()) return *e;
        if (out_.version.empty()) return fault("no .version", "the text of NVRTC or of nvcc -ptx");
        if (out_.kernels.empty()) return fault("no kernel, .entry, found", "the text of NVRTC or of nvcc -ptx");
        return std::move(out_);
    }

private:
    using failure = std::optional<error>;

    [[nodiscard]] error fault(std::string reason, std::string hint) const {
        auto const where = "line " + std::to_string(text_.line()) + " of the PTX: ";
        return error{problem{errors::assembly_text, {}, {}, where + reason, std::move(hint)}};
    }
    [[nodiscard]] failure bad_syntax(std::string_view what, std::string_view expected) const {
        return fault(format_text("{}: {} expected", quoted{what.substr(0, 80)}, expected),
                     "text that a compiler wrote");
    }
    void warn(std::string text) {
        if (out_.warnings.size() < 100) out_.warnings.push_back({text_.line(), std::move(text)});
    }

    // ---- the module

    [[nodiscard]] failure read_declaration() {
        if (text_.front() != '.') return bad_syntax(text_.until(";{\n"), "a directive");
        auto const word = ptx::first_word(text_.until(";{"));
        if (in_list(".version .target .address_size .file .loc", word)) {
            auto const rest = trimmed(text_.take_until("\n").substr(word.size()));
            if (word == ".version") out_.version = rest;
            if (word == ".target") out_.target = trimmed(rest.substr(0, rest.find(',')));
            return {};
        }
        auto const header = text_.take_until(";{");
        auto const words = ptx::words_of(header);
        auto const is = [&](std::string_view w) { return std::find(words.begin(), words.end(), w) != words.end(); };
        auto const body = text_.front() == '{';
        if (is(".entry") && body) return read_kernel(header);
        if (body) {
            if (!text_.skip_braces()) return fault("a brace is not closed", "the whole text");
            if (is(".entry") || is(".func") || word == ".section") return {};
            text_.take_until(";"); // numbers of an array
        }
        if (!text_.take(';')) return bad_syntax(header, "a semicolon");
        if (is(".shared"))
            if (auto const v = variable(header)) operands_.shared[std::string{v->name}] = v->bytes;
        return {};
    }

    // Name and bytes of `.shared .align 16 .b8 name[64][4]`.
    struct declared {
        std::string_view name;
        std::int64_t bytes = 0;
    };
    [[nodiscard]] static std::optional<declared> variable(std::string_view text) {
        auto const open = std::min(text.find('['), text.size());
        auto const words = ptx::words_of(text.substr(0, open));
        if (words.empty()) return std::nullopt;
        declared v{words.back(), 0};
        for (auto const w : words)
            if (auto const t = w.starts_with('.') ? ptx::type_of(w.substr(1)) : std::nullopt) v.bytes = t->bits / 8;
        for (auto rest = text.substr(open); !rest.empty();) {
            auto const close = rest.find(']');
            if (rest.front() != '[' || close == rest.npos) break;
            auto const n = number_of(trimmed(rest.substr(1, close - 1))).value_or(0); // [] takes what a launch gives
            if (n < 0 || (n > 0 && v.bytes > (std::int64_t{1} << 40) / n)) return std::nullopt;
            v.bytes *= n;
            rest = ptx::cleared(rest.substr(close + 1));
        }
        return v;
    }

    // `.visible .entry name(.param .u64 p, ...) .maxntid 256, 1, 1`, before its brace.
    [[nodiscard]] failure read_kernel(std::string_view header) {
        auto rest = header.substr(header.find(".entry") + 6);
        auto const open = rest.find('(');
        auto const close = rest.find(')');
        auto const without = open == rest.npos;
        if (!without && (close == rest.npos || close < open)) return bad_syntax(header, "parameters in parentheses");
        auto const names = ptx::words_of(rest.substr(0, without ? rest.find(" .") : open));
        if (names.empty()) return bad_syntax(header, "the name of a kernel");
        kernel_ = &out_.kernels.emplace_back();
        kernel_->name = names[0];
        if (!without)
            for (auto const text : split_operands(rest.substr(open + 1, close - open - 1))) {
                auto const v = variable(text);
                if (!v) return bad_syntax(text, "a parameter");
                kernel_->parameters.push_back({std::string{v->name}, v->bytes});
            }
        read_tuning(without ? rest : rest.substr(close + 1));
        operands_.begin_kernel(*kernel_), labels_.clear(), jumps_.clear();
        static_cast<void>(text_.take('{'));
        for (text_.skip(); operands_.names.depth() > 0; text_.skip()) {
            if (text_.ended()) return fault("a brace is not closed", "the whole text");
            if (auto e = read_statement()) return e;
        }
        return link();
    }
    void read_tuning(std::string_view text) {
        auto const numbers = [&](std::string_view name) {
            std::array<std::int64_t, 3> out{};
            auto const found = text.find(name);
            if (found == text.npos) return out;
            auto rest = text.substr(found + name.size());
            rest = rest.substr(0, rest.find('.'));
            auto const parts = split_operands(rest);
            for (std::size_t i = 0; i < std::min<std::size_t>(3, parts.size()); ++i)
                out[i] = std::clamp<std::int64_t>(number_of(ptx::first_word(ptx::cleared(parts[i]))).value_or(0), 0,
                                                  1 << 20);
            if (out[0] > 0)
                for (auto& n : out) n = std::max<std::int64_t>(n, 1);
            return out;
        };
        auto const exact = numbers(".reqntid");
        kernel_->exact_block = exact[0] > 0;
        kernel_->block = kernel_->exact_block ? exact : numbers(".maxntid");
        kernel_->blocks_at_once = numbers(".minnctapersm")[0];
    }

    // ---- the body of a kernel

    [[nodiscard]] failure read_statement() {
        if (text_.take('{')) {
            if (operands_.names.depth() > 64)
                return fault("more than 64 braces in each other", "text that a compiler wrote");
            operands_.names.open();
            return {};
        }
        if (text_.take('}')) {
            operands_.names.close();
            return {};
        }
        if (text_.take(';')) return {};
        if (text_.front() == '.') return read_directive();
        if (auto const label = text_.take_label(); !label.empty()) {
            labels_.emplace(label, kernel_->code.size());
            return {};
        }
        auto const line = text_.line();
        auto const statement = text_.take_until(";");
        if (!text_.take(';')) return bad_syntax(statement, "a semicolon");
        return read_instruction(statement, line);
    }

    [[nodiscard]] failure read_directive() {
        auto const word = ptx::first_word(text_.until(";\n"));
        if (in_list(".loc .file", word)) {
            text_.take_until("\n");
            return {};
        }
        auto const text = text_.take_until(";");
        if (!text_.take(';')) return bad_syntax(text, "a semicolon");
        if (word == ".reg") {
            auto const words = ptx::words_of(text);
            auto const type = words.size() > 2 ? ptx::type_of(words[1].substr(1)) : std::nullopt;
            if (!type) return bad_syntax(text, "a type and names of registers");
            for (auto const name : split_operands(text.substr(static_cast<std::size_t>(words[2].data() - text.data()))))
                if (!operands_.names.declare(name, static_cast<std::uint8_t>(type->bits)))
                    return bad_syntax(text, "names of registers");
        } else if (word == ".shared" || word == ".local") {
            auto const v = variable(text);
            if (!v) return bad_syntax(text, "a variable of a size that can be counted");
            (word == ".shared" ? kernel_->shared_bytes : kernel_->local_bytes) += v->bytes;
        }
        return {};
    }

    [[nodiscard]] failure read_instruction(std::string_view s, std::uint32_t line) {
        if (++read_ > limits_.instructions)
            return fault(format_text("more than {} instructions", limits_.instructions), "one kernel at a time");
        std::int32_t predicate = -1;
        bool negated = false;
        if (s.starts_with('@')) {
            s = ptx::cleared(s.substr(1));
            negated = s.starts_with('!');
            if (negated) s = ptx::cleared(s.substr(1));
            auto const name = ptx::first_word(s);
            auto const r = operands_.names.find(name, kernel_->registers);
            if (!r) return bad_syntax(name, "a predicate that is declared");
            predicate = static_cast<std::int32_t>(*r);
            s = ptx::cleared(s.substr(name.size()));
        }
        auto const opcode = ptx::first_word(s);
        ptx::opcode_words const words{opcode};
        bool known = false;
        auto i = ptx::instruction_of(words, known);
        i.line = line, i.predicate = predicate, i.negated = negated;
        if (!known) ++out_.unknown, warn(format_text("instruction {} is not known", quoted{opcode.substr(0, 80)}));
        auto const rest = ptx::cleared(s.substr(opcode.size()));
        if (words.name() == "brx") warn("where brx jumps is not known");
        if (i.flow == line_flow::jump) jumps_.emplace_back(kernel_->code.size(), rest);
        if (i.flow != line_flow::next && predicate >= 0) i.flow = line_flow::branch;
        if (i.what != ptx_class::branch)
            if (auto const bad = operands_.read(words, rest, i)) return bad_syntax(bad->text, bad->expected);
        kernel_->code.push_back(std::move(i));
        return {};
    }
    [[nodiscard]] failure link() {
        auto& k = *kernel_;
        auto const n = k.code.size();
        if (n == 0) return fault(format_text("kernel {} has no instruction", quoted{k.name}), "the whole text");
        std::vector<std::size_t> to(n, n);
        std::vector<std::string_view> names(n + 1);
        std::vector<line_flow> flows;
        for (auto const& i : k.code) flows.push_back(i.flow);
        for (auto const& [at, label] : jumps_) {
            auto const found = labels_.find(label);
            if (found == labels_.end())
                return fault(format_text("label {} is nowhere", quoted{label.substr(0, 80)}), "the whole text");
            to[at] = found->second;
            names[to[at]] = label;
        }
        auto const blocks = cut_blocks(flows, to);
        if (blocks.size() > limits_.blocks)
            return fault(format_text("kernel {} has more than {} blocks", quoted{k.name}, limits_.blocks),
                         "a smaller kernel");
        for (auto const& b : blocks) {
            k.code[b.last - std::size_t{1}].target = b.target;
            k.blocks.push_back({std::string{names[b.first]}, b.first, b.last, b.next});
        }
        return {};
    }

    assembly_limits const& limits_;
    std::size_t given_;
    ptx::text_scanner text_;
    std::size_t read_ = 0;
    ptx_module out_;
    ptx::operand_reader operands_;
    // Of the kernel at hand.
    ptx_kernel* kernel_ = nullptr;
    std::map<std::string_view, std::size_t> labels_; // before which instruction
    std::vector<std::pair<std::size_t, std::string_view>> jumps_;
};

} // namespace detail

GSUB_LAZY_BODY result<ptx_module> parse_ptx(std::string_view text, assembly_limits const& limits) {
    return detail::ptx_parser<>{text, limits}.parse();
}

} // namespace gsub::machine
