// The time of a kernel, predicted from its IR: instructions counted by the units that run them, bytes by the caches
// that they come from. Nothing runs and nothing is measured.
//
//     kernel IR ── walk ──► vector instructions by kind, chains, turns of loops       ┐
//               ── nest ──► bytes that each cache does not hold between their uses    ├─► cycles of a thread ─► seconds
//     microarchitecture: units, latencies, caches, bandwidths                         ┘
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace gsub::cost {

/// Where a buffer of a kernel lies when the kernel starts, or its results go.
enum class memory_level : std::uint8_t {
    cache,  ///< a cache that it fits in, as it has just been written: the second one where a thread wrote it alone
    last,   ///< the last cache
    memory, ///< no cache
};

/// How a kernel runs.
struct kernel_setting {
    unsigned threads = 1;                    ///< that its positions are shared by
    bool shared = false;                     ///< whether there is enough to do to wake them
    std::span<memory_level const> buffers{}; ///< of those that are no scratch, in order; `cache` where there are fewer
    double lost = 0; ///< part of what lies in the last cache that has to come from memory, see `lost_share`
};

/// What a kernel is expected to take. Instructions and bytes are those of all threads together.
struct kernel_time {
    double multiply_adds = 0; ///< vector instructions
    double arithmetic = 0;    ///< other vector instructions, a function as many as it has
    double loads = 0, stores = 0;
    double compute = 0;      ///< cycles of units, chains and loops
    double l2_bytes = 0;     ///< that the first cache takes from the second one
    double l3_bytes = 0;     ///< that the second one takes from the last one
    double memory_bytes = 0; ///< that the last one takes from memory
    double seconds = 0;      ///< of the call, threads woken and joined
};

/// Predicts one call of a kernel on a core of that kind. Loops whose limits depend on others are walked at their first,
/// last and some middle positions. *Requires* a kernel for an instruction set of the row. *Complexity* O(instructions),
/// times some hundred where limits depend on several loops.
/// *Source* footprints of loops against cache sizes: Tuna, 2021, algorithm 2; units and chains: the throughput bounds
/// of a basic block as in uiCA, 2022.
GSUB_LAZY [[nodiscard]] kernel_time time_of(codegen::kernel const& k, microarchitecture const& core,
                                            kernel_setting const& setting = {});

/// The part of the weights that a run reads from memory, where its network has so many bytes of them: what it reads
/// again after all others, the last cache has lost in part even where it could hold them all, as others use it too.
[[nodiscard]] inline double lost_share(double weight_bytes, microarchitecture const& core) noexcept {
    auto const part = weight_bytes / static_cast<double>(core.l3_bytes);
    return std::clamp((part - core.kept_share) / (core.lost_share - core.kept_share), 0.0, 1.0);
}

/// Seconds that a copy takes which reads and writes so many bytes together. Lines are read before they are written, so
/// that three bytes move where two are counted.
[[nodiscard]] inline double copy_seconds(double bytes, microarchitecture const& core) noexcept {
    auto const hertz = core.gigahertz * 1e9;
    auto const rate = bytes <= static_cast<double>(core.l2_bytes) / 2   ? core.l2_bytes_per_cycle * hertz
                      : bytes <= static_cast<double>(core.l3_bytes) / 2 ? core.l3_bytes_per_cycle * hertz
                                                                        : core.memory_bytes_per_second;
    return 1.5 * bytes / rate;
}

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/block_work.ipp>
#include <gsub/cost/impl/kernel_footprint.ipp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/kernel_work.ipp>
#endif
