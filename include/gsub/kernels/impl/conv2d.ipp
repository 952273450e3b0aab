#pragma once

#include <gsub/core/result.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/impl/depth_direction.ipp>
#include <gsub/kernels/impl/step_tiles.ipp>
#include <gsub/kernels/register_tile.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

namespace gsub::kernels {

namespace detail {

GSUB_LAZY bool is_depthwise(conv2d_shape const& s) {
    return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
}
// Rows of pixels follow each other without a gap in what is read too: they are joined to one row.
GSUB_LAZY bool is_flat(conv2d_shape const& s) {
    return s.input != image_layout::planar && !s.depth.exists() && s.kernel[0] == 1 && s.kernel[1] == 1 &&
           s.stride[0] == 1 && s.stride[1] == 1 && s.pads == std::array<std::int64_t, 4>{};
}
// The same over the same arrays with two directions in place of three, where one of them has no window.
GSUB_LAZY conv2d_shape planar(conv2d_shape s) {
    auto const d = s.depth;
    auto const no_window = [&](std::size_t i) {
        return s.kernel[i] == 1 && s.stride[i] == 1 && s.pads[i] == 0 && s.pads[i + 2] == 0;
    };
    if (!d.exists() || !no_window(0)) return s;
    if (no_window(1)) { // planes become rows
        s.in = {d.in, s.in[0] * s.in[1]};
        s.kernel = {d.kernel, 1}, s.stride = {d.stride, 1}, s.dilation = {d.dilation, 1};
        s.pads = {d.pads[0], 0, d.pads[1], 0};
        s.depth = {};
    } else if (d.kernel == 1 && d.stride == 1 && d.pads == std::array<std::int64_t, 2>{}) { // rows of all planes
        s.in[0] *= d.in;
        s.depth = {};
    }
    return s;
}
GSUB_LAZY std::int64_t blocks(std::int64_t channels, isa const& isa) {
    return (channels + isa.lanes() - 1) / isa.lanes();
}
// What is fused behind all sums. `read` gives an element of an array of the chain.
template <class Read>
loop::value finished(loop::expression_builder& e, loop::value v, conv2d_shape const& s, Read&& read) {
    if (s.low > -1e300) v = max(v, e.constant(s.low));
    if (s.high < 1e300) v = min(v, e.constant(s.high));
    if (s.epilogue.empty()) return v;
    std::vector<loop::value> values{v};
    for (std::size_t a = 0; a < static_cast<std::size_t>(s.arrays); ++a) values.push_back(read(a));
    apply_epilogue(e, values, as_span(s.epilogue));
    return values.back();
}
// The arrays of its chain as buffers.
GSUB_LAZY std::vector<std::int32_t> arrays_of(loop::expression_builder& e, conv2d_shape const& s,
                                              image_operand const& like) {
    std::vector<std::int32_t> arrays;
    for (std::int32_t a = 0; a < s.arrays; ++a) arrays.push_back(like.input(e, "array"));
    return arrays;
}
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
    auto const [xc, xt] = plan.split(xo, flat ? c.chunk : (ow + c.tile_ow - 1) / c.tile_ow);
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
    return plan.finish();
}

// Depthwise kernels read much for what they compute. Two rows of pixels at once read the rows of the image that they
// share once, if the taps of two rows fit the registers beside accumulators enough to hide the latency. More rows, or
// two of a kernel that has more products for each read, bring nothing but text.
GSUB_LAZY conv2d_config depthwise_config(conv2d_shape const& s, isa const& isa) {
    auto const row = s.out(1), taps = s.kernel[0] * s.kernel[1];
    auto const shared = s.stride[0] % s.dilation[0] == 0 && s.stride[0] / s.dilation[0] < s.kernel[0];
    std::int64_t const enough = isa.fma_latency * isa.fma_per_cycle / 2;
    auto widest = std::min<std::int64_t>(8, (isa.registers - 1 - 2 * s.kernel[1]) / 2), least = enough;
    auto const two = shared && s.out(0) > 1 && taps <= (s.stride[1] > 1 ? 25 : 9) && widest >= enough;
    if (!two) {
        widest = std::clamp<std::int64_t>(isa.registers - 1 - s.kernel[1], isa.registers / 2 - 2, 14);
        least = (widest + 1) / 2;
    }
    conv2d_config best;
    best.tile_oh = two ? 2 : 1;
    best.unroll_kh = two;
    auto fewest = row + widest;
    for (auto width = std::min(least, row); width <= std::min(widest, row); ++width) {
        auto const covered = (row + width - 1) / width * width;
        if (covered < fewest || (covered == fewest && !two)) {
            fewest = covered;
            best.tile_ow = static_cast<std::int32_t>(width);
        }
    }
    return best;
}

} // namespace detail

GSUB_LAZY_BODY double conv2d_shape::operations() const noexcept {
    auto const places = out(0) * out(1) * out_depth(), taps = kernel[0] * kernel[1] * depth.kernel;
    return 2.0 * static_cast<double>(batch) * static_cast<double>(out_channels) * static_cast<double>(places) *
           static_cast<double>(in_channels / groups) * static_cast<double>(taps);
}

GSUB_LAZY_BODY bool reads_vectors(conv2d_shape const& s, isa const& isa) {
    return s.input == image_layout::blocked ||
           (s.input == image_layout::channels_last && s.in_channels % isa.lanes() == 0);
}

GSUB_LAZY_BODY bool conv2d_applies(conv2d_shape const& s, isa const& isa) {
    if (s.groups > 1 && !reads_vectors(s, isa)) return false;
    if (s.result == image_layout::planar) return false;
    if (s.result == image_layout::channels_last && s.out_channels % isa.lanes() != 0) return false;
    return !detail::lane_groups::apply(s, isa) || detail::lane_groups{s, isa}.parts() <= detail::lane_groups::most;
}

GSUB_LAZY_BODY conv2d_config default_config(conv2d_shape const& given, isa const& isa) {
    auto const s = detail::planar(given);
    if (detail::is_depthwise(s)) return detail::depthwise_config(s, isa);
    if (detail::lane_groups::apply(s, isa)) return detail::lane_config(s, isa);
    auto const flat = detail::is_flat(s);
    auto const row = flat ? s.out(0) * s.out(1) : s.out(1);
    auto const out_blocks = detail::blocks(s.out_channels, isa) / s.groups;
    conv2d_config best;
    // Pixels of a plane that several taps of a row use: compilers read them once for all of these taps.
    auto const scalars_stay =
        !reads_vectors(s, isa) && s.stride[1] / std::gcd(s.stride[1], s.dilation[1]) < s.kernel[1];
    auto const results =
        s.batch * detail::blocks(s.out_channels, isa) * s.out_depth() * s.out(0) * s.out(1) * isa.vector_bytes;
    auto const taps = s.depth.kernel * s.kernel[0] * s.kernel[1];
    auto const tile = best_tile(row, out_blocks, isa,
                                {.max_vectors = flat ? 6 : 4,
                                 .scalars_stay = scalars_stay,
                                 .steps = s.in_channels / s.groups * taps,
                                 .far = results > 1 << 20 ? 1 + s.residual : 0});
    best.tile_ow = tile.pixels;
    best.tile_oc = tile.vectors;
    best.unroll_ic = taps == 1 ? std::min(4, isa.lanes()) : 1;
    if (flat) {
        auto const tiles = (row + best.tile_ow - 1) / best.tile_ow;
        // The most tiles a position, up to 16, that divide evenly: so no position has a tail of its own.
        for (std::int32_t chunk = 1; chunk <= 16; ++chunk)
            if (tiles % chunk == 0) best.chunk = chunk;
        // Where that is few, weights would be read again for each few pixels.
        if (best.chunk < 4 && tiles > 16) best.chunk = 8;
    }
    // What is read again and again should be the smaller: pixels against filters, of as many channels each.
    if (taps == 1 && s.groups == 1) best.oc_inner = s.out(0) * s.out(1) > s.out_channels;
    return best;
}

GSUB_LAZY_BODY loop::fused_nest conv2d_nest(conv2d_shape const& given, conv2d_config const& c, isa const& isa) {
    auto const s = detail::planar(given);
    auto const refuse = [](std::string_view reason) { throw error{error_code::unsupported, std::string{reason}}; };
    auto const depthwise = detail::is_depthwise(s), flat = detail::is_flat(s) && !depthwise;
    std::int64_t const l = isa.lanes();
    auto const vectors = reads_vectors(s, isa);
    if (s.groups != 1 && !vectors) refuse("grouped convolution of an input that is not read in vectors");
    if (s.result != image_layout::blocked && (s.result == image_layout::planar || s.out_channels % l != 0))
        refuse("a result in planes, or with channels last that are no whole vectors");
    if (!conv2d_applies(s, isa)) refuse("grouped convolution of too many parts that differ");
    auto const in_lanes = vectors ? l : 1;
    auto const in_groups = detail::lane_groups::apply(s, isa);
    auto const ocb = detail::blocks(s.out_channels, isa),
               icb = detail::blocks(s.in_channels, isa) / (depthwise ? 1 : s.groups);
    auto const steps = depthwise ? 1 : vectors ? icb : s.in_channels;
    auto const tiled = c.tile_ic > 0;
    if (c.tile_ow < 1 || c.tile_oh < 1 || c.tile_oc < 1 || c.chunk < 1 || c.unroll_ic < 1 || l % c.unroll_ic != 0 ||
        c.tile_ic < 0 ||
        (tiled && (in_groups || s.depth.exists() || c.tile_ic % in_lanes != 0 || c.tile_ic / in_lanes >= steps)))
        throw error{error_code::usage, "a knob of conv2d that does not apply"};
    if (in_groups) return detail::lane_nest(s, c, isa);

    auto const oh = s.out(0), ow = s.out(1), ih = s.in[0], iw = s.in[1];
    auto const h = flat ? 1 : ih, w = flat ? ih * iw : iw;
    auto const rows = flat ? 1 : oh, columns = flat ? oh * ow : ow;
    auto const group_blocks = ocb / (depthwise ? 1 : s.groups);
    auto const tile_oc = std::min<std::int64_t>(c.tile_oc, group_blocks);

    loop::expression_builder operands{"conv2d"};
    image_operand const image{s.input, s.batch, s.in_channels, s.depth.in * h, w, in_lanes},
        result{s.result, s.batch, s.out_channels, s.out_depth() * rows, columns, l};
    auto const in = image.input(operands, "x");
    auto const taps_down = s.depth.kernel * s.kernel[0];
    auto const weights = depthwise ? operands.input("w", {ocb, taps_down, s.kernel[1], l})
                                   : operands.input("w", {ocb, steps, taps_down, s.kernel[1], in_lanes, l});
    auto const bias = s.bias ? operands.input("bias", {ocb, l}) : -1;
    auto const residual = s.residual ? result.input(operands, "residual") : -1;
    auto const arrays = detail::arrays_of(operands, s, result);
    auto const out = result.output(operands, "y");
    auto const sums = tiled ? operands.workspace("sums", {rows, columns, tile_oc, l}) : -1;

    auto const stage = [&](detail::step_tiles const& of) {
        loop::expression_builder e{"conv2d", operands.buffers()};
        auto const n = e.spatial("n", s.batch), g = e.spatial("g", depthwise ? 1 : s.groups);
        // Tiles of channels are axes of their own where sums are put down by their place in one.
        auto const oct = tiled ? e.spatial("oct", (group_blocks + tile_oc - 1) / tile_oc) : loop::affine{0};
        auto const oc = e.spatial("oc", tiled ? tile_oc : group_blocks), o = oct * tile_oc + oc;
        if (tiled && group_blocks % tile_oc != 0) e.restrict_domain({o, group_blocks});
        auto const tile = of.count > 1 ? e.spatial("ict", of.count) : loop::affine{0};
        auto const y = e.spatial("oh", rows), x = e.spatial("ow", columns), lane = e.spatial("lane", l);
        auto const step = e.reduction("ic", of.each), ky = e.reduction("kh", s.kernel[0]),
                   kx = e.reduction("kw", s.kernel[1]), inner = e.reduction("ici", depthwise ? 1 : in_lanes);
        auto const i = (tile + loop::affine{of.first}) * (c.tile_ic / in_lanes) + step;
        detail::depth_axes const depth{e, s.depth, s.out_depth()};
        auto const row = y * s.stride[0] + ky * s.dilation[0] - loop::affine{s.pads[0]},
                   column = flat ? x : x * s.stride[1] + kx * s.dilation[1] - loop::affine{s.pads[1]};
        auto const row_out = depth.out * oh + y, row_in = depth.plane * ih + row, tap = depth.tap * s.kernel[0] + ky;
        auto const out_block = g * group_blocks + o;
        auto const in_block = depthwise ? o : g * icb + i;

        auto const read = e.at(in, {n, in_block, row_in, column, depthwise ? lane : inner});
        auto const weight =
            depthwise ? e.at(weights, {o, tap, kx, lane}) : e.at(weights, {out_block, i, tap, kx, inner, lane});
        auto const first = !of.begins ? e.at(sums, {y, x, oc, lane})
                           : s.bias   ? e.at(bias, {out_block, lane})
                                      : e.constant(0);
        // What fills up the last block of channels counts for nothing, whatever it is.
        loop::bound const channel{i * in_lanes + inner, s.in_channels};
        auto v = e.sum(first, read * weight, {{depth.plane, depth.in}, {row, h}, {column, w}, channel});
        if (of.ends) {
            if (s.residual) v = v + e.at(residual, {n, out_block, row_out, x, lane});
            v = detail::finished(e, v, s, [&](std::size_t a) {
                return e.at(arrays[a], {n, out_block, row_out, x, lane});
            });
        }
        loop::schedule plan{of.ends ? e.store(out, {n, out_block, row_out, x, lane}, v)
                                    : e.store(sums, {y, x, oc, lane}, v)};

        auto const loop_of = [&](std::string_view name) { return plan.loop_of(name); };
        auto const [oo, oi] =
            tiled ? std::pair{loop_of("oct"), loop_of("oc")} : plan.split(loop_of("oc"), depthwise ? 1 : c.tile_oc);
        auto const [yo, yi] = plan.split(loop_of("oh"), flat ? 1 : c.tile_oh);
        auto const [xo, xi] = plan.split(loop_of("ow"), c.tile_ow);
        auto const [xc, xt] = plan.split(xo, flat && !tiled ? c.chunk : (columns + c.tile_ow - 1) / c.tile_ow);
        auto const [io, iu] = plan.split(loop_of("ici"), depthwise ? 1 : std::min<std::int64_t>(c.unroll_ic, in_lanes));
        auto const batch = loop_of("n"), group = loop_of("g"), tap_rows = loop_of("kh"), taps = loop_of("kw");
        std::vector<loop::variable> order{batch};
        if (c.oc_inner && !tiled)
            order.insert(order.end(), {yo, xc, group, oo});
        else
            order.insert(order.end(), {group, oo});
        if (of.count > 1) order.push_back(loop_of("ict"));
        if (!c.oc_inner || tiled) order.insert(order.end(), {yo, xc});
        order.insert(order.end(), {xt, loop_of("ic"), tap_rows, taps, io, iu, yi, xi, oi, loop_of("lane")});
        plan.reorder(as_span(depth.within(plan, yo, tap_rows, order)));
        auto joined = plan.loops()[0].var;
        for (int k = 0; k < (tiled ? 2 : depth.exist ? 5 : 4); ++k) joined = plan.fuse(joined, plan.loops()[1].var);
        plan.parallel(joined);
        if (c.unroll_kh) plan.unroll(tap_rows);
        for (auto u : {taps, iu, yi, xi, oi}) plan.unroll(u);
        plan.vectorize(loop_of("lane"));
        return plan.finish();
    };
    auto const stages = detail::tiles_of(steps, c.tile_ic / in_lanes);
    loop::fused_nest all{stage(stages.front())};
    for (auto const& of : as_span(stages).subspan(1)) all.then(stage(of), 1);
    return all;
}

GSUB_LAZY_BODY std::vector<float> pack_conv2d_weights(conv2d_shape const& s, std::span<float const> weights,
                                                      isa const& isa) {
    auto const depthwise = detail::is_depthwise(s);
    auto const l = static_cast<std::int64_t>(isa.lanes()), per_group = s.in_channels / s.groups;
    auto const area = s.depth.kernel * s.kernel[0] * s.kernel[1];
    auto const in_lanes = reads_vectors(s, isa) && !depthwise ? l : 1;
    auto const in_blocks = (per_group + in_lanes - 1) / in_lanes;
    auto const out_blocks = detail::blocks(s.out_channels, isa);
    if (detail::lane_groups::apply(s, isa)) {
        detail::lane_groups const of{s, isa};
        std::vector<float> lanes(static_cast<std::size_t>(out_blocks * of.channels * of.steps * area * l), 0.0f);
        for (std::int64_t o = 0; o < s.out_channels; ++o)
            for (std::int64_t i = 0; i < per_group; ++i)
                for (std::int64_t k = 0; k < area; ++k) {
                    auto const part = (o / l * of.channels + i % of.channels) * of.steps + i / of.channels;
                    lanes[static_cast<std::size_t>((part * area + k) * l + o % l)] =
                        weights[static_cast<std::size_t>((o * per_group + i) * area + k)];
                }
        return lanes;
    }
    std::vector<float> packed(static_cast<std::size_t>(out_blocks * in_blocks * area * in_lanes * l), 0.0f);
    for (std::int64_t o = 0; o < s.out_channels; ++o)
        for (std::int64_t i = 0; i < per_group; ++i)
            for (std::int64_t k = 0; k < area; ++k) {
                auto const at =
                    ((((o / l) * in_blocks + i / in_lanes) * area + k) * in_lanes + i % in_lanes) * l + o % l;
                packed[static_cast<std::size_t>(at)] =
                    weights[static_cast<std::size_t>((o * per_group + i) * area + k)];
            }
    return packed;
}

} // namespace gsub::kernels
