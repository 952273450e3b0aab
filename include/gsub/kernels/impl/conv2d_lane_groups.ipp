// Convolution in groups that are not whole blocks of channels.
#pragma once

#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/impl/conv2d_shape.ipp>
#include <gsub/kernels/impl/depth_direction.ipp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::kernels::detail {

// Groups that are not whole blocks of channels: a vector of output channels reads one channel of each of its groups at
// a time, vectors of the input with lanes moved and repeated. Which lanes repeats after some vectors, a turn. Where the
// last turn is cut off and what fills up its last block would read beyond the image, it has code of its own.
struct lane_groups {
    std::int64_t in, out;         // channels of a group
    std::int64_t vectors;         // of output channels that differ in the lanes that they read
    std::int64_t blocks;          // of the input that these read
    std::int64_t turns;           // how often they repeat
    std::int64_t rest = 0;        // vectors behind the turns
    std::int64_t channels, steps; // of a group: those with code of their own, of how many each stands for one

    lane_groups(conv2d_shape const& s, isa const& isa) : in(s.in_channels / s.groups), out(s.out_channels / s.groups) {
        std::int64_t const l = isa.lanes(), all = detail::blocks(s.out_channels, isa);
        vectors = 1;
        while (vectors < all && (vectors * l % out != 0 || vectors * l / out * in % l != 0)) ++vectors;
        auto const beyond = ((all * l - 1) / out * in + in - 1) / l >= detail::blocks(s.in_channels, isa);
        turns = beyond ? s.out_channels / (vectors * l) : (all + vectors - 1) / vectors;
        if (turns <= 1) turns = 1, vectors = all;
        rest = std::max<std::int64_t>(all - turns * vectors, 0);
        blocks = turns == 1 ? detail::blocks(s.in_channels, isa) : vectors * l / out * in / l;
        channels = std::min(in, l);
        steps = (in + channels - 1) / channels;
    }
    static bool apply(conv2d_shape const& s, isa const& isa) {
        auto const l = isa.lanes();
        return s.groups > 1 && !is_depthwise(s) &&
               (s.in_channels / s.groups % l != 0 || s.out_channels / s.groups % l != 0);
    }
    // Parts of a kernel with code of their own.
    [[nodiscard]] std::int64_t parts() const { return (vectors + rest) * channels; }
    static constexpr std::int64_t most = 512; // parts
    // Of the first turn, and of the rest, whose blocks are counted from its first one: where each lane of each vector
    // reads each channel, in an image whose vectors of channels are so far apart.
    [[nodiscard]] std::vector<std::int64_t> places(conv2d_shape const& s, std::int64_t apart, std::int64_t l) const {
        std::vector<std::int64_t> all;
        auto const part = [&](std::int64_t first, std::int64_t count) {
            for (auto v = first; v < first + count; ++v)
                for (std::int64_t c = 0; c < channels; ++c)
                    for (std::int64_t lane = 0; lane < l; ++lane) {
                        auto const o = std::min(v * l + lane, s.out_channels - 1), i = o / out * in + c;
                        all.push_back((i / l - first / vectors * blocks) * apart + i % l);
                    }
        };
        part(0, vectors);
        if (rest) part(turns * vectors, rest);
        return all;
    }
};

// The tile of a row that takes the fewest cycles: its products, the vectors that are read and shuffled for them, one a
// cycle, and the chains through its accumulators. Text grows with the parts; that of the rest runs once.
GSUB_LAZY conv2d_config lane_config(conv2d_shape const& s, isa const& isa) {
    lane_groups const of{s, isa};
    auto const flat = is_flat(s);
    auto const row = flat ? s.out(0) * s.out(1) : s.out(1), taps = s.kernel[1];
    auto const read = [&](std::int64_t width) {
        std::vector<std::int64_t> columns;
        for (std::int64_t x = 0; x < width; ++x)
            for (std::int64_t k = 0; k < taps; ++k) columns.push_back(x * s.stride[1] + k * s.dilation[1]);
        std::sort(columns.begin(), columns.end());
        return std::unique(columns.begin(), columns.end()) - columns.begin();
    };
    auto const cycles = [&](std::int64_t width) {
        auto const products = static_cast<double>(width * taps) / isa.fma_per_cycle;
        return std::max({products, static_cast<double>(read(width)), static_cast<double>(isa.fma_latency * taps)}) + 1;
    };
    constexpr std::int64_t text = 2048; // products
    auto const fits = std::min(isa.registers - std::min<std::int64_t>(taps, isa.registers / 4) - 3,
                               text / (of.vectors * of.channels * taps));
    conv2d_config best;
    auto least = std::numeric_limits<double>::infinity();
    for (std::int64_t width = 1; width <= std::min(row, std::max<std::int64_t>(fits, 1)); ++width) {
        auto const all = static_cast<double>(row / width) * cycles(width) + (row % width ? cycles(row % width) : 0);
        if (all < least * (1 - 1e-9)) least = all, best.tile_ow = static_cast<std::int32_t>(width);
    }
    auto const tiles = (row + best.tile_ow - 1) / best.tile_ow;
    if (flat) best.chunk = static_cast<std::int32_t>(std::min<std::int64_t>(tiles, 16));
    if (!flat && tiles == 1 && s.out(0) > 1 && row < isa.fma_latency * isa.fma_per_cycle && 2 * row <= fits)
        best.tile_oh = 2;
    return best;
}

GSUB_LAZY loop::loop_nest lane_nest(conv2d_shape const& s, conv2d_config const& c, isa const& isa) {
    lane_groups const of{s, isa};
    std::int64_t const l = isa.lanes();
    auto const flat = is_flat(s);
    auto const out_blocks = blocks(s.out_channels, isa);
    auto const oh = flat ? 1 : s.out(0), ow = flat ? s.out(0) * s.out(1) : s.out(1);
    auto const h = flat ? 1 : s.in[0], w = flat ? s.in[0] * s.in[1] : s.in[1];

    loop::expression_builder e{"conv2d"};
    auto const n = e.spatial("n", s.batch), turn = e.spatial("g", of.turns), v = e.spatial("oc", of.vectors),
               y = e.spatial("oh", oh), x = e.spatial("ow", ow), lane = e.spatial("lane", l);
    auto const part = e.spatial("part", of.rest ? 2 : 1); // the turns, and the rest
    auto const channel = e.reduction("ici", of.channels), step = e.reduction("ic", of.steps),
               ky = e.reduction("kh", s.kernel[0]), kx = e.reduction("kw", s.kernel[1]);
    depth_axes const depth{e, s.depth, s.out_depth()};
    auto const row = y * s.stride[0] + ky * s.dilation[0] - loop::affine{s.pads[0]},
               column = flat ? x : x * s.stride[1] + kx * s.dilation[1] - loop::affine{s.pads[1]};
    auto const row_out = depth.out * oh + y, row_in = depth.plane * h + row, tap = depth.tap * s.kernel[0] + ky;
    auto const whole = turn + part * of.turns; // turns before these vectors
    auto const o = whole * of.vectors + v;
    if (of.turns * of.vectors != out_blocks) e.restrict_domain({o, out_blocks});
    if (of.rest) e.restrict_domain({whole - part, of.turns}); // behind the turns once

    image_operand const image{s.input, s.batch, s.in_channels, s.depth.in * h, w, l},
        result{s.result, s.batch, s.out_channels, depth.count * oh, ow, l};
    auto const in = image.input(e, "x");
    auto const weights =
        e.input("w", {out_blocks, of.channels, of.steps, s.depth.kernel * s.kernel[0], s.kernel[1], l});
    auto const bias = s.bias ? e.input("bias", {out_blocks, l}) : -1;
    auto const residual = s.residual ? result.input(e, "residual") : -1;
    auto const arrays = arrays_of(e, s, result);
    auto const out = result.output(e, "y");

    auto const read =
        e.at(in, {n, whole * of.blocks + step, row_in, column, 0},
             {((part * of.vectors + v) * of.channels + channel) * l + lane, of.places(s, image.vector_stride(), l)});
    auto sum =
        e.sum(s.bias ? e.at(bias, {o, lane}) : e.constant(0), read * e.at(weights, {o, channel, step, tap, kx, lane}),
              {{depth.plane, depth.in}, {row, h}, {column, w}, {step * of.channels + channel, of.in}});
    if (s.residual) sum = sum + e.at(residual, {n, o, row_out, x, lane});
    sum = finished(e, sum, s, [&](std::size_t a) { return e.at(arrays[a], {n, o, row_out, x, lane}); });
    loop::schedule plan{e.store(out, {n, o, row_out, x, lane}, sum)};

    auto const loop_of = [&](std::string_view name) { return plan.loop_of(name); };
    auto const [yo, yi] = plan.split(loop_of("oh"), flat ? 1 : c.tile_oh);
    auto const [xo, xi] = plan.split(loop_of("ow"), c.tile_ow);
    auto const [xc, xt] = plan.split(xo, is_chunked(s, isa) ? c.chunk : (ow + c.tile_ow - 1) / c.tile_ow);
    auto const tap_rows = loop_of("kh");
    plan.reorder(
        as_span(depth.within(plan, yo, tap_rows,
                             {loop_of("n"), loop_of("g"), yo, xc, loop_of("part"), loop_of("oc"), xt, loop_of("ici"),
                              loop_of("ic"), tap_rows, loop_of("kw"), yi, xi, loop_of("lane")})));
    if (c.unroll_kh) plan.unroll(tap_rows);
    for (auto u : {loop_of("part"), loop_of("oc"), loop_of("ici"), loop_of("kw"), yi, xi}) plan.unroll(u);
    plan.vectorize(loop_of("lane"));
    auto joined = plan.loops()[0].var;
    for (int k = 0; k < (depth.exist ? 4 : 3); ++k) joined = plan.fuse(joined, plan.loops()[1].var);
    plan.parallel(joined);
    return std::move(plan).finish();
}

} // namespace gsub::kernels::detail
