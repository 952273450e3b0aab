#pragma once

#include <gsub/core/result.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/impl/conv2d_lane_groups.ipp>
#include <gsub/kernels/impl/conv2d_shape.ipp>
#include <gsub/kernels/impl/depth_direction.ipp>
#include <gsub/kernels/impl/step_tiles.ipp>
#include <gsub/kernels/register_tile.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::kernels {

namespace detail {

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
    // Steps whose scalars are lanes of one register stand together.
    auto const lanes_multiply = isa.lane_operands && reads_vectors(s, isa);
    best.unroll_ic = taps == 1 || lanes_multiply ? std::min(4, isa.lanes()) : 1;
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

namespace detail {

// Channels of a direct convolution in blocks.
struct channel_blocks {
    std::int64_t lanes;   // of the input that are read at once
    std::int64_t out, in; // of all output channels; of the input channels of a group
    std::int64_t steps;   // of the sum over input channels

    channel_blocks(conv2d_shape const& s, isa const& isa)
        : lanes(reads_vectors(s, isa) ? isa.lanes() : 1),
          out(blocks(s.out_channels, isa)),
          in(blocks(s.in_channels, isa) / (is_depthwise(s) ? 1 : s.groups)),
          steps(is_depthwise(s)         ? 1
                : reads_vectors(s, isa) ? in
                                        : s.in_channels) {}
};

// Throws where there is no direct kernel, or a knob does not apply.
GSUB_LAZY void check_conv2d(conv2d_shape const& s, conv2d_config const& c, isa const& isa) {
    auto const refuse = [](std::string_view reason) { throw error{errors::kernel_form, std::string{reason}}; };
    if (s.groups != 1 && !reads_vectors(s, isa)) refuse("grouped convolution of an input that is not read in vectors");
    if (s.result != image_layout::blocked && (s.result == image_layout::planar || s.out_channels % isa.lanes() != 0))
        refuse("a result in planes, or with channels last that are no whole vectors");
    if (!conv2d_applies(s, isa)) refuse("grouped convolution of too many parts that differ");
    channel_blocks const z{s, isa};
    auto const tiles_apply =
        !lane_groups::apply(s, isa) && !s.depth.exists() && c.tile_ic % z.lanes == 0 && c.tile_ic / z.lanes < z.steps;
    if (c.tile_ow < 1 || c.tile_oh < 1 || c.tile_oc < 1 || c.chunk < 1 || c.unroll_ic < 1 ||
        isa.lanes() % c.unroll_ic != 0 || c.tile_ic < 0 || (c.tile_ic > 0 && !tiles_apply))
        throw error{errors::kernel_schedule, "a knob of conv2d that does not apply"};
}

// Writer of a direct convolution of whole blocks of channels, or of one filter a channel.
template <class = void>
class conv2d_writer {
public:
    conv2d_writer(conv2d_shape const& s, conv2d_config const& c, isa const& isa)
        : s_(s),
          c_(c),
          z_(s, isa),
          l_(isa.lanes()),
          depthwise_(is_depthwise(s)),
          flat_(is_flat(s) && !depthwise_),
          tiled_(c.tile_ic > 0),
          chunked_(is_chunked(s, isa) && !tiled_),
          h_(flat_ ? 1 : s.in[0]),
          w_(flat_ ? s.in[0] * s.in[1] : s.in[1]),
          rows_(flat_ ? 1 : s.out(0)),
          columns_(flat_ ? s.out(0) * s.out(1) : s.out(1)),
          group_blocks_(z_.out / (depthwise_ ? 1 : s.groups)),
          tile_oc_(std::min<std::int64_t>(c.tile_oc, group_blocks_)) {
        loop::expression_builder e{"conv2d"};
        image_operand const image{s.input, s.batch, s.in_channels, s.depth.in * h_, w_, z_.lanes},
            result{s.result, s.batch, s.out_channels, s.out_depth() * rows_, columns_, l_};
        in_ = image.input(e, "x");
        auto const taps_down = s.depth.kernel * s.kernel[0];
        weights_ = depthwise_ ? e.input("w", {z_.out, taps_down, s.kernel[1], l_})
                              : e.input("w", {z_.out, z_.steps, taps_down, s.kernel[1], z_.lanes, l_});
        if (s.bias) bias_ = e.input("bias", {z_.out, l_});
        if (s.residual) residual_ = result.input(e, "residual");
        arrays_ = arrays_of(e, s, result);
        out_ = result.output(e, "y");
        if (tiled_) sums_ = e.workspace("sums", {rows_, columns_, tile_oc_, l_});
        buffers_ = e.buffers();
    }

    loop::fused_nest run() const {
        auto const stages = tiles_of(z_.steps, c_.tile_ic / z_.lanes);
        loop::fused_nest all{stage(stages.front())};
        for (auto const& of : as_span(stages).subspan(1)) all.then(stage(of), 1);
        return all;
    }

private:
    // The sums over some steps, and behind the last ones what is fused behind all.
    loop::loop_nest stage(step_tiles const& of) const {
        loop::expression_builder e{"conv2d", buffers_};
        auto const n = e.spatial("n", s_.batch), g = e.spatial("g", depthwise_ ? 1 : s_.groups);
        // Tiles of channels are axes of their own where sums are put down by their place in one.
        auto const oct = tiled_ ? e.spatial("oct", (group_blocks_ + tile_oc_ - 1) / tile_oc_) : loop::affine{0};
        auto const oc = e.spatial("oc", tiled_ ? tile_oc_ : group_blocks_), o = oct * tile_oc_ + oc;
        if (tiled_ && group_blocks_ % tile_oc_ != 0) e.restrict_domain({o, group_blocks_});
        auto const tile = of.count > 1 ? e.spatial("ict", of.count) : loop::affine{0};
        auto const y = e.spatial("oh", rows_), x = e.spatial("ow", columns_), lane = e.spatial("lane", l_);
        auto const step = e.reduction("ic", of.each), ky = e.reduction("kh", s_.kernel[0]),
                   kx = e.reduction("kw", s_.kernel[1]), inner = e.reduction("ici", depthwise_ ? 1 : z_.lanes);
        auto const i = (tile + loop::affine{of.first}) * (c_.tile_ic / z_.lanes) + step;
        depth_axes const depth{e, s_.depth, s_.out_depth()};
        auto const row = y * s_.stride[0] + ky * s_.dilation[0] - loop::affine{s_.pads[0]},
                   column = flat_ ? x : x * s_.stride[1] + kx * s_.dilation[1] - loop::affine{s_.pads[1]};
        auto const row_out = depth.out * s_.out(0) + y, row_in = depth.plane * s_.in[0] + row,
                   tap = depth.tap * s_.kernel[0] + ky;
        auto const out_block = g * group_blocks_ + o;
        auto const in_block = depthwise_ ? o : g * z_.in + i;

        auto const read = e.at(in_, {n, in_block, row_in, column, depthwise_ ? lane : inner});
        auto const weight =
            depthwise_ ? e.at(weights_, {o, tap, kx, lane}) : e.at(weights_, {out_block, i, tap, kx, inner, lane});
        auto const first = !of.begins ? e.at(sums_, {y, x, oc, lane})
                           : s_.bias  ? e.at(bias_, {out_block, lane})
                                      : e.constant(0);
        // What fills up the last block of channels counts for nothing, whatever it is.
        loop::bound const channel{i * z_.lanes + inner, s_.in_channels};
        auto v = e.sum(first, read * weight, {{depth.plane, depth.in}, {row, h_}, {column, w_}, channel});
        if (!of.ends) return scheduled(e.store(sums_, {y, x, oc, lane}, v), of, depth);
        if (s_.residual) v = v + e.at(residual_, {n, out_block, row_out, x, lane});
        v = finished(e, v, s_, [&](std::size_t a) { return e.at(arrays_[a], {n, out_block, row_out, x, lane}); });
        return scheduled(e.store(out_, {n, out_block, row_out, x, lane}, v), of, depth);
    }

    // Taps of a row whose code is written out: all, but of a window so wide that its code would not stay in the core's
    // cache of instructions a part that divides them.
    static std::int64_t taps_at_once(std::int64_t taps) {
        constexpr std::int64_t wide = 32, most = 16;
        if (taps <= wide) return taps;
        auto part = most;
        while (taps % part != 0) --part;
        return part;
    }

    loop::loop_nest scheduled(loop::tensor_expression what, step_tiles const& of, depth_axes const& depth) const {
        loop::schedule plan{std::move(what)};
        auto const loop_of = [&](std::string_view name) { return plan.loop_of(name); };
        auto const [oo, oi] =
            tiled_ ? std::pair{loop_of("oct"), loop_of("oc")} : plan.split(loop_of("oc"), depthwise_ ? 1 : c_.tile_oc);
        auto const [yo, yi] = plan.split(loop_of("oh"), flat_ ? 1 : c_.tile_oh);
        auto const [xo, xi] = plan.split(loop_of("ow"), c_.tile_ow);
        auto const [xc, xt] = plan.split(xo, chunked_ ? c_.chunk : (columns_ + c_.tile_ow - 1) / c_.tile_ow);
        auto const [io, iu] =
            plan.split(loop_of("ici"), depthwise_ ? 1 : std::min<std::int64_t>(c_.unroll_ic, z_.lanes));
        auto const batch = loop_of("n"), group = loop_of("g"), tap_rows = loop_of("kh");
        std::vector<loop::variable> taps{loop_of("kw")}; // the last one is written out
        if (auto const part = taps_at_once(s_.kernel[1]); part < s_.kernel[1]) {
            auto const [far, near] = plan.split(taps[0], part);
            taps = {far, near};
        }
        std::vector<loop::variable> order{batch};
        if (c_.oc_inner && !tiled_)
            order.insert(order.end(), {yo, xc, group, oo});
        else
            order.insert(order.end(), {group, oo});
        if (of.count > 1) order.push_back(loop_of("ict"));
        if (!c_.oc_inner || tiled_) order.insert(order.end(), {yo, xc});
        order.insert(order.end(), {xt, loop_of("ic"), tap_rows});
        order.insert(order.end(), taps.begin(), taps.end());
        order.insert(order.end(), {io, iu, yi, xi, oi, loop_of("lane")});
        plan.reorder(as_span(depth.within(plan, yo, tap_rows, order)));
        auto joined = plan.loops()[0].var;
        for (int k = 0; k < (tiled_ ? 2 : depth.exist ? 5 : 4); ++k) joined = plan.fuse(joined, plan.loops()[1].var);
        plan.parallel(joined);
        if (c_.unroll_kh) plan.unroll(tap_rows);
        for (auto u : {taps.back(), iu, yi, xi, oi}) plan.unroll(u);
        plan.vectorize(loop_of("lane"));
        return std::move(plan).finish();
    }

    conv2d_shape const& s_;
    conv2d_config const& c_;
    channel_blocks z_;
    std::int64_t l_;
    bool depthwise_, flat_, tiled_, chunked_;
    std::int64_t h_, w_, rows_, columns_; // of what is read and stored, rows joined where they are flat
    std::int64_t group_blocks_, tile_oc_; // vectors of output channels of a group, of a tile
    std::int32_t in_ = -1, weights_ = -1, bias_ = -1, residual_ = -1, out_ = -1, sums_ = -1;
    std::vector<std::int32_t> arrays_;
    std::vector<loop::buffer> buffers_;
};

} // namespace detail

GSUB_LAZY_BODY loop::fused_nest conv2d_nest(conv2d_shape const& given, conv2d_config const& c, isa const& isa) {
    auto const s = detail::planar(given);
    detail::check_conv2d(s, c, isa);
    if (detail::lane_groups::apply(s, isa)) return detail::lane_nest(s, c, isa);
    return detail::conv2d_writer{s, c, isa}.run();
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
