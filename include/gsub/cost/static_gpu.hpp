// static_gpu: time of a kernel on a GPU that need not be here, and the schedules and algorithms that it finds fastest.
//
// A position of a kernel is a warp (`codegen/simt/thread_group.hpp`). What its instructions take is bounded four ways:
// by the schedulers of a multiprocessor, which start an instruction of a warp a cycle each; by its multiply-adds; by
// its loads and stores, 128 bytes of a warp a cycle from the first cache and 64 of vectors from the second; and by the
// latency of each block of instructions that loads, behind which a warp alone waits. A grid of few positions leaves
// multiprocessors idle, one of many runs in rounds of as many warps as registers and shared memory let be resident.
// What memory moves bounds all of it. Latencies, the share of the second cache and the time of a launch are estimates;
// nobody here could compare the times with a device (`gpu_architecture::modelled_only`).
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/simt/thread_group.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/lower/select.hpp>
#include <gsub/target/gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace gsub::cost {

/// Time of a kernel on a GPU, and what bounds it. *Units* seconds of a launch; cycles of the busiest multiprocessor.
struct gpu_time {
    double seconds = 0;
    double issue_cycles = 0, multiply_cycles = 0, memory_cycles = 0, latency_cycles = 0;
    double moved_seconds = 0;        ///< of memory of the device
    std::int64_t resident_warps = 0; ///< that one multiprocessor holds at most
    codegen::thread_group group;
};
/// Predicts a kernel. *Complexity* that of `codegen::loops_of`.
GSUB_LAZY [[nodiscard]] gpu_time time_of(codegen::kernel const& k, gpu const& on);
/// Time of a copy in memory of the device, in seconds; `bytes` counts reads and writes together.
GSUB_LAZY [[nodiscard]] double copy_seconds(double bytes, gpu const& on) noexcept;
/// Time of what moves between the host and a device before and behind a step that runs on the host, in seconds.
GSUB_LAZY [[nodiscard]] double transfer_seconds(double bytes) noexcept;

/// Options of `static_gpu`.
struct static_gpu_options {
    std::size_t points = 256; ///< scored of a space, where it has more
};

/// Schedule source and algorithm choice by predicted times. Copies share what they have found; safe to ask from several
/// threads. *Complexity* of a choice: a lowering for each point scored, once for each descriptor.
class static_gpu {
public:
    GSUB_LAZY explicit static_gpu(gpu const& on, static_gpu_options const& options = {});

    [[nodiscard]] gpu const& device() const noexcept { return *on_; }
    /// Time of a kernel with a configuration; infinite where it cannot be lowered.
    GSUB_LAZY [[nodiscard]] double seconds(kernels::descriptor const& d, loop::configuration const& c) const;
    /// The fastest point of those scored: the counted one, some drawn by a fixed seed, and the way down from each.
    GSUB_LAZY [[nodiscard]] loop::configuration choose(kernels::descriptor const& d, isa const& isa,
                                                       loop::config_space const& space) const;
    /// The alternative whose fastest point is fastest.
    GSUB_LAZY [[nodiscard]] std::size_t choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const;

private:
    struct found {
        std::uint64_t point = 0;
        double seconds = 0;
    };
    GSUB_LAZY [[nodiscard]] found best_of(kernels::descriptor const& d, loop::config_space const& space) const;

    gpu const* on_;
    static_gpu_options options_;
    struct known_points { // by the texts of descriptors
        std::mutex mutex;
        std::map<std::string, found> best;
    };
    std::shared_ptr<known_points> known_;
};
static_assert(schedule_source<static_gpu> && algorithm_choice<static_gpu>);

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/static_gpu.ipp>
#endif
