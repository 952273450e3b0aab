#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/cpp/impl/block_writer.hpp>
#include <gsub/codegen/cpp/impl/cpp_names.hpp>
#include <gsub/codegen/cpp/impl/cpp_prelude.hpp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/statement_writer.ipp>
#include <gsub/core/format.hpp>

#include <algorithm>

namespace gsub::codegen {

namespace detail {

// Writes the functions of a kernel and their statements.
template <class = void>
class cpp_writer : statement_writer<cpp_writer<>> {
    using base = statement_writer<cpp_writer<>>;
    friend base;
    using base::k_, base::text_, base::write, base::write_scope;

public:
    explicit cpp_writer(kernel const& k) : base(k), blocks_(k, text_) {
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

    void write_block(statement const& n) { blocks_.write(n.code); }
    void write_choice(statement const& n) { blocks_.choose(n); }
    static void before_loop(statement const&) noexcept {}
    static own_range range() noexcept { return {"begin", "end", {}}; }

    void write_guard(statement const& n) {
        std::string arguments;
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) arguments += format_text("{}{}", i ? ", b" : "b", i);
        for (auto const& a : n.arguments) arguments += ", " + text_of(a);
        auto const guarded = name_of_register(n.guarded);
        text_.line(
            format_text("if (__builtin_expect(!({} - {} == 0.0f), 0)) fallback({});", guarded, guarded, arguments));
    }

    block_writer blocks_;
};

} // namespace detail

GSUB_LAZY_BODY std::string emit_cpp(kernel const& k, std::string const& symbol) {
    return detail::cpp_writer{k}.run(symbol);
}

} // namespace gsub::codegen
