// emit: the last pass of lowering, from scheduled kernels to a program.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/runtime/program.hpp>

namespace gsub {

/// Emits a program: lowers each kernel to kernel IR and prints it; kernels of equal text are one. All `threads` pack
/// weights in the order that their kernels read, the largest first; each is freed as it is packed where nothing else
/// holds it. *Requires* stage `scheduled`. *Errors* `usage` for an illegal kernel graph, and for constants without
/// elements and application kernels without functions, as in a graph that was read from a text; those of
/// `codegen::lower`.
GSUB_LAZY [[nodiscard]] result<runtime::program> emit(kernel_graph g, isa const& isa, executor* threads = nullptr);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/emit.ipp>
#include <gsub/lower/impl/weight_packer.ipp>
#endif
