#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/register_tile.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace gsub::kernels {

namespace detail {

// Tiles of a block of whole rows at most: the more, the less often weights are read. Tiles of a piece of a row at
// least.
inline constexpr std::int64_t most_block_tiles = 64, least_piece_tiles = 7;

// Numbers of one shape and configuration.
struct winograd_sizes {
    std::int64_t l, in_blocks, out_blocks;         // lanes, vectors of channels
    std::int64_t t, points;                        // a tile of the input is t x t
    std::int64_t tile_rows, tile_columns;          // of an image
    std::int64_t row_blocks, column_blocks, block; // blocks of an image in both directions, tiles of a block
    std::int64_t groups, part_groups;              // of output channels: all, of a part
    bool whole_rows;

    winograd_sizes(conv2d_shape const& s, winograd_config const& c, isa const& isa)
        : l(isa.lanes()),
          in_blocks(up(s.in_channels, l)),
          out_blocks(up(s.out_channels, l)),
          t(c.m + 2),
          points(t * t),
          tile_rows(up(s.out(0), c.m)),
          tile_columns(up(s.out(1), c.m)),
          row_blocks(up(tile_rows, c.rows)),
          column_blocks(up(tile_columns, c.columns)),
          block(std::int64_t{c.rows} * c.columns),
          groups(up(out_blocks, c.vectors)),
          part_groups(up(groups, c.parts)),
          whole_rows(c.columns == tile_columns) {}

    static std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
};

// Interpolation points other than zero and infinity come in pairs +-p: their rows of the transforms are sums and
// differences of an even and an odd part. The points are exact, and those of the larger tile give the least errors of
// those with few bits.
inline constexpr double winograd_points[] = {0.75, 1.5};
GSUB_LAZY std::vector<double> points_of(std::int32_t m) {
    if (m == 2) return {0, 1, -1};
    return {0, winograd_points[0], -winograd_points[0], winograd_points[1], -winograd_points[1]};
}

using winograd_terms = std::vector<loop::value>;

// Rows of B^T: the coefficients of the product of (x - q) over all points q but the row's own, at last over all.
GSUB_LAZY winograd_terms input_transform(std::int32_t m, winograd_terms const& d, loop::expression_builder& e) {
    if (m == 2) return {d[2] - d[0], d[2] + d[1], d[2] - d[1], d[3] - d[1]};
    auto const a = winograd_points[0], b = winograd_points[1];
    auto const aa = e.constant(a * a), bb = e.constant(b * b), sum = e.constant(a * a + b * b),
               product = e.constant(a * a * b * b);
    auto const even_a = d[4] - bb * d[2], odd_a = e.constant(a) * (d[3] - bb * d[1]);
    auto const even_b = d[4] - aa * d[2], odd_b = e.constant(b) * (d[3] - aa * d[1]);
    return {(d[4] - sum * d[2]) + product * d[0], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b,
            (d[5] - sum * d[3]) + product * d[1]};
}
// Rows of A^T: the powers of the points; infinity has the last row alone.
GSUB_LAZY winograd_terms output_transform(std::int32_t m, winograd_terms const& p, loop::expression_builder& e) {
    auto const even_a = p[1] + p[2], odd_a = p[1] - p[2];
    if (m == 2) return {p[0] + even_a, odd_a + p[3]};
    auto const a = winograd_points[0], b = winograd_points[1];
    auto const even_b = p[3] + p[4], odd_b = p[3] - p[4];
    return {(p[0] + even_a) + even_b, e.constant(a) * odd_a + e.constant(b) * odd_b,
            e.constant(a * a) * even_a + e.constant(b * b) * even_b,
            (p[5] + e.constant(a * a * a) * odd_a) + e.constant(b * b * b) * odd_b};
}
// The weights of nine taps from their transforms, which hold them up to rounding, and from a number that holds their
// signs exactly: the digits -1, 0, 1 to the base of three. A weight of zero is zero, and none changes its sign.
GSUB_LAZY winograd_terms weights_of(std::int32_t m, winograd_terms const& u, loop::value signs,
                                    loop::expression_builder& e) {
    auto const a = m == 2 ? 1 : winograd_points[0], b = winograd_points[1];
    auto const zero = m == 2 ? -1 : a * a * b * b,
               pair = m == 2 ? 1 : a * (a * a - b * b); // see `pack_winograd_weights`
    auto const t = static_cast<std::size_t>(m + 2);
    auto const row = [&](auto&& of) {
        return winograd_terms{e.constant(zero) * of(0), e.constant(pair) * (of(1) - of(2)), of(t - 1)};
    };
    winograd_terms columns[3]; // of a row: points of the other direction
    for (std::size_t q : {std::size_t{0}, std::size_t{1}, std::size_t{2}, t - 1}) {
        auto const three = row([&](std::size_t p) { return u[p * t + q]; });
        for (std::size_t r = 0; r < 3; ++r) columns[r].push_back(three[r]);
    }
    winograd_terms out;
    auto power = 1.0;
    auto above = signs + e.constant(9841); // (3^9 - 1) / 2: digits 0, 1, 2
    for (auto const& c : columns)
        for (auto const& w : row([&](std::size_t p) { return c[std::min<std::size_t>(p, 3)]; })) {
            power *= 3;
            auto const next = floor((signs + e.constant(9841.5)) * e.constant(1 / power));
            auto const sign = (above - e.constant(3) * next) - e.constant(1);
            out.push_back(sign * max(abs(w), e.constant(1.1754944e-38)));
            above = next;
        }
    return out;
}
// A transform of rows, then of columns: `size` x `size` values, row-major.
template <class F>
winograd_terms both_directions(winograd_terms const& in, std::size_t size, F&& transform) {
    std::vector<winograd_terms> rows;
    for (std::size_t r = 0; r < in.size() / size; ++r)
        rows.push_back(transform(winograd_terms(in.begin() + static_cast<std::ptrdiff_t>(r * size),
                                                in.begin() + static_cast<std::ptrdiff_t>((r + 1) * size))));
    std::vector<winograd_terms> columns;
    for (std::size_t c = 0; c < rows[0].size(); ++c) {
        winograd_terms column;
        for (auto const& r : rows) column.push_back(r[c]);
        columns.push_back(transform(column));
    }
    winograd_terms out;
    for (std::size_t r = 0; r < columns[0].size(); ++r)
        for (auto const& c : columns) out.push_back(c[r]);
    return out;
}

GSUB_LAZY loop::value sum_of(winograd_terms of) {
    while (of.size() > 1) {
        auto const half = of.size() / 2;
        for (std::size_t i = 0; i < half; ++i) of[i] = of[i] + of[of.size() - 1 - i];
        of.erase(of.end() - static_cast<std::ptrdiff_t>(half), of.end());
    }
    return of[0];
}

// Axes that all stages begin with: their loops become the parallel one.
struct winograd_block {
    loop::affine part, n, y, x;
};
GSUB_LAZY winograd_block block_axes(loop::expression_builder& e, conv2d_shape const& s, winograd_config const& c,
                                    winograd_sizes const& z) {
    return {e.spatial("part", c.parts), e.spatial("n", s.batch), e.spatial("rows", z.row_blocks),
            e.spatial("columns", z.column_blocks)};
}
GSUB_LAZY void parallel_block(loop::schedule& plan) {
    auto joined = plan.loops()[0].var;
    for (int k = 0; k < 3; ++k) joined = plan.fuse(joined, plan.loops()[1].var);
    plan.parallel(joined);
}

} // namespace detail

GSUB_LAZY_BODY bool winograd_applies(conv2d_shape const& s) noexcept {
    constexpr std::array<std::int64_t, 2> one{1, 1}, three{3, 3};
    return s.kernel == three && s.stride == one && s.dilation == one && s.groups == 1 &&
           s.input != image_layout::planar && s.result != image_layout::planar && !s.depth.exists() && s.out(0) > 0 &&
           s.out(1) > 0;
}

GSUB_LAZY_BODY loop::fused_nest winograd_nest(conv2d_shape const& s, winograd_config const& c, isa const& isa) {
    if (!winograd_applies(s))
        throw error{error_code::unsupported, "no 3x3 convolution of stride 1 over vectors of channels"};
    if ((c.m != 2 && c.m != 4) || c.rows < 1 || c.columns < 1 || c.tile < 1 || c.vectors < 1 || c.parts < 1 ||
        c.unroll_ic < 1 || isa.lanes() % c.unroll_ic != 0)
        throw error{error_code::usage, "a knob of winograd that does not apply"};
    detail::winograd_sizes const z{s, c, isa};
    if ((!z.whole_rows && c.rows > 1) || c.columns > z.tile_columns || c.rows > z.tile_rows || c.parts > z.groups)
        throw error{error_code::usage, "a knob of winograd that does not apply"};
    auto const l = z.l, block = z.block;
    auto const t = static_cast<std::size_t>(z.t);
    std::int64_t const m = c.m;

    // The input: all points of a tile and vector of channels a position.
    loop::expression_builder in{"winograd_input"};
    auto const at = detail::block_axes(in, s, c, z);
    auto const i = in.spatial("ic", z.in_blocks), ry = in.spatial("row", c.rows), cx = in.spatial("column", c.columns),
               lane = in.spatial("lane", l);
    auto const ty = at.y * c.rows + ry, tx = at.x * c.columns + cx;
    image_operand const image{s.input, s.batch, s.in_channels, s.in[0], s.in[1], l},
        result{s.result, s.batch, s.out_channels, s.out(0), s.out(1), l};
    auto const x = image.input(in, "x");
    auto const weights = in.input("w", {z.groups, z.points + 1, z.in_blocks, l, c.vectors, l});
    auto const bias = s.bias ? in.input("bias", {z.out_blocks, l}) : -1;
    auto const residual = s.residual ? result.input(in, "residual") : -1;
    auto const arrays = detail::arrays_of(in, s, result);
    auto const y = result.output(in, "y");
    // One more vector a point, lest all points fall into one set of the cache.
    auto const v = in.workspace("v", {z.points, (z.in_blocks * block + 1) * l});
    auto const kept = c.points_outer ? z.part_groups : 1; // groups whose products are kept side by side
    auto const products = in.workspace("m", {z.points, (kept * c.vectors * block + 1) * l});
    auto const product_of = [&](loop::affine const& g, loop::affine const& vector, loop::affine const& tile) {
        return ((c.points_outer ? g * c.vectors : loop::affine{}) + vector) * block + tile;
    };
    auto const in_only = [&](loop::expression_builder& e, loop::affine const& row, loop::affine const& column) {
        if (z.row_blocks * c.rows != z.tile_rows) e.restrict_domain({row, z.tile_rows});
        if (z.column_blocks * c.columns != z.tile_columns) e.restrict_domain({column, z.tile_columns});
    };
    in_only(in, ty, tx);
    detail::winograd_terms read;
    for (std::int64_t r = 0; r < z.t; ++r)
        for (std::int64_t k = 0; k < z.t; ++k) {
            auto const row = ty * m + loop::affine{r - s.pads[0]}, column = tx * m + loop::affine{k - s.pads[1]};
            read.push_back(in.at(x, {at.n, i, row, column, lane}, {{row, s.in[0]}, {column, s.in[1]}}));
        }
    auto const made =
        detail::both_directions(read, t, [&](auto const& d) { return detail::input_transform(c.m, d, in); });
    auto const place = (i * block + ry * c.columns + cx) * l + lane;
    for (std::int64_t p = 1; p < z.points; ++p) in.also_store(v, {p, place}, made[static_cast<std::size_t>(p)]);
    loop::schedule input{in.store(v, {0, place}, made[0])};
    auto const buffers = input.finish().what.buffers;
    detail::parallel_block(input);
    input.vectorize(input.loop_of("lane"));

    // The products: for each point a matrix of tiles times a matrix of weights.
    loop::expression_builder mul{"winograd_products", buffers};
    auto const of = detail::block_axes(mul, s, c, z);
    auto const g = mul.spatial("group", z.part_groups), p = mul.spatial("point", z.points),
               tile = mul.spatial("tile", block), w = mul.spatial("oc", c.vectors), out_lane = mul.spatial("lane", l);
    auto const ic = mul.reduction("ic", z.in_blocks), inner = mul.reduction("ici", l);
    auto const group = of.part * z.part_groups + g;
    if (z.whole_rows && z.row_blocks * c.rows != z.tile_rows)
        mul.restrict_domain({of.y * block + tile, z.tile_rows * z.tile_columns});
    if (!z.whole_rows && z.column_blocks * c.columns != z.tile_columns)
        mul.restrict_domain({of.x * block + tile, z.tile_columns});
    auto const groups_only = [&](loop::expression_builder& e, loop::affine const& number, loop::affine const& vector) {
        if (c.parts * z.part_groups != z.groups) e.restrict_domain({number, z.groups});
        if (z.groups * c.vectors != z.out_blocks) e.restrict_domain({number * c.vectors + vector, z.out_blocks});
    };
    groups_only(mul, group, w);
    auto const sum = mul.sum(mul.constant(0), mul.at(v, {p, (ic * block + tile) * l + inner}) *
                                                  mul.at(weights, {group, p, ic, inner, w, out_lane}));
    loop::schedule multiply{mul.store(products, {p, product_of(g, w, tile) * l + out_lane}, sum)};
    auto const loop_of = [&](std::string_view name) { return multiply.loop_of(name); };
    auto const [tiles, ti] = multiply.split(loop_of("tile"), std::min<std::int64_t>(c.tile, block));
    auto const [io, iu] = multiply.split(loop_of("ici"), c.unroll_ic);
    detail::parallel_block(multiply);
    multiply.reorder({multiply.loops()[0].var, loop_of(c.points_outer ? "point" : "group"),
                      loop_of(c.points_outer ? "group" : "point"), tiles, loop_of("ic"), io, iu, ti, loop_of("oc"),
                      loop_of("lane")});
    for (auto k : {iu, ti, loop_of("oc")}) multiply.unroll(k);
    multiply.vectorize(loop_of("lane"));

    // The output: all pixels of a tile and vector of channels a position.
    loop::expression_builder out{"winograd_output", buffers};
    auto const to = detail::block_axes(out, s, c, z);
    auto const og = out.spatial("group", z.part_groups), vector = out.spatial("oc", c.vectors),
               oy = out.spatial("row", c.rows), ox = out.spatial("column", c.columns), ol = out.spatial("lane", l);
    auto const row = to.y * c.rows + oy, column = to.x * c.columns + ox;
    auto const number = to.part * z.part_groups + og, oc = number * c.vectors + vector;
    in_only(out, row, column);
    groups_only(out, number, vector);
    detail::winograd_terms sums;
    for (std::int64_t k = 0; k < z.points; ++k)
        sums.push_back(out.at(products, {k, product_of(og, vector, oy * c.columns + ox) * l + ol}));
    auto pixels =
        detail::both_directions(sums, t, [&](auto const& d) { return detail::output_transform(c.m, d, out); });
    // What is not finite in a product is not finite in a corner: together they add all points, none with zero. Large
    // numbers are computed by the fallback too, lest their rounding errors spread to pixels that do not read them.
    auto const corner = static_cast<std::size_t>(m - 1), end = pixels.size() - 1;
    auto const corners = (pixels[0] + pixels[corner]) + (pixels[end - corner] + pixels[end]);
    out.guard(corners * out.constant(0x1p64), {to.n, number, vector, row, column});
    auto const finished = [&](loop::expression_builder& e, loop::value pixel, loop::affine const& n,
                              loop::affine const& o, loop::affine const& py, loop::affine const& px,
                              loop::affine const& lane_of) {
        if (s.bias) pixel = pixel + e.at(bias, {o, lane_of});
        if (s.residual) pixel = pixel + e.at(residual, {n, o, py, px, lane_of}, {{py, s.out(0)}, {px, s.out(1)}});
        return detail::finished(e, pixel, s, [&](std::size_t a) {
            return e.at(arrays[a], {n, o, py, px, lane_of}, {{py, s.out(0)}, {px, s.out(1)}});
        });
    };
    for (std::int64_t k = 0; k < m * m; ++k) {
        auto& pixel = pixels[static_cast<std::size_t>(k)];
        auto const py = row * m + loop::affine{k / m}, px = column * m + loop::affine{k % m};
        pixel = finished(out, pixel, to.n, oc, py, px, ol);
        if (k > 0) out.also_store(y, {to.n, oc, py, px, ol}, pixel, {{py, s.out(0)}, {px, s.out(1)}});
    }
    loop::schedule output{out.store(y, {to.n, oc, row * m, column * m, ol}, pixels[0])};
    detail::parallel_block(output);
    output.vectorize(output.loop_of("lane"));

    // Where a pixel of a tile is not finite, or too large on the way: sums of products, tap by tap.
    loop::expression_builder direct{"winograd_fallback", buffers};
    auto const dn = direct.spatial("n", s.batch), dg = direct.spatial("group", z.groups),
               dv = direct.spatial("oc", c.vectors), dty = direct.spatial("row", z.tile_rows),
               dtx = direct.spatial("column", z.tile_columns), dy = direct.spatial("y", m), dx = direct.spatial("x", m);
    auto const di = direct.reduction("ic", z.in_blocks), dc = direct.reduction("ici", l);
    auto const dl = direct.spatial("lane", l);
    auto const py = dty * m + dy, px = dtx * m + dx;
    detail::winograd_terms transformed;
    for (std::int64_t k = 0; k <= z.points; ++k) transformed.push_back(direct.at(weights, {dg, k, di, dc, dv, dl}));
    auto const taps = detail::weights_of(c.m, transformed, transformed.back(), direct);
    detail::winograd_terms parts;
    for (std::int64_t k = 0; k < 9; ++k) {
        auto const y_in = py + loop::affine{k / 3 - s.pads[0]}, x_in = px + loop::affine{k % 3 - s.pads[1]};
        parts.push_back(direct.at(x, {dn, di, y_in, x_in, dc}, {{y_in, s.in[0]}, {x_in, s.in[1]}}) *
                        taps[static_cast<std::size_t>(k)]);
    }
    auto const exact = direct.sum(direct.constant(0), detail::sum_of(parts), {{di * l + dc, s.in_channels}});
    auto const vectors_before = dg * c.vectors + dv;
    auto const pixel = finished(direct, exact, dn, vectors_before, py, px, dl);
    loop::schedule fallback{direct.store(y, {dn, vectors_before, py, px, dl}, pixel, {{py, s.out(0)}, {px, s.out(1)}})};
    std::vector<loop::variable> order;
    for (auto const* name : {"n", "group", "oc", "row", "column", "y", "ic", "ici", "x", "lane"})
        order.push_back(fallback.loop_of(name));
    fallback.reorder(order);
    fallback.unroll(fallback.loop_of("x"));
    fallback.vectorize(fallback.loop_of("lane"));

    loop::fused_nest nest{input.finish()};
    nest.then(multiply.finish(), 1).then(output.finish(), c.points_outer ? 1 : 2).fallback(fallback.finish());
    return nest;
}

GSUB_LAZY_BODY bool winograd_holds(std::span<float const> weights) noexcept {
    return greatest_magnitude(weights) <= 1e30f; // not where one is NaN
}

GSUB_LAZY_BODY std::vector<float> pack_winograd_weights(conv2d_shape const& s, winograd_config const& c,
                                                        std::span<float const> weights, isa const& isa) {
    detail::winograd_sizes const z{s, c, isa};
    auto const points = detail::points_of(c.m);
    auto const t = static_cast<std::size_t>(z.t);
    // Rows of G: (1, p, p^2) over the product of p - q for the other points q; infinity has (0, 0, 1).
    std::vector<std::array<double, 3>> g;
    for (auto p : points) {
        double product = 1;
        for (auto q : points)
            if (q != p) product *= p - q;
        g.push_back({1 / product, p / product, p * p / product});
    }
    g.push_back({0, 0, 1});
    std::vector<float> packed(static_cast<std::size_t>(z.groups * (z.points + 1) * z.in_blocks * z.l * c.vectors * z.l),
                              0.0f);
    auto const point = static_cast<std::size_t>(z.in_blocks * z.l * c.vectors * z.l); // from one to the next
    // The filters of a vector of output channels one after another: they share cache lines.
    for (std::int64_t block = 0; block < z.out_blocks; ++block)
        for (std::int64_t i = 0; i < s.in_channels; ++i) {
            auto const first =
                ((block / c.vectors * (z.points + 1) * z.in_blocks * z.l + i) * c.vectors + block % c.vectors) * z.l;
            for (std::int64_t lane = 0; lane < std::min(z.l, s.out_channels - block * z.l); ++lane) {
                auto const* const w = weights.data() + ((block * z.l + lane) * s.in_channels + i) * 9;
                auto* to = packed.data() + first + lane;
                for (std::size_t r = 0; r < t; ++r) {
                    std::array<double, 3> row;
                    for (std::size_t k = 0; k < 3; ++k)
                        row[k] = g[r][0] * static_cast<double>(w[k]) + g[r][1] * static_cast<double>(w[3 + k]) +
                                 g[r][2] * static_cast<double>(w[6 + k]);
                    for (std::size_t q = 0; q < t; ++q, to += point)
                        *to = static_cast<float>(row[0] * g[q][0] + row[1] * g[q][1] + row[2] * g[q][2]);
                }
                float signs = 0;
                for (std::size_t k = 9; k-- > 0;) signs = 3 * signs + static_cast<float>((w[k] > 0) - (w[k] < 0));
                *to = signs;
            }
        }
    return packed;
}

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

GSUB_LAZY_BODY winograd_config default_winograd(conv2d_shape const& s, isa const& isa, std::int32_t m,
                                                winograd_options const& options) {
    GSUB_ASSERT(winograd_applies(s) && (m == 2 || m == 4), "a convolution that has a Winograd kernel");
    auto const tile_rows = (s.out(0) + m - 1) / m, tile_columns = (s.out(1) + m - 1) / m;
    auto const out_blocks = detail::blocks(s.out_channels, isa);
    winograd_config best;
    auto least = std::numeric_limits<double>::infinity();
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
            auto const cycles = winograd_cycles(s, c, isa, options);
            if (cycles < 0.995 * least) least = cycles, best = c;
        }
    };
    using detail::most_block_tiles, detail::least_piece_tiles;
    for (std::int64_t rows = 1; rows <= tile_rows && (rows == 1 || rows * tile_columns <= most_block_tiles); ++rows)
        consider(rows, tile_columns);
    for (std::int64_t pieces = 2; tile_columns / pieces >= least_piece_tiles; ++pieces)
        consider(1, (tile_columns + pieces - 1) / pieces);
    best.points_outer = detail::gains_by_points({s, best, isa}, best.vectors, detail::counted(isa, options), options);
    return best;
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
