// Pipeline model: cycles of a straight block of instructions on the ports of a core: once through, and per iteration of
// a loop that repeats it.
#pragma once

#include <gsub/machine/instruction.hpp>
#include <gsub/target/port_table.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gsub::machine {

/// Schedule of one pass through a block.
struct block_schedule {
    std::vector<double> start; ///< cycle in which each instruction starts
    double cycles = 0;         ///< when the last result is there
};

/// Schedules a block as the paper's list scheduler does: in each cycle, instructions whose operands are there start in
/// program order, one a port, at most as many as the core issues. A reader starts when its value is there (RAW); who
/// writes a register does not start before those that read or wrote it before (WAR, WAW). *Complexity* O(n) a
/// cycle. *Source* Tuna, 2021, section III.A.3; a processing unit is a port, of which classes may share several.
GSUB_LAZY [[nodiscard]] block_schedule list_schedule(std::span<instruction const> block, core_ports const& core);

/// What a loop's steady state waits for.
enum class pipeline_bound : std::uint8_t { ports, issue, chain, schedule };
/// Name of a bound, e.g. `ports`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(pipeline_bound b) noexcept;

/// Steady state of a loop whose body is a block. *Units* cycles an iteration.
struct steady_state {
    double ports = 0;          ///< work of the busiest set of ports, divided by these
    double issue = 0;          ///< instructions by issue width
    double chain = 0;          ///< the longest dependence from an iteration to the next
    double scheduled = 0;      ///< of a simulated stretch of iterations; at least about the bounds
    std::uint32_t busiest = 0; ///< the set of ports

    /// The greatest of the three bounds: never less for a block with more instructions, the same for any order that
    /// keeps its dependences.
    [[nodiscard]] double bound() const noexcept {
        auto const most = ports > issue ? ports : issue;
        return most > chain ? most : chain;
    }
    /// The prediction: the bound, or the schedule where that is longer.
    [[nodiscard]] double cycles() const noexcept { return scheduled > bound() ? scheduled : bound(); }
    /// What decides it; a schedule within 1 % of a bound is that bound's.
    [[nodiscard]] pipeline_bound deciding() const noexcept {
        if (scheduled > 1.01 * bound()) return pipeline_bound::schedule;
        return chain >= bound()   ? pipeline_bound::chain
               : ports >= bound() ? pipeline_bound::ports
                                  : pipeline_bound::issue;
    }
};

/// Bounds of a loop's steady state alone; `scheduled` stays 0. Registers are renamed, so that only true dependences
/// count. *Requires* at most `most_port_sets` different sets of ports. *Complexity* O(n * registers carried) and 2^k, k
/// of these sets. *Source* the analytic baseline of uiCA, 2022; the longest carried chain is a maximum cycle mean
/// (Karp, 1978).
GSUB_LAZY [[nodiscard]] steady_state steady_bounds(std::span<instruction const> block, core_ports const& core);

/// Steady state with a schedule: iterations run one after another through issue in order, a window of instructions in
/// flight, ports that start the oldest instruction whose operands are there, and retirement in order; an in-order core
/// starts them in program order. The cycles between two iterations far apart, by their distance. Data come from the
/// first cache; stores and loads do not depend on each other. *Complexity* O(n + window).
GSUB_LAZY [[nodiscard]] steady_state steady_schedule(std::span<instruction const> block, core_ports const& core);

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/pipeline.ipp>
#endif
