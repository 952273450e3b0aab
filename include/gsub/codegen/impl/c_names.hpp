// c_names: how registers, variables, numbers and conditions of a kernel are written in C and what descends from it.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::codegen::detail {

/// Integer type of a kernel's variables.
struct c_integer {
    std::string_view type, suffix, without_sign, unsigned_suffix;
};
inline constexpr c_integer c_long{"long", "L", "unsigned long", "UL"}, c_int{"int", "", "unsigned", "u"};

GSUB_LAZY [[nodiscard]] std::string name_of_variable(variable v);
GSUB_LAZY [[nodiscard]] std::string name_of_register(reg r);
GSUB_LAZY [[nodiscard]] std::string operand(instruction const& i, int number);

GSUB_LAZY [[nodiscard]] std::string long_literal(std::int64_t v);
GSUB_LAZY [[nodiscard]] std::string text_of(affine const& a, c_integer const& as = c_long);
GSUB_LAZY [[nodiscard]] std::string text_of(limit const& l, c_integer const& as = c_long);
/// Whether all bounds hold.
GSUB_LAZY [[nodiscard]] std::string text_of(std::vector<loop::bound> const& bounds, c_integer const& as = c_long);

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/c_names.ipp>
#endif
