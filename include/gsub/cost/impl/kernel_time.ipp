#pragma once

#include <gsub/cost/impl/kernel_footprint.ipp>
#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/kernel_time.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gsub::cost {

namespace detail {

// Found by comparing predictions with clocks, as the constants of `kernel_work` are.
inline constexpr double call_seconds = 7e-8;
inline constexpr double wake_seconds = 2e-6;      // on a Xeon the smallest kernels lose 3 to 4 of what threads save
inline constexpr double caches_not_hidden = 0.25; // of the shorter one of computing and reading caches
inline constexpr double written_factor = 1.5;     // of bytes that are written: their lines come in before, and go back

// Cycles of a stage that computes while caches are read. Scheduled cycles are the units' alone: what prefetching brings
// in time costs nothing more, and the longer one decides but where both are about as long; caches then give more than
// what a copy of large arrays gets.
GSUB_LAZY [[nodiscard]] double join_near(double compute, double moved, bool scheduled) {
    if (!scheduled) return std::max(compute, moved) + caches_not_hidden * std::min(compute, moved);
    constexpr double sharpness = 8, faster = 1.3;
    auto const longer = std::max(compute, moved / faster), shorter = std::min(compute, moved / faster);
    return longer <= 0 ? 0 : longer * std::pow(1 + std::pow(shorter / longer, sharpness), 1 / sharpness);
}

// Joins the cycles that stages compute for with the bytes that they move. `made`: what was counted of the kernel;
// `scheduled`: whether the cycles are those of a schedule.
GSUB_LAZY kernel_time with_memory(kernel_time made, codegen::kernel const& k, microarchitecture const& core,
                                  kernel_setting const& setting, walked_loops const& loops, bool scheduled = false) {
    kernel_footprint<> footprint{k, core, loops};
    auto const all = footprint.run();
    std::size_t given = 0;
    std::vector<memory_level> homes;
    for (auto const& b : k.buffers) {
        auto home = memory_level::cache;
        if (!b.workspace) {
            if (given < setting.buffers.size()) home = setting.buffers[given];
            ++given;
        }
        homes.push_back(home);
    }
    auto const shared = setting.shared && setting.threads > 1 && k.parallel >= 0 && k.parallel_extent > 1;
    auto const threads = shared ? std::min<double>(setting.threads, static_cast<double>(k.parallel_extent)) : 1.0;
    struct moved_bytes {
        double l2 = 0, l3 = 0, memory = 0;
    };
    std::vector<moved_bytes> stages(loops.stage_cycles.size());
    for (auto const& t : all) {
        auto& stage = stages[t.stage];
        auto const& b = k.buffers[static_cast<std::size_t>(t.buffer)];
        auto const factor = t.written ? written_factor : 1.0;
        // What is touched for the first time, wherever it lies.
        auto const cold = std::min(t.bytes(), std::max(footprint.buffer_bytes(t.buffer), 64.0));
        stage.l2 += factor * t.missed[0];
        auto const home = homes[static_cast<std::size_t>(t.buffer)];
        // What has just been written lies in the second cache as far as that holds it; so does a thread's own memory.
        auto const kept = (b.workspace || (home == memory_level::cache && !shared)) && cold <= footprint.sizes()[1];
        stage.l3 += factor * std::max(0.0, t.missed[1] - (kept ? cold : 0));
        if (b.workspace) continue;
        auto const in_last = home != memory_level::memory && cold <= footprint.sizes()[2];
        auto const lost = home == memory_level::last ? std::clamp(setting.lost, 0.0, 1.0) : 0.0;
        stage.memory += factor * std::max(0.0, t.missed[2] - (in_last ? cold * (1 - lost) : 0));
    }
    auto const hertz = core.gigahertz * 1e9;
    auto const positions = static_cast<double>(k.parallel < 0 ? 1 : k.parallel_extent);
    // Threads take pieces of the positions, so that the last one may be alone.
    auto const uneven = threads > 1 ? std::ceil(positions / threads) * threads / positions : 1.0;
    auto const share = std::min(uneven, 1.0 + 1.0 / threads) / threads; // of a thread
    auto const memory_rate = (threads > 1 ? core.memory_bytes_in_all : core.memory_bytes_per_second) / hertz;
    made.threads = static_cast<unsigned>(threads), made.part = share;
    double cycles = 0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        auto const& bytes = stages[i];
        made.l2_bytes += bytes.l2, made.l3_bytes += bytes.l3, made.memory_bytes += bytes.memory;
        auto const compute = loops.stage_cycles[i] * share;
        auto const moved = std::max(bytes.l2 / core.l2_bytes_per_cycle, bytes.l3 / core.l3_bytes_per_cycle) / threads;
        auto const memory = bytes.memory / memory_rate;
        auto const near = join_near(compute, moved, scheduled);
        cycles += std::max(near, memory) + core.not_hidden * std::min(compute, memory);
    }
    made.seconds = cycles / hertz + call_seconds + (shared ? wake_seconds : 0);
    return made;
}

} // namespace detail

GSUB_LAZY_BODY kernel_time time_of(codegen::kernel const& k, microarchitecture const& core,
                                   kernel_setting const& setting) {
    detail::kernel_work<> const work{k, core};
    return detail::with_memory(work.counted(), k, core, setting, work.loops());
}

} // namespace gsub::cost
