#pragma once

#include <gsub/machine/occupancy.hpp>

#include <algorithm>

namespace gsub::machine {

GSUB_LAZY_BODY std::string_view to_string(occupancy_limit l) noexcept {
    constexpr std::string_view names[] = {"warps", "blocks", "registers", "shared memory"};
    return names[static_cast<std::size_t>(l)];
}

GSUB_LAZY_BODY occupancy occupancy_of(gpu_architecture const& a, block_resources const& block) noexcept {
    auto const up = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; };
    if (block.threads > a.block_threads) return {0, 0, occupancy_limit::warps};
    if (block.registers > a.thread_registers) return {0, 0, occupancy_limit::registers};
    if (block.shared_bytes > a.block_shared_bytes) return {0, 0, occupancy_limit::shared_memory};
    auto const warps = up(block.threads, a.warp) / a.warp;
    occupancy out{a.warps / warps, 0, occupancy_limit::warps};
    auto const limit = [&](std::int64_t blocks, occupancy_limit by) {
        if (blocks < out.blocks) out.blocks = blocks, out.limit = by;
    };
    limit(a.blocks, occupancy_limit::blocks);
    if (block.registers > 0) {
        auto const of_warp = up(block.registers * a.warp, a.register_unit);
        limit(a.registers / a.schedulers / of_warp * a.schedulers / warps, occupancy_limit::registers);
    }
    if (auto const shared = up(block.shared_bytes + a.shared_reserve, a.shared_unit); shared > 0)
        limit(a.shared_bytes / shared, occupancy_limit::shared_memory);
    out.warps = out.blocks * warps;
    return out;
}

GSUB_LAZY_BODY grid_rounds rounds_of(gpu const& g, occupancy const& o, std::int64_t blocks) noexcept {
    auto const at_once = std::max<std::int64_t>(1, o.blocks * g.processors);
    grid_rounds out{(blocks + at_once - 1) / at_once, 0};
    if (out.rounds > 0) out.share = static_cast<double>(blocks) / static_cast<double>(out.rounds * at_once);
    return out;
}

} // namespace gsub::machine
