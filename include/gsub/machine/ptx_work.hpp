// ptx_work: what a thread of a PTX kernel does in a launch: trips of its loops, instructions by class, live registers.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/machine/natural_loops.hpp>
#include <gsub/machine/ptx.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace gsub::machine {

/// Launch of a kernel, as far as it decides what one of its threads does.
struct ptx_launch {
    std::array<std::int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};               ///< sizes along x, y, z
    std::array<std::int64_t, 3> block_index{0, 0, 0}, thread_index{0, 0, 0}; ///< of the thread that is counted
    std::vector<std::optional<std::int64_t>> parameters{}; ///< those that are known integers, by number
};

/// Instructions of one class, space and width that a thread runs.
struct ptx_count {
    ptx_class what = ptx_class::other;
    ptx_space space = ptx_space::none;
    std::int32_t bytes = 0; ///< of one access to memory
    double times = 0;
};

/// Work of a thread.
struct ptx_work {
    loop_forest forest;                     ///< loops of the blocks that run
    std::vector<double> runs;               ///< of each block of the kernel; 0: the thread passes it by
    std::vector<ptx_count> counts;          ///< by class, then space, then bytes
    double multiply_adds = 0;               ///< in tensor cores, of the warp or the group of four that issues them
    std::vector<assembly_warning> warnings; ///< by line: what was counted by a guess

    /// Instructions of a class, all spaces and widths, or one space alone.
    GSUB_LAZY [[nodiscard]] double times(ptx_class what, std::optional<ptx_space> space = {}) const noexcept;
    /// Bytes that a class moves in a space.
    GSUB_LAZY [[nodiscard]] double bytes(ptx_class what, ptx_space space) const noexcept;
};

/// Counts what one thread of a kernel runs. Integers that the launch decides are followed through copies and
/// arithmetic, so that branches which they decide go one way; trips of loops are those of `natural_loops`. Elsewhere
/// both sides of a branch run, two that exclude each other half as often; a predicated instruction runs; a loop of
/// unknown trips runs once, with a warning. *Errors* `unsupported`: a kernel of which too many registers decide
/// branches; those of `natural_loops`. *Complexity* O(instructions * registers that decide branches). *Source* Tuna,
/// 2021, algorithm 3, whose two maps of registers these values are; Wegman and Zadeck, 1991.
GSUB_LAZY [[nodiscard]] result<ptx_work> count_ptx(ptx_kernel const& k, ptx_launch const& launch = {});

/// The most registers of 32 bits that hold values which are read later, at any place of a kernel; predicates apart.
/// *Complexity* O(blocks * registers) a sweep, few sweeps.
GSUB_LAZY [[nodiscard]] std::int64_t live_registers(ptx_kernel const& k);

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/ptx_values.ipp>
#include <gsub/machine/impl/ptx_work.ipp>
#endif
