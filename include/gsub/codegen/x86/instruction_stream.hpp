// Instruction stream: the machine instructions that a kernel becomes, with registers, reloads and the loops around
// them, for models of pipelines. It needs no encoder and runs nothing.
//
//     kernel IR ── branches joined ──► machine instructions on values ── registers ──► stream of machine::instruction
//                                        └ regions: loops, sides of branches ────────────┘
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/config.hpp>
#include <gsub/core/result.hpp>
#include <gsub/machine/instruction.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gsub::codegen {

/// Region of a stream: the instructions of a turn of a loop, or of a side of a branch.
struct stream_region {
    statement const* of = nullptr;   ///< loop or branch of `instruction_stream::lowered`; null: the whole call
    bool otherwise = false;          ///< of a branch: where its conditions do not hold
    std::int32_t within = -1;        ///< region around; -1: of the whole call
    bool inner = true;               ///< whether there is no loop within
    std::size_t first = 0, last = 0; ///< instructions, those of regions within too
    /// Turns of a loop whose limits depend on nothing.
    std::optional<std::int64_t> turns{};

    [[nodiscard]] bool is_loop() const noexcept { return of && of->kind == statement_kind::loop; }
};

/// Instructions of a kernel's call as `emit_x86` encodes them, in their order; those of its fallback are left out. The
/// `loop` of an instruction is the region of the innermost loop around it. Registers of a number above
/// `stream_registers` are places of the stack frame: who loads one waits for who stored it.
struct instruction_stream {
    std::shared_ptr<kernel const> lowered{}; ///< the kernel with its branches joined, into which regions point
    std::vector<machine::instruction> code;
    std::vector<stream_region> regions; ///< the whole call first; outer ones before those within
};
inline constexpr machine::register_id stream_registers = 48;

/// Makes the instruction stream of a kernel: what its machine code executes where all conditions on single loads hold.
/// *Errors* `unsupported` as those of `emit_x86`. *Complexity* that of its register allocation, O(n (l + r)) for n
/// instructions, l loops and r registers.
GSUB_LAZY [[nodiscard]] result<instruction_stream> instructions_of(kernel const& k, isa const& isa);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/x86/impl/instruction_stream.ipp>
#endif
