// emit_x86: kernel IR as machine code in memory, through Xbyak. A component of its own: `gsub/jit.hpp`.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <memory>

namespace gsub::codegen {

/// Machine code of a kernel: a function with the signature `kernel_function`. Its memory is writable while it is made,
/// and executable and no longer writable afterwards. Copies share it.
struct machine_code {
    std::shared_ptr<void const> memory{};
    void* entry = nullptr;
    std::size_t bytes = 0; ///< instructions and literals
};

/// Emits the machine code of a kernel. It takes f32 with all functions but powers, to the bounds of
/// `codegen/cpp/vector_math.hpp`; moves of any 32-bit elements; i32 and i64 that are loaded to be numbers of f32, or
/// that all lanes share to choose an entry. Vectors have 16 lanes (AVX-512), 8 or 4 (AVX2),
/// 4 or 2 (SSE4.2). *Errors* `unsupported` naming what
/// it does not take, or the instruction set: `emit_cpp` takes all; `internal` where the encoder refuses what it is
/// given. *Complexity* O(n (l + r)) for n instructions, l loops and r registers.
GSUB_LAZY [[nodiscard]] result<machine_code> emit_x86(kernel const& k, isa const& isa);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/x86/impl/emit_x86.ipp>
#endif
