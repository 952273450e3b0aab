// Assembled time: predicts the time of a kernel from the assembly that a compiler has made of it, for the machine that
// the compiler knows; nothing of that machine is needed.
//
//     kernel IR ── emit_cpp ──► C++ ── compiler ──► assembly ── parse_assembly ──► blocks of instructions
//               ── loops_of ──► loops ───────────────────────── map_loops ───────► how often each block runs
//               ── walk ──────► turns, stages, bytes ─────────────────────────────► cycles of the ports, and of memory
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/machine/assembly.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <cstddef>
#include <vector>

namespace gsub::cost {

/// Assembled time of a kernel, and how well its assembly was understood.
struct assembled_time {
    kernel_time time;
    double multiply_adds = 0;                          ///< vector instructions of the assembly
    std::size_t loops = 0;                             ///< of the assembly
    std::size_t unmatched = 0;                         ///< of these, those that are of no loop of the kernel
    std::vector<machine::assembly_warning> warnings{}; ///< by line of the text: what was counted by a guess

    /// Whether each loop was mapped, and nothing guessed.
    [[nodiscard]] bool mapped() const noexcept { return unmatched == 0 && warnings.empty(); }
};

/// Predicts the time of one call of a kernel as `scheduled_time_of` does, but for its instructions, which are those of
/// `f`: what a compiler has made of `codegen::emit_cpp(k, ...)`. Loops of the assembly are mapped to those of the
/// kernel
/// (`machine::map_loops`); turns that the assembly does not tell are those of the kernel's walk. Of two ways through a
/// turn each is taken as often as the walk says of the loops in it, and else half the time; a way that calls a
/// function, beside one that does not, is the kernel's fallback and not taken. Where compilers have merged ways, the
/// assembly has other multiply-adds than the kernel: its cycles are scaled to those of the kernel, with a warning from
/// 5 % on. *Requires* a row of the assembly's architecture. *Errors* `unsupported`, naming the function and its line:
/// those of `map_loops`; no instruction at all; less than half or more than twice the multiply-adds of the kernel.
/// *Complexity* that of `map_loops`, and the instructions played. *Source* Tuna, 2021, algorithm 1 and section III.A.3.
GSUB_LAZY [[nodiscard]] result<assembled_time> assembled_time_of(codegen::kernel const& k,
                                                                 machine::assembly_function const& f,
                                                                 microarchitecture const& core,
                                                                 kernel_setting const& setting = {});

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/assembled_time.ipp>
#include <gsub/cost/impl/assembly_regions.ipp>
#include <gsub/cost/impl/loop_ties.ipp>
#include <gsub/cost/impl/region_cycles.ipp>
#endif
