#pragma once

#include <gsub/codegen/impl/c_names.hpp>
#include <gsub/codegen/impl/indented_text.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/format.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::codegen::detail {

/// Header of the parallel loop: texts of its first position, the one behind the last, and the step.
struct own_range {
    std::string_view begin, end, step;
};

/// Writes the statements of a kernel in C, or what descends from it. `Own` is the class that derives from it and writes
/// what its language has of its own: `write_block(n)`, `before_loop(n)`, `write_choice(n)` (declares a chosen index),
/// `write_guard(n)` and `range()`, an `own_range`.
template <class Own>
class statement_writer {
protected:
    explicit statement_writer(kernel const& k, c_integer const& integer = c_long) : k_(k), integer_(integer) {}

    void write(std::vector<statement> const& statements) {
        for (auto const& n : statements) switch (n.kind) {
            case statement_kind::block:
                own().write_block(n);
                break;
            case statement_kind::fused_index:
                write_fused_index(n);
                break;
            case statement_kind::chosen_index:
                text_.line("{");
                text_.indent();
                own().write_choice(n);
                write(n.body);
                text_.dedent();
                text_.line("}");
                break;
            case statement_kind::branch:
                write_branch(n);
                break;
            case statement_kind::guard:
                own().write_guard(n);
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

    kernel const& k_;
    c_integer const& integer_; // of variables
    indented_text text_;

private:
    Own& own() noexcept { return static_cast<Own&>(*this); }

    void write_fused_index(statement const& n) {
        auto const of = name_of_variable(n.of);
        auto const quotient = n.divisor == 1 ? of : format_text("{} / {}{}", of, n.divisor, integer_.suffix);
        text_.line(format_text("const {} {} = {} % {}{};", integer_.type, name_of_variable(n.var), quotient, n.extent,
                               integer_.suffix));
    }

    void write_branch(statement const& n) {
        text_.line(format_text("if ({}) {{", text_of(n.conditions, integer_)));
        write_scope(n.body);
        if (!n.otherwise.empty()) {
            text_.line("} else {");
            write_scope(n.otherwise);
        }
        text_.line("}");
    }

    void write_loop(statement const& n) {
        own().before_loop(n);
        text_.line("{");
        text_.indent();
        auto const v = name_of_variable(n.var);
        if (n.var == k_.parallel) {
            own_range const r = own().range();
            text_.line(format_text("for ({0} {1} = {2}; {1} < {3}; {4}) {{", integer_.type, v, r.begin, r.end,
                                   r.step.empty() ? format_text("++{}", v) : format_text("{} += {}", v, r.step)));
        } else {
            auto const begin = limit_of(n.begin, true, n.var), end = limit_of(n.end, false, n.var);
            text_.line(format_text("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", integer_.type, v, begin, end));
        }
        write_scope(n.body);
        text_.line("}");
        text_.dedent();
        text_.line("}");
    }

    // A limit declared before its loop, where it is more than a number.
    std::string limit_of(std::vector<limit> const& limits, bool greatest, variable v) {
        if (limits.size() == 1 && limits[0].divisor == 1) return text_of(limits[0].value, integer_);
        auto const which = format_text("{}{}", greatest ? "lo" : "hi", v);
        text_.line(format_text("{} {} = {};", integer_.type, which, text_of(limits[0], integer_)));
        for (std::size_t i = 1; i < limits.size(); ++i) {
            auto const other = format_text("{}_{}", which, i);
            text_.line(format_text("const {} {} = {};", integer_.type, other, text_of(limits[i], integer_)));
            text_.line(format_text("{0} = {0}{1}{2} ? {2} : {0};", which, greatest ? " < " : " > ", other));
        }
        return which;
    }
};

} // namespace gsub::codegen::detail
