#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/cpp/impl/block_writer.hpp>
#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/codegen/cpp/impl/cpp_prelude.hpp>
#include <gsub/codegen/cpp/impl/indented_text.hpp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>

namespace gsub::codegen {

namespace detail {

// Writes the functions of a kernel and their statements.
template <class = void>
class cpp_writer {
public:
    explicit cpp_writer(kernel const& k) : k_(k), blocks_(k, text_) {
        GSUB_ASSERT(k.lanes > 0 && (k.lanes & (k.lanes - 1)) == 0, "a kernel's vectors have 1, 2, 4, ... lanes");
    }

    std::string run(std::string const& symbol) {
        if (!k_.fallback.empty()) write_fallback();
        write_entry(symbol);
        return cpp_prelude(k_) + blocks_.functions() + text_.take();
    }

private:
    void write_fallback() {
        std::string parameters;
        for (std::size_t i = 0; i < k_.buffers.size(); ++i)
            parameters += format_text("{}{} __restrict b{}", i ? ", " : "", type_of(i), i);
        for (auto v : k_.fallback_parameters) parameters += format_text(", long {}", name_of_variable(v));
        text_.line(format_text("static __attribute__((noinline, cold)) void fallback({}) {{", parameters));
        write_scope(k_.fallback);
        text_.line("}");
    }

    void write_entry(std::string const& symbol) {
        text_.line(format_text(
            "extern \"C\" __attribute__((visibility(\"default\"))) void {}(void* const* b, long begin, long end) {{",
            symbol));
        text_.indent();
        if (k_.parallel < 0) text_.line("(void)begin, (void)end;");
        std::size_t given = 0;
        auto const workspace =
            std::count_if(k_.buffers.begin(), k_.buffers.end(), [](auto& b) { return !b.workspace; });
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
            auto const type = type_of(i);
            auto const from = k_.buffers[i].workspace
                                  ? format_text("((char*)b[{}] + {})", workspace, workspace_offset(k_, i))
                                  : format_text("b[{}]", given++);
            text_.line(format_text("{} __restrict b{} = ({}){};", type, i, type, from));
        }
        write(k_.body);
        text_.dedent();
        text_.line("}");
    }

    std::string type_of(std::size_t buffer) const {
        auto const& b = k_.buffers[buffer];
        return format_text("{}{}*", b.written ? "" : "const ", c_type(b.element));
    }

    void write(std::vector<statement> const& statements) {
        for (auto const& n : statements) switch (n.kind) {
            case statement_kind::block:
                blocks_.write(n.code);
                break;
            case statement_kind::fused_index:
                write_fused_index(n);
                break;
            case statement_kind::chosen_index:
                write_chosen_index(n);
                break;
            case statement_kind::branch:
                write_branch(n);
                break;
            case statement_kind::guard:
                write_guard(n);
                break;
            case statement_kind::loop:
                write_loop(n);
                break;
            }
    }
    void write_scope(std::vector<statement> const& statements) {
        text_.indent();
        write(statements);
        text_.dedent();
    }

    void write_fused_index(statement const& n) {
        auto const quotient = n.divisor == 1 ? name_of_variable(n.of)
                                             : format_text("{} / {}", name_of_variable(n.of), long_literal(n.divisor));
        text_.line(format_text("const long {} = {} % {};", name_of_variable(n.var), quotient, long_literal(n.extent)));
    }

    void write_chosen_index(statement const& n) {
        text_.line("{");
        text_.indent();
        blocks_.choose(n);
        write(n.body);
        text_.dedent();
        text_.line("}");
    }

    void write_branch(statement const& n) {
        text_.line(format_text("if ({}) {{", text_of(n.conditions)));
        write_scope(n.body);
        if (!n.otherwise.empty()) {
            text_.line("} else {");
            write_scope(n.otherwise);
        }
        text_.line("}");
    }

    void write_guard(statement const& n) {
        std::string arguments;
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) arguments += format_text("{}{}", i ? ", b" : "b", i);
        for (auto const& a : n.arguments) arguments += ", " + text_of(a);
        auto const guarded = name_of_register(n.guarded);
        text_.line(
            format_text("if (__builtin_expect(!({} - {} == 0.0f), 0)) fallback({});", guarded, guarded, arguments));
    }

    void write_loop(statement const& n) {
        text_.line("{");
        text_.indent();
        auto const own = n.var == k_.parallel;
        auto const begin = own ? "begin" : limit_of(n.begin, true, n.var);
        auto const end = own ? "end" : limit_of(n.end, false, n.var);
        auto const v = name_of_variable(n.var);
        text_.line(format_text("for (long {} = {}; {} < {}; ++{}) {{", v, begin, v, end, v));
        write_scope(n.body);
        text_.line("}");
        text_.dedent();
        text_.line("}");
    }

    // A limit declared before its loop, where it is more than a number.
    std::string limit_of(std::vector<limit> const& limits, bool greatest, variable v) {
        if (limits.size() == 1 && limits[0].divisor == 1) return text_of(limits[0].value);
        auto const which = format_text("{}{}", greatest ? "lo" : "hi", v);
        text_.line(format_text("long {} = {};", which, text_of(limits[0])));
        for (std::size_t i = 1; i < limits.size(); ++i) {
            auto const other = format_text("{}_{}", which, i);
            text_.line(format_text("const long {} = {};", other, text_of(limits[i])));
            text_.line(
                format_text("{} = {}{}{} ? {} : {};", which, which, greatest ? " < " : " > ", other, other, which));
        }
        return which;
    }

    kernel const& k_;
    indented_text text_;
    block_writer blocks_;
};

} // namespace detail

GSUB_LAZY_BODY std::string emit_cpp(kernel const& k, std::string const& symbol) {
    return detail::cpp_writer{k}.run(symbol);
}

} // namespace gsub::codegen
