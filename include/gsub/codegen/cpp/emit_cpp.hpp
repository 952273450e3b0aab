// emit_cpp: prints kernel IR as C++ with the compiler's vector extensions. The text includes nothing, so that a
// compiler has little to read; the same text compiles for every instruction set.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstdint>
#include <string>

namespace gsub::codegen {

/// Signature of a compiled kernel: buffers in the order of `kernel::buffers`, and the range of the parallel loop.
using kernel_function = void (*)(void* const* buffers, std::int64_t begin, std::int64_t end);

/// Emits the C++ text of a kernel, complete and without includes; its function has C linkage and the name `symbol`.
/// Names of variables and buffers do not enter it, so equal computations have equal texts. *Requires* a symbol of
/// letters, digits and underscores, and a number of lanes that is a power of two.
GSUB_LAZY [[nodiscard]] std::string emit_cpp(kernel const& k, std::string const& symbol);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/emit_cpp.ipp>
#include <gsub/codegen/impl/statement_writer.ipp>
#endif
