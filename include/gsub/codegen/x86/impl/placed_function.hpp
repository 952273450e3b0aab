// placed_function: a kernel as machine instructions whose values have registers or places in memory.
#pragma once

#include <gsub/codegen/x86/impl/machine_lowering.hpp>
#include <gsub/codegen/x86/impl/register_allocation.hpp>
#include <gsub/core/config.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>

namespace gsub::codegen::detail {

/// Integer registers for values; `rbp` holds the frame, `rsp` the stack, `rax` and `rdx` serve single instructions.
inline constexpr std::int32_t integer_registers = 12;

/// What an encoder writes, and what a model of pipelines looks at: both see the same registers and reloads.
struct placed_function {
    kernel merged; ///< that was lowered, its branches joined; `made.regions` point into it
    machine_function made{};
    value_places vectors{}, integers{};
    std::int32_t lanes = 0;
    std::int32_t vector_registers = 0; ///< for values; those above are free for single instructions
    bool masks = false;                ///< AVX-512
    bool legacy = false;               ///< SSE4.2: the result of an instruction is its first operand
};

/// Lowers a kernel and places its values. Throws `unsupported` for what machine code does not do.
GSUB_LAZY [[nodiscard]] placed_function place_function(kernel const& k, isa const& isa);

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/x86/impl/placed_function.ipp>
#endif
