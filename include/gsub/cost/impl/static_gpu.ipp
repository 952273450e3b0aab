#pragma once

#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/random.hpp>
#include <gsub/cost/static_gpu.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/machine/occupancy.hpp>
#include <gsub/target/isa.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace gsub::cost {

namespace detail {

// Cycles until a load gives its number, between that of the first cache and that of the second.
inline constexpr double load_latency = 90;
// Bytes that a multiprocessor gets of the second cache in a cycle.
inline constexpr double second_cache_bytes = 64;
// Registers of a thread beside accumulators: addresses, variables, and what is loaded ahead. Of 334 kernels of eight
// networks that NVRTC 12.9 compiled for sm_90a, half have within 8 of that; the others have more, up to 255.
inline constexpr std::int64_t other_registers = 56;
// Seconds from one launch to the next in a stream.
inline constexpr double launch_seconds = 2e-6;
// Of waiting for a device and beginning anew; bytes a second between it and the host.
inline constexpr double wait_seconds = 2e-5, transfer_rate = 2e10;

// Runs of the blocks of a kernel that load, over all of its positions.
GSUB_LAZY double loading_runs(codegen::kernel_loops const& l) {
    double out = 0;
    for (std::size_t i = 0; i < l.runs.size(); ++i)
        if (l.own[i].loads + l.own[i].broadcasts > 0) out += l.runs[i];
    return out;
}

} // namespace detail

GSUB_LAZY_BODY gpu_time time_of(codegen::kernel const& k, gpu const& on) {
    auto const& a = *on.architecture;
    auto const counts = codegen::loops_of(k, codegen::kernel_counting::of_device);
    auto const& all = counts.total;
    auto const positions = k.parallel < 0 ? 1 : std::max<std::int64_t>(k.parallel_extent, 1);
    gpu_time out;
    out.group = codegen::group_of(k, std::size_t{48} << 10, codegen::positions_of_group(k, on.processors));
    auto const registers = std::min<std::int64_t>(k.live + detail::other_registers, a.thread_registers);
    auto const fits = machine::occupancy_of(
        a, {out.group.threads(k), registers, static_cast<std::int64_t>(out.group.shared_bytes(k))});
    out.resident_warps = std::max<std::int64_t>(fits.warps, 1);
    // The busiest multiprocessor.
    auto const blocks = (positions + out.group.positions - 1) / out.group.positions;
    auto const groups = (blocks + on.processors - 1) / on.processors;
    auto const warps = groups * ((out.group.threads(k) + a.warp - 1) / a.warp);
    // Instructions of a warp are those of each of its positions.
    auto const together = std::max<std::int64_t>(a.warp / k.lanes, 1);
    auto const share =
        static_cast<double>(std::min(warps * together, positions)) / static_cast<double>(positions * together);
    auto const scalars = all.broadcasts - all.joined, vectors = all.loads + all.stores;
    out.issue_cycles = share * (all.multiply_adds + scalars + vectors + all.others) / a.schedulers;
    out.multiply_cycles = share * all.multiply_adds * a.warp / a.lanes;
    auto const vector_bytes = static_cast<double>(a.warp) * a.bank_bytes;
    out.memory_cycles = share * (scalars + vectors * std::max(1.0, vector_bytes / detail::second_cache_bytes));
    auto const rounds = (warps + out.resident_warps - 1) / out.resident_warps;
    auto const of_warp = 1 / static_cast<double>(positions);
    out.latency_cycles =
        static_cast<double>(rounds) * of_warp *
        (detail::loading_runs(counts) * detail::load_latency + all.multiply_adds + scalars + vectors + all.others);
    double bytes = 0;
    for (auto const& b : k.buffers)
        if (!b.workspace) bytes += static_cast<double>(b.elements()) * static_cast<double>(byte_size(b.element));
    bytes = std::min(bytes, vectors * vector_bytes + all.broadcasts * a.bank_bytes); // of a table some rows are read
    if (!out.group.shared_workspace)                                                 // written and read again
        bytes += 2 * static_cast<double>(positions) * static_cast<double>(codegen::workspace_bytes(k));
    out.moved_seconds = bytes / on.memory_bytes_per_second;
    auto const cycles = std::max({out.issue_cycles, out.multiply_cycles, out.memory_cycles, out.latency_cycles});
    out.seconds = detail::launch_seconds + std::max(cycles / (on.gigahertz * 1e9), out.moved_seconds);
    return out;
}

GSUB_LAZY_BODY double copy_seconds(double bytes, gpu const& on) noexcept {
    return detail::launch_seconds + bytes / on.memory_bytes_per_second;
}
GSUB_LAZY_BODY double transfer_seconds(double bytes) noexcept {
    return detail::wait_seconds + bytes / detail::transfer_rate;
}

GSUB_LAZY_BODY static_gpu::static_gpu(gpu const& on, static_gpu_options const& options)
    : on_(&on), options_(options), known_(std::make_shared<known_points>()) {}

GSUB_LAZY_BODY double static_gpu::seconds(kernels::descriptor const& d, loop::configuration const& c) const {
    try {
        auto const k = codegen::lower(kernels::nest_of(d, c, isa::warp), "candidate");
        return k ? time_of(*k, *on_).seconds : std::numeric_limits<double>::infinity();
    } catch (error const&) { return std::numeric_limits<double>::infinity(); }
}

GSUB_LAZY_BODY static_gpu::found static_gpu::best_of(kernels::descriptor const& d,
                                                     loop::config_space const& space) const {
    auto const key = to_string(d);
    {
        std::lock_guard const lock{known_->mutex};
        if (auto const at = known_->best.find(key); at != known_->best.end()) return at->second;
    }
    std::map<std::uint64_t, double> seen; // seconds by point
    auto const look = [&](std::uint64_t point) {
        auto const [at, is_new] = seen.try_emplace(point, 0.0);
        if (is_new) at->second = seconds(d, space.at(point));
        return found{point, at->second};
    };
    std::vector<found> starts{look(kernels::counted(d, isa::warp, space).index())};
    if (space.size() <= options_.points) {
        for (std::uint64_t p = 0; p < space.size(); ++p)
            if (space.allows(space.at(p))) starts.push_back(look(p));
    } else {
        random_stream random{1};
        while (seen.size() < options_.points / 2) {
            auto const before = seen.size();
            for (int tries = 0; tries < 16 && seen.size() == before; ++tries)
                if (auto const point = space.draw(random)) starts.push_back(look(*point));
            if (seen.size() == before) break; // few points are allowed
        }
    }
    auto const faster = [](found const& a, found const& b) { return a.seconds < b.seconds; };
    std::ranges::stable_sort(starts, faster);
    auto best = starts.front();
    // From one after the other to a point that no neighbour is faster than.
    for (auto at : starts)
        for (auto better = true; better;) {
            better = false;
            for (auto const n : space.neighbours(at.point)) {
                if (seen.size() >= options_.points) break;
                if (auto const other = look(n); faster(other, at)) at = other, better = true;
            }
            if (faster(at, best)) best = at;
        }
    std::lock_guard const lock{known_->mutex};
    return known_->best.emplace(key, best).first->second;
}

GSUB_LAZY_BODY loop::configuration static_gpu::choose(kernels::descriptor const& d, isa const&,
                                                      loop::config_space const& space) const {
    return space.at(best_of(d, space).point);
}

GSUB_LAZY_BODY std::size_t static_gpu::choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
        auto const s = best_of(alternatives[i], kernels::space_of(alternatives[i], isa)).seconds;
        if (s < least) best = i, least = s;
    }
    return best;
}

} // namespace gsub::cost
