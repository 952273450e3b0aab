#pragma once

#include <gsub/codegen/register_tile.hpp>

#include <algorithm>
#include <limits>

namespace gsub::codegen {

GSUB_LAZY_BODY double step_cycles(register_tile t, isa const& set) {
    auto const products = static_cast<double>(t.pixels * t.vectors) / set.fma_per_cycle;
    auto const loads = static_cast<double>(t.pixels + t.vectors) / 2; // two a cycle
    return std::max({products, loads, static_cast<double>(set.fma_latency)});
}

GSUB_LAZY_BODY register_tile best_tile(std::int64_t positions, std::int64_t vectors, isa const& set,
                                       std::int32_t max_vectors, bool scalars_stay) {
    register_tile best;
    auto least = std::numeric_limits<double>::infinity();
    // Cycles over all positions at a width.
    auto const along = [&](std::int32_t pixels, std::int32_t width) {
        auto const whole = positions / pixels, rest = positions % pixels;
        // The constant is what entering and leaving a tile costs of a step, so that fewer tiles win a tie.
        return static_cast<double>(whole) * (step_cycles({pixels, width}, set) + 0.02) +
               (rest ? step_cycles({static_cast<std::int32_t>(rest), width}, set) + 0.02 : 0.0);
    };
    for (std::int32_t width = 1; width <= std::min<std::int64_t>(max_vectors, vectors); ++width)
        for (std::int32_t pixels = 1; pixels <= std::min<std::int64_t>(positions, 28); ++pixels) {
            if (pixels * width + width + (scalars_stay ? pixels : 1) > set.registers) continue;
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

} // namespace gsub::codegen
