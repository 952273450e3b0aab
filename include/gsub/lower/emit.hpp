// The last pass of lowering: scheduled kernels become a program.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/runtime/program.hpp>

namespace gsub {

/// Lowers each kernel to kernel IR and prints it; kernels of equal text are one. Weights are packed in the order that
/// their kernels read, the largest first, by all `threads`, and give their memory back as they are packed where nothing
/// else holds them. *Requires* stage `scheduled`. *Errors* `usage` for a kernel graph that is illegal, and for
/// constants without elements and kernels of the application without functions, as a graph that was read from a text
/// has; those of `codegen::lower`.
GSUB_LAZY [[nodiscard]] result<runtime::program> emit(kernel_graph g, isa const& isa, executor* threads = nullptr);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/emit.ipp>
#include <gsub/lower/impl/weight_packer.ipp>
#endif
