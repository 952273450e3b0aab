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
inline constexpr double memory_latency = 75e-9;   // seconds until a line is there
inline constexpr double lines_in_flight = 64;     // that a core waits for at once, at most
inline constexpr double prefetched_lines = 12;    // that prefetching asks for, however few instructions do
inline constexpr double streams_of_l2 = 1.5;      // rate of passes over one set, of that of a copy

// Cycles of a stage that computes while caches are read. Scheduled cycles are the units' alone: what prefetching brings
// in time costs nothing more, and the longer one decides but where both are about as long; caches then give more than
// what a copy of large arrays gets.
GSUB_LAZY [[nodiscard]] double join_near(double compute, double moved, bool scheduled) {
    if (!scheduled) return std::max(compute, moved) + caches_not_hidden * std::min(compute, moved);
    constexpr double sharpness = 8, faster = 1.3;
    auto const longer = std::max(compute, moved / faster), shorter = std::min(compute, moved / faster);
    return longer <= 0 ? 0 : longer * std::pow(1 + std::pow(shorter / longer, sharpness), 1 / sharpness);
}

// Bytes of a set that each level gives to a stage.
struct moved_bytes {
    std::size_t stage = 0;
    double l2 = 0, l3 = 0, memory = 0;
    double pace = 0; // instructions from line to line
};

// What the stages of a kernel move, by where its buffers lie. `shared`: whether threads share it.
GSUB_LAZY std::vector<moved_bytes> moved_sets(codegen::kernel const& k, kernel_footprint<> const& footprint,
                                              std::vector<touched> const& all, kernel_setting const& setting,
                                              bool shared) {
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
    std::vector<moved_bytes> out;
    for (auto const& t : all) {
        auto const& b = k.buffers[static_cast<std::size_t>(t.buffer)];
        // What is touched for the first time, wherever it lies.
        auto const cold = std::min(t.bytes(), std::max(footprint.buffer_bytes(t.buffer), 64.0));
        auto const home = homes[static_cast<std::size_t>(t.buffer)];
        // What has just been written lies in the second cache as far as that holds it; so does a thread's own memory.
        auto const kept = (b.workspace || (home == memory_level::cache && !shared)) && cold <= footprint.sizes()[1];
        auto const in_last = home != memory_level::memory && cold <= footprint.sizes()[2];
        auto const lost = home == memory_level::last ? std::clamp(setting.lost, 0.0, 1.0) : 0.0;
        auto near = kept ? cold : 0.0, far = in_last ? cold * (1 - lost) : 0.0; // that is there for the first stage
        for (auto const& by : t.stages) {
            auto const factor = by.written ? written_factor : 1.0;
            out.push_back({by.stage, factor * by.missed[0], factor * std::max(0.0, by.missed[1] - near),
                           b.workspace ? 0.0 : factor * std::max(0.0, by.missed[2] - far), by.pace});
            near = std::max(0.0, near - by.missed[1]), far = std::max(0.0, far - by.missed[2]);
        }
    }
    return out;
}

// What a stage does, of one thread.
struct stage_load {
    double compute = 0;                     // cycles
    double each = 0;                        // of an instruction
    double l2 = 0, l3 = 0, memory = 0;      // cycles of moving
    double near_beyond = 0, far_beyond = 0; // those of single sets that nothing hides
};

// Adds a set. Only what is computed while its lines come hides them: one pass over weights that later passes find in a
// cache. Lines of memory come as fast as it gives them, and no faster than those that the instructions in flight ask
// for arrive.
GSUB_LAZY void add_set(stage_load& stage, moved_bytes const& m, double threads, microarchitecture const& core,
                       double memory_rate, bool scheduled) {
    auto const beside = [&](double bytes) {
        return std::min(stage.compute, bytes / 64 / threads * m.pace * stage.each);
    };
    auto const l2 = m.l2 / core.l2_bytes_per_cycle / threads, l3 = m.l3 / core.l3_bytes_per_cycle / threads;
    stage.l2 += l2, stage.l3 += l3;
    auto const beyond = [&](double bytes, double cycles) {
        auto const hidden = beside(bytes);
        return cycles <= 0 ? 0.0 : join_near(hidden, cycles, scheduled) - hidden;
    };
    auto const last = beyond(m.l3, l3);
    stage.near_beyond += std::max(beyond(m.l2, l2 / streams_of_l2), last);
    if (m.memory <= 0) return;
    stage.memory += m.memory / memory_rate;
    auto const at_once = std::clamp(core.reorder_buffer / std::max(m.pace, 1.0), prefetched_lines, lines_in_flight);
    auto const latency = m.memory / 64 / threads * memory_latency * core.gigahertz * 1e9 / at_once;
    auto const cycles = std::max(m.memory / memory_rate, latency), hidden = beside(m.memory);
    stage.far_beyond += std::max(0.0, cycles - hidden - last) + core.not_hidden * std::min(cycles, hidden);
}

// Joins the cycles that stages compute for with the bytes that they move. `made`: what was counted of the kernel;
// `scheduled`: whether the cycles are those of a schedule.
GSUB_LAZY kernel_time with_memory(kernel_time made, codegen::kernel const& k, microarchitecture const& core,
                                  kernel_setting const& setting, walked_loops const& loops, bool scheduled = false) {
    auto const shared = setting.shared && setting.threads > 1 && k.parallel >= 0 && k.parallel_extent > 1;
    auto const threads = shared ? std::min<double>(setting.threads, static_cast<double>(k.parallel_extent)) : 1.0;
    kernel_footprint<> footprint{k, core, loops, threads};
    auto const all = footprint.run();
    auto const hertz = core.gigahertz * 1e9;
    auto const positions = static_cast<double>(k.parallel < 0 ? 1 : k.parallel_extent);
    // Threads take pieces of the positions, so that the last one may be alone.
    auto const uneven = threads > 1 ? std::ceil(positions / threads) * threads / positions : 1.0;
    auto const share = std::min(uneven, 1.0 + 1.0 / threads) / threads; // of a thread
    auto const memory_rate = (threads > 1 ? core.memory_bytes_in_all : core.memory_bytes_per_second) / hertz;
    made.threads = static_cast<unsigned>(threads), made.part = share;
    std::vector<stage_load> stages(loops.stage_cycles.size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
        stages[i].compute = loops.stage_cycles[i] * share;
        stages[i].each = loops.stage_cycles[i] / std::max(1.0, footprint.instructions()[i]);
    }
    for (auto const& m : moved_sets(k, footprint, all, setting, shared)) {
        made.l2_bytes += m.l2, made.l3_bytes += m.l3, made.memory_bytes += m.memory;
        add_set(stages[m.stage], m, threads, core, memory_rate, scheduled);
    }
    double cycles = 0;
    for (auto const& s : stages) {
        auto const near = std::max(join_near(s.compute, std::max(s.l2, s.l3), scheduled), s.compute + s.near_beyond);
        cycles += std::max(near + s.far_beyond, s.memory); // of all sets together
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
