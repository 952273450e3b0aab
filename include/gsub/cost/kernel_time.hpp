// Kernel time model: predicts the time of a kernel from its IR. It counts instructions by the units that run them and
// bytes by the caches that they come from; nothing runs and nothing is measured.
//
//     kernel IR ── walk ──► vector instructions by kind, chains, turns of loops       ┐
//               ── nest ──► bytes that each cache does not hold between their uses    ├─► cycles of a thread ─► seconds
//     microarchitecture: units, latencies, caches, bandwidths                         ┘
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/interface.hpp>
#include <gsub/core/result.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace gsub::loop {
class fused_nest;
}

namespace gsub::cost {

/// Memory level of a kernel's buffer: where it lies when the kernel starts, or where results go.
enum class memory_level : std::uint8_t {
    cache,  ///< the cache that it fits in, as it was just written: the second one where one thread wrote it alone
    last,   ///< the last cache
    memory, ///< no cache
};

/// Execution setting of a kernel: threads, and where its buffers lie.
struct kernel_setting {
    unsigned threads = 1;                    ///< that share its positions
    bool shared = false;                     ///< whether there is enough work to wake them
    std::span<memory_level const> buffers{}; ///< of all but the workspace, in order; `cache` where there are fewer
    double lost = 0; ///< part of what lies in the last cache that has to come from memory, see `evicted_share`
};

/// Predicted time and counts of a kernel. Instructions and bytes are those of all threads together.
struct kernel_time {
    double multiply_adds = 0; ///< vector instructions
    double arithmetic = 0;    ///< other vector instructions; a function counts all of its own
    double loads = 0, stores = 0;
    double scalar_loads = 0; ///< of `loads`: of one element, for all lanes or for one
    double others = 0;       ///< that run on no vector unit: moves of registers, what decides lanes
    double turns = 0;        ///< of loops
    double control = 0;      ///< cycles of loops, branches and positions; a schedule counts them in `compute` alone
    double compute = 0;      ///< cycles of units, chains and loops
    double l2_bytes = 0;     ///< that the first cache takes from the second one
    double l3_bytes = 0;     ///< that the second one takes from the last one
    double memory_bytes = 0; ///< that the last one takes from memory
    unsigned threads = 1;    ///< that share it
    double part = 1;         ///< of `compute` that the busiest of them does
    double seconds = 0;      ///< of the call, threads woken and joined
};

/// Predicts the time of one call of a kernel on a core. It walks loops whose limits depend on others at their first,
/// last and some middle positions. *Requires* a kernel for an instruction set of the row. *Complexity* O(instructions),
/// times some hundred where limits depend on several loops. *Source* footprints of loops against cache sizes: Tuna,
/// 2021, algorithm 2; units and chains: the throughput bounds of a basic block as in uiCA, 2022.
GSUB_LAZY [[nodiscard]] kernel_time time_of(codegen::kernel const& k, microarchitecture const& core,
                                            kernel_setting const& setting = {});

/// Kernel time source: predicts times by something that it keeps, as a compiler that it starts. Safe to ask from
/// several threads.
class kernel_time_source : public interface {
public:
    /// Time of one call. *Errors* `unsupported` of kernels that it has no time for.
    [[nodiscard]] virtual result<kernel_time> time_of(codegen::kernel const& k, isa const& isa,
                                                      microarchitecture const& core, kernel_setting const& setting) = 0;
    /// Hears of kernels that are going to be asked for, so that it can do the work of several at once.
    virtual void prepare(std::span<codegen::kernel const>, isa const&, executor&) {}
};

/// Kernel time model: predicts the time of a call in place of `time_of`, e.g. `scheduled_cycles()`.
struct kernel_time_model {
    using function = result<kernel_time> (*)(codegen::kernel const&, isa const&, microarchitecture const&,
                                             kernel_setting const&);
    std::string_view name = "counted"; ///< tells models apart, in keys of what they predicted
    function of = nullptr;             ///< null: `time_of`. *Errors* `unsupported` of kernels that it has no time for
    std::shared_ptr<kernel_time_source> source{}; ///< in place of `of`
    /// Predicts a kernel of a loop nest before that is lowered, in place of all others.
    kernel_time (*of_nest)(loop::fused_nest const&, microarchitecture const&, kernel_setting const&) = nullptr;
};

/// Evicted share: the part of its weights that a run reads from memory, by their bytes. It reads each weight again
/// after all others; by then the last cache has lost a part even where it could hold them all, as others use it too.
[[nodiscard]] inline double evicted_share(double weight_bytes, microarchitecture const& core) noexcept {
    auto const part = weight_bytes / static_cast<double>(core.l3_bytes);
    return std::clamp((part - core.kept_share) / (core.lost_share - core.kept_share), 0.0, 1.0);
}

/// Time of a copy in seconds; `bytes` counts reads and writes together. Lines are read before they are written, so
/// three bytes move where two are counted.
[[nodiscard]] inline double copy_seconds(double bytes, microarchitecture const& core) noexcept {
    auto const hertz = core.gigahertz * 1e9;
    auto const rate = bytes <= static_cast<double>(core.l2_bytes) / 2   ? core.l2_bytes_per_cycle * hertz
                      : bytes <= static_cast<double>(core.l3_bytes) / 2 ? core.l3_bytes_per_cycle * hertz
                                                                        : core.memory_bytes_per_second;
    return 1.5 * bytes / rate;
}

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/block_runs.ipp>
#include <gsub/cost/impl/block_work.ipp>
#include <gsub/cost/impl/kernel_footprint.ipp>
#include <gsub/cost/impl/kernel_stages.ipp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/impl/touched.ipp>
#include <gsub/cost/impl/touched_blocks.ipp>
#endif
