// jit_emitter: builds kernels as machine code in memory, without a compiler. The header of the component `gsub::jit`.
#pragma once

#include <gsub/runtime/program.hpp>
#include <gsub/target/isa.hpp>

namespace gsub {

/// Emits a kernel as machine code in memory by `codegen::emit_x86`, for `build_options::emitter`. *Errors* those of
/// `codegen::emit_x86`.
///
///     gsub::build(model, gsub::host(), {.emitter = &gsub::jit_emitter});
[[nodiscard]] result<runtime::loaded_kernel> jit_emitter(codegen::kernel const& k, isa const& isa);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/jit.ipp>
#endif
