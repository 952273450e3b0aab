// kernel_loops: the loops of a kernel as a loop map wants them, and what runs in them, counted without a compiler.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/machine/loop_map.hpp>

#include <cstdint>
#include <vector>

namespace gsub::codegen {

/// Vector operations of a kernel. *Units* instructions of the kernel, of all lanes each.
struct kernel_counts {
    double multiply_adds = 0, loads = 0, broadcasts = 0, stores = 0, others = 0;
    double joined = 0; ///< of the broadcasts: those that come with another one, on a device
    friend bool operator==(kernel_counts const&, kernel_counts const&) = default;
};

/// Loops of a kernel, and the operations of a call for all positions of its parallel loop.
struct kernel_loops {
    std::vector<machine::source_loop> sources; ///< in pre-order
    std::vector<kernel_counts> own;            ///< of each loop: what its body runs, without loops inside it
    std::vector<double> runs;                  ///< of each loop's body in a call
    kernel_counts total;
    /// Whether all is counted exactly: limits depend at most on loops of constant ones, nothing is in a branch whose
    /// share is not known. Else loops whose mean trips are not known count once, and both sides of such branches.
    bool exact = true;
};

/// What is counted: the text as it stands, both sides of a branch as if they ran each time, which is what a loop map of
/// assembly sees; or what runs on a device, each side by the share of positions that take it, as far as they are known.
enum class kernel_counting : std::uint8_t { of_text, of_device };

/// Reads the loops of a kernel, in the order of its text; trips of the parallel loop are its extent. Trips that
/// depend on loops around have their mean over all positions of these, of which up to 65536 are looked at. This is the
/// exact map of our own emitters, which emit each loop once: a loop map of compiled assembly is compared with it. The
/// fallback is left out; on a device, sides of branches that no position takes are too. *Complexity* linear, and the
/// positions that limits and branches depend on.
GSUB_LAZY [[nodiscard]] kernel_loops loops_of(kernel const& k, kernel_counting counting = kernel_counting::of_text);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/ir/impl/kernel_loops.ipp>
#endif
