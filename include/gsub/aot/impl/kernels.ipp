// AOT kernels: the kernels of an exported model, and the calls of its steps.
#pragma once

#include <gsub/aot/impl/text_extern.ipp>
#include <gsub/aot/impl/text_reference.ipp>
#include <gsub/core/format.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/runtime/program.hpp>
#include <gsub/target/feature.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::aot::detail {

// `-m` options of a kernel.
GSUB_LAZY std::vector<std::string> options_of(runtime::kernel_source const& k) {
    std::vector<std::string> out{std::string{}};
    for (char c : k.isa_flags)
        if (c != ' ')
            out.back() += c;
        else if (!out.back().empty())
            out.emplace_back();
    if (out.back().empty()) out.pop_back();
    return out;
}

// Many bytes a few times are cut into so many parts, so that threads can share them.
GSUB_LAZY std::int64_t parts_of(runtime::copy_call const& c) {
    constexpr std::int64_t enough = 64; // positions
    return c.times < enough && 2 * c.bytes() >= runtime::bytes_worth_threads ? enough : std::int64_t{1};
}
// A copy as a text that is called as kernels are, with numbers, but no names.
GSUB_LAZY runtime::kernel_source text_of(runtime::copy_call const& c, std::int64_t parts) {
    auto text =
        format_text("extern \"C\" void gsub_step(void* const* b, long begin, long end) {{\n  for (long at = begin; at "
                    "< end; ++at) {{\n    const long t = at / {0}, k = at % {0};\n",
                    parts);
    for (auto const& m : c.moves) {
        if (m.size == 0) continue;
        auto const first = parts == 1 ? std::string{"0L"} : format_text("{}L * k / {}", m.size, parts);
        auto const size =
            parts == 1 ? format_text("{}L", m.size) : format_text("{}L * (k + 1) / {} - {}", m.size, parts, first);
        text += format_text(
            "    __builtin_memcpy((char*)b[{}] + {}L + t * {}L + {}, (const char*)b[{}] + {}L + t * {}L + {}, {});\n",
            m.to, m.to_at, m.to_step, first, m.from, m.from_at, m.from_step, first, size);
    }
    return {text + "  }\n}\n", "gsub_step", {}};
}

// *Errors* throws `unsupported` naming all steps without a text, and options whose presence cannot be asked for.
template <class = void>
class exported_kernels {
public:
    struct call {
        std::size_t kernel = 0;
        std::int64_t positions = 1;
        bool parallel = false;
        bool checks = false;       // tells of invalid inputs
        bool may_fail = false;     // is a function of the application's, and tells the context in one value more
        std::size_t workspace = 0; // bytes that a thread lends it
    };

    explicit exported_kernels(runtime::program const& p) {
        for (auto const& s : p.steps) calls_.push_back(call_of(p, s));
        if (!open_.empty()) throw error{std::move(open_)};
    }

    [[nodiscard]] std::vector<runtime::kernel_source> const& sources() const noexcept { return sources_; }
    [[nodiscard]] std::vector<call> const& calls() const noexcept { return calls_; } // of each step
    // Functions of the application, each once.
    [[nodiscard]] std::vector<std::string> const& functions() const noexcept { return functions_; }
    [[nodiscard]] std::vector<std::string_view> const& words() const noexcept { return words_; }

private:
    call call_of(runtime::program const& p, runtime::program_step const& s) {
        call c;
        if (auto const* const k = std::get_if<runtime::kernel_call>(&s.what)) {
            c.kernel = number_of(p.kernels[static_cast<std::size_t>(k->kernel)].source);
            c.positions = k->launch.positions;
            c.workspace = k->workspace;
            c.checks = k->checks;
            c.parallel = runtime::worth_threads(s);
        } else if (auto const* const copy = std::get_if<runtime::copy_call>(&s.what)) {
            auto const parts = parts_of(*copy);
            c.kernel = number_of(text_of(*copy, parts));
            c.positions = copy->times * parts;
            c.parallel = runtime::worth_threads(s);
        } else if (auto const* const own = function_of(s)) {
            c.kernel = number_of(text_of(*own));
            c.may_fail = true;
            if (std::string symbol{own->symbol()};
                std::find(functions_.begin(), functions_.end(), symbol) == functions_.end())
                functions_.push_back(std::move(symbol));
        } else if (auto const rows = rows_of(s)) {
            c.kernel = number_of(rows->source);
            c.positions = rows->rows;
            c.workspace = rows->workspace;
            c.parallel = 2 * rows->bytes >= runtime::bytes_worth_threads;
        } else {
            open_.push_back(without_text(s));
        }
        return c;
    }
    // The step of a function of the application that has a symbol.
    static runtime::user_op const* function_of(runtime::program_step const& s) {
        auto const* const call = std::get_if<runtime::external_call>(&s.what);
        auto const* const own = call ? dynamic_cast<runtime::user_op const*>(call->host.get()) : nullptr;
        if (!own || own->symbol().empty()) return nullptr;
        if (!is_symbol(own->symbol()))
            throw error{problem{errors::export_request,
                                s.name,
                                call->op,
                                format_text("{} is no name of a C function", quoted{own->symbol()}),
                                {}}};
        return own;
    }
    static std::optional<rows_text> rows_of(runtime::program_step const& s) {
        auto const* const call = std::get_if<runtime::reference_call>(&s.what);
        return call ? reference_text<>{*call}.written() : std::nullopt;
    }
    static problem without_text(runtime::program_step const& s) {
        if (auto const* const own = std::get_if<runtime::external_call>(&s.what))
            return {errors::not_exported, s.name, own->op, std::string{runtime::computed_by_user},
                    "an exported model calls functions of the application by `user_kernel::symbol`"};
        auto const* const reference = std::get_if<runtime::reference_call>(&s.what);
        return {errors::not_exported, s.name, reference ? operators_of(*reference) : kind_of(s),
                "there is no kernel for it, and what computes it is part of gsub",
                "optimize the model first, which may remove it"};
    }

    std::size_t number_of(runtime::kernel_source const& k) {
        auto const [found, is_new] =
            known_.emplace(format_text("{} {}\n{}", k.symbol, k.isa_flags, k.text), sources_.size());
        if (is_new) {
            check_options(k);
            sources_.push_back(k);
        }
        return found->second;
    }

    // Collects the words to ask the processor for.
    void check_options(runtime::kernel_source const& k) {
        GSUB_ASSERT(!k.symbol.empty() && (k.symbol[0] < '0' || k.symbol[0] > '9') &&
                        k.symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos,
                    "a kernel's symbol is of [a-z0-9_] and begins with no digit");
        for (auto const& option : options_of(k)) {
            auto const* const found = feature_of_option(option);
            if (!found || found->architecture != "x86-64")
                open_.push_back({errors::not_exported,
                                 k.symbol,
                                 {},
                                 format_text("option {}: what it needs cannot be asked of a processor", quoted{option}),
                                 "another instruction set"});
            else if (!found->word.empty() && std::find(words_.begin(), words_.end(), found->word) == words_.end())
                words_.push_back(found->word);
        }
    }

    std::vector<runtime::kernel_source> sources_;
    std::map<std::string, std::size_t> known_;
    std::vector<call> calls_;
    std::vector<std::string> functions_;
    std::vector<std::string_view> words_; // what the kernels need of a processor, as the compiler calls it
    std::vector<problem> open_;
};

} // namespace gsub::aot::detail
