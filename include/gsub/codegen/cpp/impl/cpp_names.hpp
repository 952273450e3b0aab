// cpp_names: how vectors of a kernel are written in C++.
#pragma once

#include <gsub/codegen/impl/c_names.hpp>
#include <gsub/codegen/impl/indented_text.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::codegen::detail {

/// An operand of an instruction as a vector, whether it is one or a scalar.
GSUB_LAZY [[nodiscard]] std::string wide(instruction const& i, int number);
GSUB_LAZY void define(indented_text& text, reg r, std::string_view value);
/// Numbers of the lanes of a vector of `lanes` after a rotation, as arguments.
GSUB_LAZY [[nodiscard]] std::string rotated_lanes(std::int32_t lanes, std::int32_t by);

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/cpp_names.ipp>
#endif
