// cpp_prelude: what stands before a kernel in its text: vectors of f32, and the functions of them that it calls.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <string>

namespace gsub::codegen::detail {

/// Text of types and functions. Where instructions have masks, and a maximum whose second operand counts where one is
/// NaN or both are zeros, compilers are told so: they compare and choose, and take a part element by element.
GSUB_LAZY [[nodiscard]] std::string cpp_prelude(kernel const& k);

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/cpp_prelude.ipp>
#endif
