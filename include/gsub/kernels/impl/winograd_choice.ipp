// Choice of a Winograd kernel by counted cycles, and between it and the direct one.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/kernels/impl/conv2d_shape.ipp>
#include <gsub/kernels/impl/winograd_sizes.ipp>
#include <gsub/kernels/register_tile.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::kernels {

namespace detail {

GSUB_LAZY isa counted(gsub::isa isa, winograd_options const& o) {
    if (o.fma_per_cycle > 0) isa.fma_per_cycle = o.fma_per_cycle;
    return isa;
}
// Whether a block gains by reading its transformed input once, and writing and reading the products of all groups,
// where it read that input again for each group: in bytes beyond the second level, and in time, as much of it is
// hidden.
GSUB_LAZY bool gains_by_points(winograd_sizes const& z, std::int32_t vectors, isa const& isa,
                               winograd_options const& o) {
    constexpr double seen = 0.2;                     // of the products' time: less is hidden behind them
    auto const bytes = z.points * z.block * z.l * 4; // of a vector of channels
    auto const input = bytes * z.in_blocks, products = bytes * z.part_groups * vectors;
    auto const saved = (z.part_groups - 1) * input - 2 * products;
    auto const cycles = static_cast<double>(z.points * z.block * z.in_blocks * z.l * z.part_groups * vectors) /
                        static_cast<double>(isa.fma_per_cycle);
    return input > static_cast<std::int64_t>(o.l2_bytes) / 2 && saved > 0 &&
           static_cast<double>(saved) / o.l3_bytes_per_cycle > seen * cycles;
}
// What entering and leaving a register tile costs beyond its steps.
GSUB_LAZY double tile_overhead(std::int64_t pixels, std::int64_t vectors) {
    return 10 + 0.5 * static_cast<double>(pixels * vectors);
}
// Register tiles side by side over so many positions, each of so many steps.
GSUB_LAZY double along(std::int64_t positions, std::int64_t tile, std::int64_t vectors, double steps, isa const& isa) {
    auto const one = [&](std::int64_t pixels) {
        return steps * step_cycles({static_cast<std::int32_t>(pixels), static_cast<std::int32_t>(vectors)}, isa) +
               tile_overhead(pixels, vectors);
    };
    auto const rest = positions % tile;
    return static_cast<double>(positions / tile) * one(tile) + (rest ? one(rest) : 0);
}
// Weights come from memory at their first use, a `share` of all uses; meanwhile others are multiplied, but not quite
// for nothing.
GSUB_LAZY double with_memory(double cycles, double share, double weight_bytes, winograd_options const& o) {
    auto const memory = weight_bytes / o.memory_bytes_per_cycle, first = share * cycles;
    return std::max(first, memory) + 0.25 * std::min(first, memory) + (cycles - first);
}
// The share of taps that lie within the image.
GSUB_LAZY double taps_inside(std::int64_t out, std::int64_t in, std::int64_t pad) {
    std::int64_t inside = 0;
    for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t k = 0; k < 3; ++k) inside += o + k >= pad && o + k < in + pad;
    return static_cast<double>(inside) / static_cast<double>(3 * out);
}

} // namespace detail

GSUB_LAZY_BODY winograd_options winograd_options_of(target const& t) {
    winograd_options o;
    if (t.gpu) return o; // counts cycles of processors, `static_gpu` chooses
    o.threads = std::max(1u, t.threads);
    if (t.l2_bytes > 0) o.l2_bytes = t.l2_bytes;
    o.fma_per_cycle = t.fma_per_cycle;
    o.l3_bytes_per_cycle = microarchitecture_of(t).l3_bytes_per_cycle;
    return o;
}

GSUB_LAZY_BODY double direct_cycles(conv2d_shape const& s, isa const& of, winograd_options const& options) {
    auto const isa = detail::counted(of, options);
    auto const c = default_config(s, of);
    auto const l = static_cast<std::int64_t>(isa.lanes());
    auto const ocb = detail::blocks(s.out_channels, isa), ic = detail::blocks(s.in_channels, isa) * l;
    auto const steps = 9 * static_cast<double>(ic) * detail::taps_inside(s.out(0), s.in[0], s.pads[0]) *
                       detail::taps_inside(s.out(1), s.in[1], s.pads[1]);
    auto const rest = ocb % c.tile_oc;
    auto const row = static_cast<double>(ocb / c.tile_oc) * detail::along(s.out(1), c.tile_ow, c.tile_oc, steps, isa) +
                     (rest ? detail::along(s.out(1), c.tile_ow, rest, steps, isa) : 0);
    return detail::with_memory(row * static_cast<double>(s.batch * s.out(0)) / options.threads,
                               1 / static_cast<double>(s.batch * s.out(0)), static_cast<double>(9 * ic * ocb * l * 4),
                               options);
}

GSUB_LAZY_BODY double winograd_cycles(conv2d_shape const& s, winograd_config const& c, isa const& of,
                                      winograd_options const& options) {
    auto const isa = detail::counted(of, options);
    detail::winograd_sizes const z{s, c, isa};
    auto const points = static_cast<double>(z.points), fma = static_cast<double>(isa.fma_per_cycle);
    auto const vector = static_cast<double>(z.l * 4), ic = static_cast<double>(z.in_blocks * z.l);
    // Of a tile and vector of channels: arithmetic, loads at two a cycle, stores at one.
    auto const pixels = static_cast<double>(c.m * c.m);
    auto const once = c.m == 2 ? 4.0 : 12.0, back = c.m == 2 ? 4.0 : 10.0;
    auto const transform_in = 2 * static_cast<double>(z.t) * once / fma + 1.5 * points;
    auto const transform_out = static_cast<double>(z.t + c.m) * back / fma + points / 2 + pixels * (1 + 2 / fma);

    auto const group_bytes = points * ic * c.vectors * vector;
    auto const v_bytes = points * static_cast<double>(z.in_blocks * z.block) * vector,
               m_bytes = points * static_cast<double>(z.block * c.vectors) * vector;
    auto const near = group_bytes * static_cast<double>(z.part_groups) + v_bytes + m_bytes <
                      0.8 * static_cast<double>(options.l2_bytes);
    constexpr double near_rate = 40, far_rate = 18; // bytes a cycle from the second level and the third
    auto const position = [&](std::int64_t tiles) {
        auto const group = [&](std::int64_t vectors) {
            auto const products = points * detail::along(tiles, c.tile, vectors, ic, isa);
            auto const bytes = group_bytes * static_cast<double>(vectors) / c.vectors +
                               (v_bytes > 0.5 * static_cast<double>(options.l2_bytes) ? v_bytes : 0);
            return std::max(products, bytes / (near ? near_rate : far_rate)) +
                   static_cast<double>(tiles * vectors) * transform_out;
        };
        auto const vectors = std::min<std::int64_t>(z.part_groups * c.vectors, z.out_blocks);
        auto const rest = vectors % c.vectors;
        return static_cast<double>(tiles * z.in_blocks) * transform_in +
               static_cast<double>(vectors / c.vectors) * group(c.vectors) + (rest ? group(rest) : 0);
    };
    auto const last = z.whole_rows ? z.tile_rows * z.tile_columns - (z.row_blocks - 1) * z.block
                                   : z.tile_columns - (z.column_blocks - 1) * z.block;
    auto const ends = c.parts * s.batch * (z.whole_rows ? 1 : z.tile_rows),
               each = z.whole_rows ? z.row_blocks : z.column_blocks;
    auto const whole = position(z.block), tail = position(last);
    // Threads take pieces, a few for each, as the executor cuts them.
    auto const positions = ends * each, pieces = work_items_of_loop(positions, std::int64_t{options.threads});
    std::vector<double> busy(options.threads, 0.0);
    for (std::int64_t k = 0; k < pieces; ++k) {
        auto const begin = positions * k / pieces, end = positions * (k + 1) / pieces;
        auto const tails = end / each - begin / each;
        *std::min_element(busy.begin(), busy.end()) +=
            static_cast<double>(end - begin - tails) * whole + static_cast<double>(tails) * tail;
    }
    auto const busiest = *std::max_element(busy.begin(), busy.end());
    auto const share = std::min(1.0, static_cast<double>(options.threads) / static_cast<double>(positions));
    return detail::with_memory(busiest, share, group_bytes * static_cast<double>(z.groups), options);
}

namespace detail {

// Each way of cutting the tiles into blocks and the output channels into parts, with its cycles.
template <class F>
void each_winograd(conv2d_shape const& s, isa const& isa, std::int32_t m, winograd_options const& options, F const& f) {
    GSUB_ASSERT(winograd_applies(s) && (m == 2 || m == 4), "a convolution that has a Winograd kernel");
    auto const tile_rows = (s.out(0) + m - 1) / m, tile_columns = (s.out(1) + m - 1) / m;
    auto const out_blocks = blocks(s.out_channels, isa);
    auto const consider = [&](std::int64_t rows, std::int64_t columns) {
        winograd_config c;
        c.m = m, c.rows = static_cast<std::int32_t>(rows), c.columns = static_cast<std::int32_t>(columns);
        auto const t = best_tile(rows * columns, out_blocks, isa, {.load = 0}); // scalars follow each other
        c.tile = t.pixels, c.vectors = t.vectors;
        c.unroll_ic = std::min(4, isa.lanes());
        auto const groups = (out_blocks + c.vectors - 1) / c.vectors;
        for (std::int64_t parts = 1; parts <= std::min<std::int64_t>(groups, 4 * std::int64_t{options.threads});
             ++parts) {
            if (groups % parts != 0 || (parts > 1 && options.threads == 1)) continue;
            c.parts = static_cast<std::int32_t>(parts);
            f(c, winograd_cycles(s, c, isa, options));
        }
    };
    for (std::int64_t rows = 1; rows <= tile_rows && (rows == 1 || rows * tile_columns <= most_block_tiles); ++rows)
        consider(rows, tile_columns);
    for (std::int64_t pieces = 2; tile_columns / pieces >= least_piece_tiles; ++pieces)
        consider(1, (tile_columns + pieces - 1) / pieces);
}

} // namespace detail

GSUB_LAZY_BODY winograd_config default_winograd(conv2d_shape const& s, isa const& isa, std::int32_t m,
                                                winograd_options const& options) {
    winograd_config best;
    auto least = std::numeric_limits<double>::infinity();
    detail::each_winograd(s, isa, m, options, [&](winograd_config const& c, double cycles) {
        if (cycles < 0.995 * least) least = cycles, best = c;
    });
    best.points_outer = detail::gains_by_points({s, best, isa}, best.vectors, detail::counted(isa, options), options);
    return best;
}

GSUB_LAZY_BODY std::vector<winograd_config> winograd_candidates(conv2d_shape const& s, isa const& isa, std::int32_t m,
                                                                winograd_options const& options, std::size_t most) {
    GSUB_ASSERT(most >= 1, "the default is one of them");
    std::vector<std::pair<double, winograd_config>> counted;
    detail::each_winograd(s, isa, m, options,
                          [&](winograd_config const& c, double cycles) { counted.emplace_back(cycles, c); });
    std::ranges::stable_sort(counted, {}, &std::pair<double, winograd_config>::first);
    std::vector<winograd_config> all{default_winograd(s, isa, m, options)};
    auto const add = [&](winograd_config const& c) {
        if (all.size() < most && std::ranges::find(all, c) == all.end()) all.push_back(c);
    };
    auto const out_blocks = detail::blocks(s.out_channels, isa);
    for (auto& [cycles, c] : counted) {
        c.points_outer = detail::gains_by_points({s, c, isa}, c.vectors, detail::counted(isa, options), options);
        add(c);
        c.points_outer = !c.points_outer;
        auto const groups = (out_blocks + c.vectors - 1) / c.vectors;
        if (!c.points_outer || groups > c.parts) add(c); // of one group all points are its own
    }
    return all;
}

GSUB_LAZY_BODY std::optional<winograd_config> choose_winograd(conv2d_shape const& s, isa const& isa,
                                                              winograd_options const& options) {
    std::optional<winograd_config> best;
    if (!winograd_applies(s)) return best;
    constexpr double sure = 0.95; // of the direct kernel's time: what is not counted costs something too
    auto least = sure * direct_cycles(s, isa, options);
    for (std::int32_t m : {2, 4}) {
        if (options.accuracy == winograd_accuracy::off || (m == 4 && options.accuracy == winograd_accuracy::f2))
            continue;
        auto const c = default_winograd(s, isa, m, options);
        auto const cycles = winograd_cycles(s, c, isa, options);
        if (cycles < least) least = cycles, best = c;
    }
    return best;
}

} // namespace gsub::kernels
