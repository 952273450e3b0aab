#pragma once

#include <gsub/core/result.hpp>
#include <gsub/kernels/impl/conv2d_shape.ipp>
#include <gsub/kernels/impl/winograd_sizes.ipp>
#include <gsub/kernels/impl/winograd_transforms.ipp>
#include <gsub/kernels/winograd.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::kernels {

GSUB_LAZY_BODY bool winograd_applies(conv2d_shape const& s) noexcept {
    constexpr std::array<std::int64_t, 2> one{1, 1}, three{3, 3};
    return s.kernel == three && s.stride == one && s.dilation == one && s.groups == 1 &&
           s.input != image_layout::planar && s.result != image_layout::planar && !s.depth.exists() && s.out(0) > 0 &&
           s.out(1) > 0;
}

namespace detail {

// Sizes of a kernel. *Errors* throws where there is none, or a knob does not apply.
GSUB_LAZY winograd_sizes checked_sizes(conv2d_shape const& s, winograd_config const& c, isa const& isa) {
    if (!winograd_applies(s))
        throw error{errors::kernel_form, "no 3x3 convolution of stride 1 over vectors of channels"};
    auto const known = (c.m == 2 || c.m == 4) && c.rows >= 1 && c.columns >= 1 && c.tile >= 1 && c.vectors >= 1 &&
                       c.parts >= 1 && c.unroll_ic >= 1 && isa.lanes() % c.unroll_ic == 0;
    if (!known) throw error{errors::kernel_schedule, "a knob of winograd that does not apply"};
    winograd_sizes const z{s, c, isa};
    if ((!z.whole_rows && c.rows > 1) || c.columns > z.tile_columns || c.rows > z.tile_rows || c.parts > z.groups)
        throw error{errors::kernel_schedule, "a knob of winograd that does not apply"};
    return z;
}

// Writer of the stages of a Winograd kernel, all over one list of buffers.
template <class = void>
class winograd_writer {
public:
    winograd_writer(conv2d_shape const& s, winograd_config const& c, isa const& isa)
        : s_(s), c_(c), z_(checked_sizes(s, c, isa)), l_(z_.l), m_(c.m) {
        loop::expression_builder e{"winograd"};
        image_operand const image{s.input, s.batch, s.in_channels, s.in[0], s.in[1], l_},
            result{s.result, s.batch, s.out_channels, s.out(0), s.out(1), l_};
        x_ = image.input(e, "x");
        w_ = e.input("w", {z_.groups, z_.points + 1, z_.in_blocks, l_, c.vectors, l_});
        if (s.bias) bias_ = e.input("bias", {z_.out_blocks, l_});
        if (s.residual) residual_ = result.input(e, "residual");
        arrays_ = arrays_of(e, s, result);
        y_ = result.output(e, "y");
        // One more vector a point, lest all points fall into one set of the cache.
        v_ = e.workspace("v", {z_.points, (z_.in_blocks * z_.block + 1) * l_});
        auto const kept = c.points_outer ? z_.part_groups : 1; // groups whose products are kept side by side
        products_ = e.workspace("m", {z_.points, (kept * c.vectors * z_.block + 1) * l_});
        buffers_ = e.buffers();
    }

    loop::fused_nest run() const {
        loop::fused_nest nest{input()};
        nest.then(multiplication(), 1).then(output(), c_.points_outer ? 1 : 2);
        nest.fallback([of = *this] { return of.direct(); });
        return nest;
    }

private:
    // ---- what stages have in common

    // Axes that all but the fallback begin with: their loops become the parallel one.
    struct block_index {
        loop::affine part, n, y, x;
    };
    block_index block_axes(loop::expression_builder& e) const {
        return {e.spatial("part", c_.parts), e.spatial("n", s_.batch), e.spatial("rows", z_.row_blocks),
                e.spatial("columns", z_.column_blocks)};
    }
    static void parallel_block(loop::schedule& plan) {
        auto joined = plan.loops()[0].var;
        for (int k = 0; k < 3; ++k) joined = plan.fuse(joined, plan.loops()[1].var);
        plan.parallel(joined);
    }
    // A tile of an image, and its number within the block.
    struct tile_index {
        loop::affine row, column, in_block;
    };
    tile_index tile_axes(loop::expression_builder& e, block_index const& block) const {
        auto const row = e.spatial("row", c_.rows), column = e.spatial("column", c_.columns);
        tile_index const tile{block.y * c_.rows + row, block.x * c_.columns + column, row * c_.columns + column};
        if (z_.row_blocks * c_.rows != z_.tile_rows) e.restrict_domain({tile.row, z_.tile_rows});
        if (z_.column_blocks * c_.columns != z_.tile_columns) e.restrict_domain({tile.column, z_.tile_columns});
        return tile;
    }
    void only_groups(loop::expression_builder& e, loop::affine const& group, loop::affine const& vector) const {
        if (c_.parts * z_.part_groups != z_.groups) e.restrict_domain({group, z_.groups});
        if (z_.groups * c_.vectors != z_.out_blocks) e.restrict_domain({group * c_.vectors + vector, z_.out_blocks});
    }
    // Where the products of a tile with a vector of filters lie: of a group, counted within the part.
    loop::affine product_of(loop::affine const& group, loop::affine const& vector, loop::affine const& tile) const {
        return ((c_.points_outer ? group * c_.vectors : loop::affine{}) + vector) * z_.block + tile;
    }
    struct pixel_index {
        loop::affine n, block, y, x, lane; // a vector of channels, one of them
    };
    // What is fused behind the convolution of a pixel, which may lie beyond the image.
    loop::value finished(loop::expression_builder& e, loop::value pixel, pixel_index const& at) const {
        auto const read = [&](std::int32_t buffer) {
            return e.at(buffer, {at.n, at.block, at.y, at.x, at.lane}, {{at.y, s_.out(0)}, {at.x, s_.out(1)}});
        };
        if (s_.bias) pixel = pixel + e.at(bias_, {at.block, at.lane});
        if (s_.residual) pixel = pixel + read(residual_);
        return detail::finished(e, pixel, s_, [&](std::size_t a) { return read(arrays_[a]); });
    }

    // ---- stages

    // All points of a tile and vector of channels a position.
    loop::loop_nest input() const {
        loop::expression_builder e{"winograd_input", buffers_};
        auto const block = block_axes(e);
        auto const i = e.spatial("ic", z_.in_blocks);
        auto const tile = tile_axes(e, block);
        auto const lane = e.spatial("lane", l_);
        winograd_terms read;
        for (std::int64_t r = 0; r < z_.t; ++r)
            for (std::int64_t k = 0; k < z_.t; ++k) {
                auto const row = tile.row * m_ + loop::affine{r - s_.pads[0]},
                           column = tile.column * m_ + loop::affine{k - s_.pads[1]};
                read.push_back(e.at(x_, {block.n, i, row, column, lane}, {{row, s_.in[0]}, {column, s_.in[1]}}));
            }
        auto const made = both_directions(read, static_cast<std::size_t>(z_.t),
                                          [&](auto const& d) { return input_transform(c_.m, d, e); });
        auto const place = (i * z_.block + tile.in_block) * l_ + lane;
        for (std::int64_t p = 1; p < z_.points; ++p) e.also_store(v_, {p, place}, made[static_cast<std::size_t>(p)]);
        loop::schedule plan{e.store(v_, {0, place}, made[0])};
        parallel_block(plan);
        plan.vectorize(plan.loop_of("lane"));
        return std::move(plan).finish();
    }

    // For each point a matrix of tiles times a matrix of weights.
    loop::loop_nest multiplication() const {
        loop::expression_builder e{"winograd_products", buffers_};
        auto const of = block_axes(e);
        auto const g = e.spatial("group", z_.part_groups), p = e.spatial("point", z_.points),
                   tile = e.spatial("tile", z_.block), vector = e.spatial("oc", c_.vectors),
                   lane = e.spatial("lane", l_);
        auto const ic = e.reduction("ic", z_.in_blocks), inner = e.reduction("ici", l_);
        auto const group = of.part * z_.part_groups + g;
        if (z_.whole_rows && z_.row_blocks * c_.rows != z_.tile_rows)
            e.restrict_domain({of.y * z_.block + tile, z_.tile_rows * z_.tile_columns});
        if (!z_.whole_rows && z_.column_blocks * c_.columns != z_.tile_columns)
            e.restrict_domain({of.x * z_.block + tile, z_.tile_columns});
        only_groups(e, group, vector);
        auto const sum = e.sum(e.constant(0), e.at(v_, {p, (ic * z_.block + tile) * l_ + inner}) *
                                                  e.at(w_, {group, p, ic, inner, vector, lane}));
        loop::schedule plan{e.store(products_, {p, product_of(g, vector, tile) * l_ + lane}, sum)};
        auto const loop_of = [&](std::string_view name) { return plan.loop_of(name); };
        auto const [tiles, ti] = plan.split(loop_of("tile"), std::min<std::int64_t>(c_.tile, z_.block));
        auto const [io, iu] = plan.split(loop_of("ici"), c_.unroll_ic);
        parallel_block(plan);
        plan.reorder({plan.loops()[0].var, loop_of(c_.points_outer ? "point" : "group"),
                      loop_of(c_.points_outer ? "group" : "point"), tiles, loop_of("ic"), io, iu, ti, loop_of("oc"),
                      loop_of("lane")});
        for (auto k : {iu, ti, loop_of("oc")}) plan.unroll(k);
        plan.vectorize(loop_of("lane"));
        return std::move(plan).finish();
    }

    // All pixels of a tile and vector of channels a position.
    loop::loop_nest output() const {
        loop::expression_builder e{"winograd_output", buffers_};
        auto const block = block_axes(e);
        auto const g = e.spatial("group", z_.part_groups), vector = e.spatial("oc", c_.vectors);
        auto const tile = tile_axes(e, block);
        auto const lane = e.spatial("lane", l_);
        auto const group = block.part * z_.part_groups + g, oc = group * c_.vectors + vector;
        only_groups(e, group, vector);
        winograd_terms sums;
        for (std::int64_t k = 0; k < z_.points; ++k)
            sums.push_back(e.at(products_, {k, product_of(g, vector, tile.in_block) * l_ + lane}));
        auto pixels = both_directions(sums, static_cast<std::size_t>(z_.t),
                                      [&](auto const& d) { return output_transform(c_.m, d, e); });
        // What is not finite in a product is not finite in a corner: together they add all points, none with zero.
        // Large numbers are computed by the fallback too, lest their rounding errors spread to pixels that do not read
        // them.
        auto const corner = static_cast<std::size_t>(m_ - 1), end = pixels.size() - 1;
        auto const corners = (pixels[0] + pixels[corner]) + (pixels[end - corner] + pixels[end]);
        e.guard(corners * e.constant(0x1p64), {block.n, group, vector, tile.row, tile.column});
        for (std::int64_t k = 0; k < m_ * m_; ++k) {
            auto& pixel = pixels[static_cast<std::size_t>(k)];
            auto const y = tile.row * m_ + loop::affine{k / m_}, x = tile.column * m_ + loop::affine{k % m_};
            pixel = finished(e, pixel, {block.n, oc, y, x, lane});
            if (k > 0) e.also_store(y_, {block.n, oc, y, x, lane}, pixel, {{y, s_.out(0)}, {x, s_.out(1)}});
        }
        loop::schedule plan{e.store(y_, {block.n, oc, tile.row * m_, tile.column * m_, lane}, pixels[0])};
        parallel_block(plan);
        plan.vectorize(plan.loop_of("lane"));
        return std::move(plan).finish();
    }

    // Where a pixel of a tile is not finite, or too large on the way: sums of products, tap by tap.
    loop::loop_nest direct() const {
        loop::expression_builder e{"winograd_fallback", buffers_};
        auto const n = e.spatial("n", s_.batch), group = e.spatial("group", z_.groups),
                   vector = e.spatial("oc", c_.vectors), row = e.spatial("row", z_.tile_rows),
                   column = e.spatial("column", z_.tile_columns), in_y = e.spatial("y", m_), in_x = e.spatial("x", m_);
        auto const i = e.reduction("ic", z_.in_blocks), inner = e.reduction("ici", l_);
        auto const lane = e.spatial("lane", l_);
        auto const y = row * m_ + in_y, x = column * m_ + in_x;
        winograd_terms transformed;
        for (std::int64_t k = 0; k <= z_.points; ++k)
            transformed.push_back(e.at(w_, {group, k, i, inner, vector, lane}));
        auto const taps = weights_of(c_.m, transformed, transformed.back(), e);
        winograd_terms parts;
        for (std::int64_t k = 0; k < 9; ++k) {
            auto const y_in = y + loop::affine{k / 3 - s_.pads[0]}, x_in = x + loop::affine{k % 3 - s_.pads[1]};
            parts.push_back(e.at(x_, {n, i, y_in, x_in, inner}, {{y_in, s_.in[0]}, {x_in, s_.in[1]}}) *
                            taps[static_cast<std::size_t>(k)]);
        }
        auto const exact = e.sum(e.constant(0), sum_of(parts), {{i * l_ + inner, s_.in_channels}});
        auto const oc = group * c_.vectors + vector;
        auto const pixel = finished(e, exact, {n, oc, y, x, lane});
        loop::schedule plan{e.store(y_, {n, oc, y, x, lane}, pixel, {{y, s_.out(0)}, {x, s_.out(1)}})};
        std::vector<loop::variable> order;
        for (auto const* name : {"n", "group", "oc", "row", "column", "y", "ic", "ici", "x", "lane"})
            order.push_back(plan.loop_of(name));
        plan.reorder(order);
        plan.unroll(plan.loop_of("x"));
        plan.vectorize(plan.loop_of("lane"));
        return std::move(plan).finish();
    }

    conv2d_shape s_; // its own, since the fallback is made later
    winograd_config c_;
    winograd_sizes z_;
    std::int64_t l_, m_;
    std::int32_t x_ = -1, w_ = -1, bias_ = -1, residual_ = -1, y_ = -1;
    std::int32_t v_ = -1, products_ = -1; // the transformed input, the products of points
    std::vector<std::int32_t> arrays_;
    std::vector<loop::buffer> buffers_;
};

} // namespace detail

GSUB_LAZY_BODY loop::fused_nest winograd_nest(conv2d_shape const& s, winograd_config const& c, isa const& isa) {
    return detail::winograd_writer{s, c, isa}.run();
}

} // namespace gsub::kernels
