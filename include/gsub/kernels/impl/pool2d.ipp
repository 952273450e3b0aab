#pragma once

#include <gsub/kernels/impl/depth_direction.ipp>
#include <gsub/kernels/pool2d.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace gsub::kernels {

namespace detail {

// A window that is the image, as one row.
GSUB_LAZY pool2d_shape joined_window(pool2d_shape s) {
    auto const& d = s.depth;
    auto const global = s.kernel == s.in && s.out[0] * s.out[1] == 1 && s.pads == std::array<std::int64_t, 2>{} &&
                        s.dilation == std::array<std::int64_t, 2>{1, 1} && d.kernel == d.in && s.out_depth == 1 &&
                        d.pads[0] == 0 && d.dilation == 1;
    if (global) s.in = s.kernel = {1, d.in * s.in[0] * s.in[1]}, s.depth = {};
    return s;
}

GSUB_LAZY loop::loop_nest scheduled_pool(pool2d_shape const& s, depth_axes const& depth, loop::tensor_expression what,
                                         isa const& isa) {
    loop::schedule plan{std::move(what)};
    std::int64_t const l = isa.lanes(), blocks = (s.channels + l - 1) / l;
    auto const parts = byte_size(loop::computed_in(s.element)) > 4 ? 2 : 1; // registers of a block
    auto const pixels = std::min<std::int64_t>(s.out[1], isa.registers / (2 * parts) - 2);
    auto const [xo, xi] = plan.split(plan.loop_of("ow"), pixels);
    auto const [co, ci] = plan.split(plan.loop_of("c"), std::min<std::int64_t>(blocks, s.out[1] == 1 ? 4 : 1));
    auto const batch = plan.loop_of("n"), rows = plan.loop_of("oh"), taps = plan.loop_of("kw");
    auto const tap_rows = plan.loop_of("kh");
    std::vector<loop::variable> lanes{plan.loop_of("lane")};
    if (parts > 1) {
        auto const [part, of_part] = plan.split(lanes[0], l / parts);
        plan.unroll(part);
        lanes = {part, of_part};
    }
    auto order = depth.within(plan, rows, tap_rows, {batch, co, rows, xo, tap_rows, taps, ci, xi});
    order.insert(order.end(), lanes.begin(), lanes.end());
    plan.reorder(as_span(order));
    auto outer = plan.fuse(batch, co);
    if (depth.exist) outer = plan.fuse(outer, plan.loop_of("od"));
    plan.parallel(plan.fuse(outer, rows));
    if (s.kernel[1] <= 11) plan.unroll(taps);
    plan.unroll(ci);
    plan.unroll(xi);
    plan.vectorize(lanes.back());
    return std::move(plan).finish();
}

} // namespace detail

GSUB_LAZY_BODY loop::loop_nest pool2d_nest(pool2d_shape const& given, isa const& isa) {
    auto const s = detail::joined_window(given);
    auto const type = loop::computed_in(s.element);
    std::int64_t const l = isa.lanes(), blocks = (s.channels + l - 1) / l;

    loop::expression_builder e{"pool2d"};
    auto const n = e.spatial("n", s.batch), c = e.spatial("c", blocks), y = e.spatial("oh", s.out[0]),
               x = e.spatial("ow", s.out[1]), lane = e.spatial("lane", l);
    auto const ky = e.reduction("kh", s.kernel[0]), kx = e.reduction("kw", s.kernel[1]);
    detail::depth_axes const depth{e, s.depth, s.out_depth};
    auto const row = y * s.stride[0] + ky * s.dilation[0] - loop::affine{s.pads[0]},
               column = x * s.stride[1] + kx * s.dilation[1] - loop::affine{s.pads[1]};
    auto const row_out = depth.out * s.out[0] + y, row_in = depth.plane * s.in[0] + row;
    auto const rows_out = depth.count * s.out[0];
    image_operand const image{s.input, s.batch, s.channels, depth.in * s.in[0], s.in[1], l, s.element},
        result{s.result, s.batch, s.channels, rows_out, s.out[1], l, s.element};
    auto const in = image.input(e, "x");
    auto const factors = s.average ? e.input("factor", {rows_out, s.out[1]}) : -1;
    auto const out = result.output(e, "y");
    auto const read = cast(e.at(in, {n, c, row_in, column, lane}), type);
    auto const least =
        info(type).is_signed ? std::numeric_limits<std::int64_t>::min() >> (64 - 8 * byte_size(type)) : 0;
    auto const first =
        s.average ? e.constant(0, type) : e.number(-std::numeric_limits<double>::infinity(), least, type);
    loop::bound const plane{depth.plane, depth.in};
    auto v = s.average ? e.sum(first, read, {plane, {row, s.in[0]}, {column, s.in[1]}})
                       : e.maximum(first, read, {plane, {row, s.in[0]}, {column, s.in[1]}});
    if (s.average) {
        auto const factor = e.at(factors, {row_out, x});
        v = type == dtype::f64 ? v / cast(factor, type) : v * factor;
    }
    return detail::scheduled_pool(s, depth, e.store(out, {n, c, row_out, x, lane}, cast(v, s.element)), isa);
}

GSUB_LAZY_BODY std::vector<float> pool2d_factors(pool2d_shape const& s) {
    // Taps of one dimension at one place.
    auto const taps_along = [&](depth_direction const& d, std::int64_t at) {
        std::int64_t count = 0;
        auto const low = s.count_pads ? -d.pads[0] : 0, high = d.in + (s.count_pads ? d.pads[1] : 0);
        for (std::int64_t k = 0; k < d.kernel; ++k) {
            auto const i = at * d.stride + k * d.dilation - d.pads[0];
            count += i >= low && i < high;
        }
        return count;
    };
    auto const taps = [&](std::size_t d, std::int64_t at) {
        return taps_along({s.in[d], s.kernel[d], s.stride[d], s.dilation[d], {s.pads[d], s.pads_end[d]}}, at);
    };
    auto const factor_of = [&](std::int64_t count) {
        auto const n = static_cast<float>(count);
        return s.element == dtype::f64 ? n : 1 / n;
    };
    std::vector<float> factors;
    for (std::int64_t z = 0; z < s.out_depth; ++z)
        for (std::int64_t y = 0; y < s.out[0]; ++y)
            for (std::int64_t x = 0; x < s.out[1]; ++x)
                factors.push_back(factor_of(taps_along(s.depth, z) * taps(0, y) * taps(1, x)));
    return factors;
}

} // namespace gsub::kernels
