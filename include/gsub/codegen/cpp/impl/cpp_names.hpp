// cpp_names: how registers, variables, numbers and conditions of a kernel are written in C++.
#pragma once

#include <gsub/codegen/cpp/impl/indented_text.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::codegen::detail {

GSUB_LAZY [[nodiscard]] std::string name_of_variable(variable v);
GSUB_LAZY [[nodiscard]] std::string name_of_register(reg r);
/// An operand of an instruction; the same as a vector, whether it is one or a scalar.
GSUB_LAZY [[nodiscard]] std::string operand(instruction const& i, int number);
GSUB_LAZY [[nodiscard]] std::string wide(instruction const& i, int number);
GSUB_LAZY void define(indented_text& text, reg r, std::string_view value);

GSUB_LAZY [[nodiscard]] std::string long_literal(std::int64_t v);
GSUB_LAZY [[nodiscard]] std::string text_of(affine const& a);
GSUB_LAZY [[nodiscard]] std::string text_of(limit const& l);
/// Whether all bounds hold.
GSUB_LAZY [[nodiscard]] std::string text_of(std::vector<loop::bound> const& bounds);
/// Numbers of the lanes of a vector of `lanes` after a rotation, as arguments.
GSUB_LAZY [[nodiscard]] std::string rotated_lanes(std::int32_t lanes, std::int32_t by);

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/cpp_names.ipp>
#endif
