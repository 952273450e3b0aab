// Nest time model: predicts the time of a kernel from its loop nest in closed form. It counts what an unrolled body
// holds by the loops that each operand depends on, and writes no body out (docs/cost.md has its speed).
//
//     fused nest ─┬─ expressions × unrolled loops that they depend on ──► instructions of a body, its chain
//                 ├─ bounds, tails ──► part of the positions that exist         ├─► cycles of each stage ─┐
//                 ├─ loops ──► how often each body runs                         ┘                         ├─► seconds
//                 └─ accesses × all loops ──► bytes that each cache does not hold ────────────────────────┘
#pragma once

#include <gsub/core/interface.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/target/microarchitecture.hpp>

namespace gsub::cost {

/// Predicts the time of one call of the kernel that `codegen::lower` makes of a nest, as `time_of` does of that kernel.
/// Conditions count by the part of all positions for which they hold, each by itself, so that borders are what they
/// are in the mean; those that a reduction loop leaves open cost a cycle each time. *Requires* a nest that is lowered
/// for an instruction set of the row. *Complexity* O(loops × (expressions + accesses)): independent of how much is
/// unrolled. *Source* features of loop nests in closed form: Tuna, 2021, section 4; footprints against cache sizes: its
/// algorithm 2.
GSUB_LAZY [[nodiscard]] kernel_time nest_time_of(loop::fused_nest const& nest, microarchitecture const& core,
                                                 kernel_setting const& setting = {});

/// The kernel time model of `nest_time_of`, for `lowered_options::model`. Kernels that are given as kernel IR,
/// `time_of` predicts.
GSUB_LAZY [[nodiscard]] kernel_time_model closed_form_cycles() noexcept;

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/nest_tile.ipp>
#include <gsub/cost/impl/nest_time.ipp>
#include <gsub/cost/impl/nest_work.ipp>
#endif
