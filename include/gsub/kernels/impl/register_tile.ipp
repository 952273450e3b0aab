#pragma once

#include <gsub/kernels/register_tile.hpp>

#include <algorithm>
#include <limits>

namespace gsub::kernels {

namespace detail {

// Loads of a scalar for each position.
GSUB_LAZY double scalar_loads(std::int32_t pixels, isa const& isa) {
    return isa.lane_operands ? static_cast<double>(pixels) / isa.lanes() : pixels;
}

// Registers of these: where lanes are operands they stay for some steps, and compilers want one more.
GSUB_LAZY std::int64_t scalar_registers(std::int64_t pixels, isa const& isa) {
    return isa.lane_operands ? pixels + 1 : 1;
}

} // namespace detail

GSUB_LAZY_BODY double step_cycles(register_tile t, isa const& isa) {
    auto const products = static_cast<double>(t.pixels * t.vectors) / isa.fma_per_cycle;
    auto const loads = (detail::scalar_loads(t.pixels, isa) + t.vectors) / 2; // two a cycle
    return std::max({products, loads, static_cast<double>(isa.fma_latency)});
}

GSUB_LAZY_BODY register_tile best_tile(std::int64_t positions, std::int64_t vectors, isa const& isa,
                                       tile_options const& o) {
    register_tile best;
    auto least = std::numeric_limits<double>::infinity();
    // What a tile costs a step: its cycles, a part of those of each load, which multiplications do not hide altogether,
    // what entering and leaving it takes of a step, so that fewer tiles win a tie, and results that are waited for:
    // prefetchers are some lines ahead of where a tile's results are stored.
    auto const tile = [&](std::int32_t pixels, std::int32_t width) {
        auto const stay = o.steps * width * isa.vector_bytes <= 32 << 10;
        auto const loads = o.scalars_stay ? 0.0 : o.load * (detail::scalar_loads(pixels, isa) + (stay ? 1 : 4) * width);
        auto const late =
            10.0 * o.far * std::max(0, pixels - 6) * width / static_cast<double>(std::max<std::int64_t>(o.steps, 1));
        return step_cycles({pixels, width}, isa) + loads + late + 0.02;
    };
    // Over all positions at a width.
    auto const along = [&](std::int32_t pixels, std::int32_t width) {
        auto const whole = positions / pixels, rest = positions % pixels;
        return static_cast<double>(whole) * tile(pixels, width) +
               (rest ? tile(static_cast<std::int32_t>(rest), width) : 0.0);
    };
    for (std::int32_t width = 1; width <= std::min<std::int64_t>(o.max_vectors, vectors); ++width)
        for (std::int32_t pixels = 1; pixels <= std::min<std::int64_t>(positions, 28); ++pixels) {
            auto const scalars = o.scalars_stay ? pixels : detail::scalar_registers(pixels, isa);
            if (pixels * width + width + scalars > isa.registers) continue;
            auto const rest = static_cast<std::int32_t>(vectors % width);
            auto const cycles =
                static_cast<double>(vectors / width) * along(pixels, width) + (rest ? along(pixels, rest) : 0.0);
            if (cycles < least * (1 - 1e-9)) {
                least = cycles;
                best = {pixels, width};
            }
        }
    return best;
}

} // namespace gsub::kernels
