#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/kernels/impl/conv2d.ipp>
#include <gsub/kernels/impl/knob_fields.ipp>
#include <gsub/kernels/impl/register_tile.ipp>
#include <gsub/kernels/impl/separable.ipp>
#include <gsub/kernels/impl/winograd.ipp>
#include <gsub/kernels/knobs.hpp>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::kernels {

namespace detail {

// ---- values

// Unrolled products of a loop's body: compilers take time in proportion.
inline constexpr std::int64_t most_products = 512;
// Columns of register tiles, and accumulators of one column: `best_tile` counts no more.
inline constexpr std::int64_t most_vectors = 8, most_pixels = 28;

// Elements of the sums that are put down where a reduction is split for the caches.
inline constexpr std::int64_t most_sums = std::int64_t{1} << 16;

// Values of a knob: each once, from small to great.
GSUB_LAZY std::vector<loop::choice_value> values_of(std::vector<std::int64_t> all) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return std::vector<loop::choice_value>(all.begin(), all.end());
}
// One to `last`, and what counting prefers.
GSUB_LAZY std::vector<loop::choice_value> up_to(std::int64_t last, std::int64_t preferred) {
    std::vector<std::int64_t> all{preferred};
    for (std::int64_t v = 1; v <= last; ++v) all.push_back(v);
    return values_of(std::move(all));
}
GSUB_LAZY std::vector<loop::choice_value> powers_up_to(std::int64_t last, std::int64_t preferred) {
    std::vector<std::int64_t> all{preferred};
    for (std::int64_t v = 1; v <= last; v *= 2) all.push_back(v);
    return values_of(std::move(all));
}
GSUB_LAZY std::vector<loop::choice_value> either(bool open, bool preferred) {
    if (!open) return std::vector<loop::choice_value>(1, preferred);
    return {loop::choice_value{false}, loop::choice_value{true}};
}
// Rows of a register tile one vector wide.
GSUB_LAZY std::int64_t pixels_of(std::int64_t positions, isa const& isa) {
    auto const fitting = isa.lane_operands ? isa.registers / 2 - 1 : isa.registers - 2;
    return std::min({positions, most_pixels, std::int64_t{fitting}});
}
// The same where vectors are multiplied.
GSUB_LAZY std::int64_t pixels_of_vectors(std::int64_t positions, isa const& isa) {
    return std::min({positions, most_pixels, std::int64_t{isa.registers} - 2});
}
// Holds accumulators, weights and what they are multiplied by.
class register_file {
public:
    explicit register_file(isa const& isa) : isa_(isa) {}
    // Weights of one step, a vector of each column, and a scalar, or where lanes are operands a vector of each pixel.
    [[nodiscard]] bool holds(std::int64_t pixels, std::int64_t vectors) const {
        return pixels * vectors + vectors + scalar_registers(pixels, isa_) <= isa_.registers;
    }
    // Accumulators one vector wide, weights, and a vector of the image.
    [[nodiscard]] bool holds_vectors(std::int64_t pixels, std::int64_t weights) const {
        return pixels + weights + 1 <= isa_.registers;
    }

private:
    isa isa_;
};
// Weights that stay in registers where a kernel multiplies vectors of the image, and rows of its taps are unrolled: a
// vector of the image is read once, for all rows of pixels and all taps that it meets (`order_products`).
class kept_weights {
public:
    explicit kept_weights(conv2d_shape const& s) : taps_(s.kernel[1]), rows_(s.kernel[0]) {
        auto const both = std::gcd(s.stride[0], s.dilation[0]);
        pixels_apart_ = s.dilation[0] / both, taps_apart_ = s.stride[0] / both;
    }
    // Of a tile of so many rows of pixels: the rows of taps that meet a row of the image, each of some taps.
    [[nodiscard]] std::int64_t count(std::int64_t tile_rows) const {
        return taps_ * std::min(up(tile_rows, pixels_apart_), up(rows_, taps_apart_));
    }

private:
    static std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

    std::int64_t taps_, rows_;               // of taps
    std::int64_t pixels_apart_, taps_apart_; // rows of pixels, rows of taps, that meet one row of the image
};

// ---- spaces

GSUB_LAZY loop::config_space knobs_of(conv2d_shape const& s, isa const& isa) {
    auto const best = default_config(s, isa);
    auto const depthwise = is_depthwise(s), flat = is_flat(s) && !depthwise, lanes = lane_groups::apply(s, isa);
    auto const row = flat ? s.out(0) * s.out(1) : s.out(1);
    auto const columns = blocks(s.out_channels, isa) / (depthwise || lanes ? 1 : s.groups);
    std::vector<std::int64_t> chunks{best.chunk};
    for (std::int64_t c = 1; is_chunked(s, isa) && c <= std::min<std::int64_t>(row, 16); ++c)
        if (row % c == 0 || (c & (c - 1)) == 0) chunks.push_back(c);

    loop::config_space space;
    // Where vectors are multiplied, weights stay in registers.
    auto const of_vectors = depthwise || lanes;
    space.choice("tile_ow", up_to(of_vectors ? pixels_of_vectors(row, isa) : pixels_of(row, isa), best.tile_ow));
    space.choice("tile_oh", up_to(flat ? 1 : std::min<std::int64_t>(s.out(0), 4), best.tile_oh));
    space.choice("tile_oc", up_to(depthwise || lanes ? 1 : std::min(columns, most_vectors), best.tile_oc));
    auto const one_channel = depthwise || lanes || !reads_vectors(s, isa); // a turn
    space.choice("unroll_ic", one_channel ? values_of({best.unroll_ic}) : powers_up_to(isa.lanes(), best.unroll_ic));
    space.choice("chunk", values_of(std::move(chunks)));
    kept_weights const kept{s};
    register_file const registers{isa};
    space.choice("unroll_kh",
                 either(s.kernel[0] > 1 && (!of_vectors || registers.holds_vectors(1, kept.count(1))), best.unroll_kh));
    space.choice("oc_inner", either(!lanes, best.oc_inner));
    // Tiles of channels, whole vectors, whose weights fit a share of the caches.
    auto const channels = s.in_channels / s.groups;
    std::vector<std::int64_t> tiles{0};
    for (std::int64_t t = 32; !depthwise && !lanes && !s.depth.exists() && t <= 512 && 2 * t <= channels; t *= 2)
        tiles.push_back(t);
    space.choice("tile_ic", values_of(std::move(tiles)));

    auto const parts = lanes ? lane_groups{s, isa}.parts() : 1;
    auto const products = [=, height = s.kernel[0], width = s.kernel[1]](conv2d_config const& c) {
        return parts * c.tile_ow * c.tile_oh * c.tile_oc * (one_channel ? 1 : c.unroll_ic) * width *
               (c.unroll_kh ? height : 1);
    };
    space.constrain([=, most = std::max(products(best), most_products), l = isa.lanes(),
                     pixels = s.out(0) * s.out(1)](loop::configuration const& knobs) {
        auto const c = conv2d_knobs(knobs);
        auto const tiled = c.tile_ic > 0; // then there is one order of parallel positions
        auto const tile = std::int64_t{c.tile_ow} * c.tile_oh;
        auto const held = of_vectors ? registers.holds_vectors(tile, c.unroll_kh ? kept.count(c.tile_oh) : 1)
                                     : registers.holds(tile, c.tile_oc);
        return held && products(c) <= most &&
               (!tiled || (pixels * c.tile_oc * l <= most_sums && !c.oc_inner && c.chunk == 1));
    });
    return space;
}

GSUB_LAZY loop::config_space knobs_of(winograd_shape const& s, isa const& isa) {
    auto const up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    auto const tile_rows = up(s.conv.out(0), s.m), tile_columns = up(s.conv.out(1), s.m);
    auto const out_blocks = blocks(s.conv.out_channels, isa);
    auto const rows = std::clamp<std::int64_t>(most_block_tiles / tile_columns, 1, tile_rows);
    // Pieces of a row, shorter ones than counting considers too.
    std::vector<std::int64_t> columns{tile_columns};
    for (std::int64_t pieces = 2; tile_columns / pieces >= std::min<std::int64_t>(least_piece_tiles, 4); ++pieces)
        columns.push_back(up(tile_columns, pieces));
    std::int64_t const vectors = std::min<std::int64_t>(out_blocks, tile_options{}.max_vectors);
    std::vector<std::int64_t> parts; // that divide the groups of channels
    for (std::int64_t v = 1; v <= vectors; ++v)
        for (std::int64_t p = 1, groups = up(out_blocks, v); p * p <= groups; ++p)
            if (groups % p == 0) parts.insert(parts.end(), {p, groups / p});

    loop::config_space space;
    space.choice("rows", up_to(rows, 1));
    space.choice("columns", values_of(std::move(columns)));
    space.choice("tile", up_to(pixels_of(rows * tile_columns, isa), 1));
    space.choice("vectors", up_to(vectors, 1));
    space.choice("unroll_ic", powers_up_to(std::min(isa.lanes(), 8), 1));
    space.choice("parts", values_of(std::move(parts)));
    space.choice("points_outer", either(out_blocks > 1, false));
    space.constrain([=, registers = register_file{isa}](loop::configuration const& knobs) {
        auto const c = read_knobs<winograd_config>(knobs);
        auto const groups = up(out_blocks, c.vectors), of_part = up(groups, c.parts);
        return (c.rows == 1 || c.columns == tile_columns) && c.parts == up(groups, of_part) && // none is empty
               c.tile <= c.rows * c.columns && registers.holds(c.tile, c.vectors) && (!c.points_outer || of_part > 1);
    });
    return space;
}

GSUB_LAZY loop::config_space knobs_of(separable_shape const& s, isa const& isa) {
    constexpr std::int64_t elements = 4 * separable_cache; // of a piece
    auto const &d = s.depthwise, &p = s.pointwise;
    auto const best = default_config(s, isa);
    auto const height = d.out(0), width = d.out(1);
    auto const rows =
        std::min({height, std::int64_t{16}, std::max<std::int64_t>(elements / (width * d.out_channels), 1)});
    loop::config_space space;
    space.choice("rows", up_to(rows, best.rows));
    space.choice("depthwise_tile_ow", up_to(pixels_of_vectors(width, isa), best.depthwise.tile_ow));
    space.choice("depthwise_tile_oh", up_to(std::min<std::int64_t>(height, 4), best.depthwise.tile_oh));
    kept_weights const kept{d};
    register_file const registers{isa};
    space.choice("depthwise_unroll_kh",
                 either(d.kernel[0] > 1 && registers.holds_vectors(1, kept.count(1)), best.depthwise.unroll_kh));
    auto const pixels = std::max(rows, best.rows) * width, columns = blocks(p.out_channels, isa);
    space.choice("pointwise_tile_ow", up_to(pixels_of(pixels, isa), best.pointwise.tile_ow));
    space.choice("pointwise_tile_oc", up_to(std::min(columns, most_vectors), best.pointwise.tile_oc));
    space.choice("pointwise_unroll_ic", powers_up_to(isa.lanes(), best.pointwise.unroll_ic));
    space.choice("pointwise_oc_inner", either(true, best.pointwise.oc_inner));

    auto const products = [taps_y = d.kernel[0], taps_x = d.kernel[1]](conv2d_config const& c) {
        return c.tile_ow * c.tile_oh * taps_x * (c.unroll_kh ? taps_y : 1);
    };
    space.constrain([=, most = std::max(products(best.depthwise), most_products)](loop::configuration const& knobs) {
        auto const c = separable_knobs(knobs);
        auto const weights = c.depthwise.unroll_kh ? kept.count(c.depthwise.tile_oh) : 1;
        return c.depthwise.tile_oh <= c.rows && products(c.depthwise) <= most &&
               registers.holds_vectors(std::int64_t{c.depthwise.tile_ow} * c.depthwise.tile_oh, weights) &&
               c.pointwise.tile_ow <= c.rows * width && registers.holds(c.pointwise.tile_ow, c.pointwise.tile_oc);
    });
    return space;
}

GSUB_LAZY loop::config_space knobs_of(matmul_shape const& s, isa const& isa) {
    auto const best = default_config(s, isa);
    std::vector<std::int64_t> steps{best.unroll_k};
    for (std::int64_t u = 1; u <= 8; ++u)
        if (s.k % u == 0) steps.push_back(u);
    loop::config_space space;
    space.choice("tile_m", up_to(pixels_of(s.m, isa), best.tile_m));
    space.choice("tile_n", up_to(std::min(blocks(s.n, isa), most_vectors), best.tile_n));
    space.choice("unroll_k", values_of(std::move(steps)));
    // Tiles of steps whose columns fit the first cache, or a share of the second.
    std::vector<std::int64_t> tiles{0};
    for (std::int64_t t = 64; t <= 1024 && 2 * t <= s.k; t *= 2) tiles.push_back(t);
    space.choice("tile_k", values_of(std::move(tiles)));
    space.constrain([registers = register_file{isa}, rows = s.m, l = isa.lanes()](loop::configuration const& knobs) {
        auto const c = matmul_knobs(knobs);
        return registers.holds(c.tile_m, c.tile_n) &&
               (c.tile_k == 0 || (c.tile_k % c.unroll_k == 0 && rows * c.tile_n * l <= most_sums));
    });
    return space;
}

GSUB_LAZY loop::config_space knobs_of(attention_shape const& s, isa const& isa) {
    constexpr std::int64_t elements = std::int64_t{1} << 18; // of the scores of a piece and their exponentials
    auto const best = default_config(s, isa);
    std::vector<std::int64_t> rows{best.rows};
    auto const consider = [&](std::int64_t r) {
        if (r <= s.m && 2 * r * s.s <= elements) rows.push_back(r);
    };
    for (std::int64_t r = 1; r <= s.m; r *= 2) consider(r);
    consider(s.m);
    auto const pixels = pixels_of(*std::max_element(rows.begin(), rows.end()), isa);
    auto const columns = [&](std::int64_t n) { return std::min(blocks(n, isa), most_vectors); };
    loop::config_space space;
    space.choice("rows", values_of(std::move(rows)));
    space.choice("scores_pixels", up_to(pixels, best.scores.pixels));
    space.choice("scores_vectors", up_to(columns(s.s), best.scores.vectors));
    space.choice("values_pixels", up_to(pixels, best.values.pixels));
    space.choice("values_vectors", up_to(columns(s.n), best.values.vectors));
    space.constrain([registers = register_file{isa}](loop::configuration const& knobs) {
        auto const c = attention_knobs(knobs);
        auto const fits = [&](register_tile t) { return t.pixels <= c.rows && registers.holds(t.pixels, t.vectors); };
        return fits(c.scores) && fits(c.values);
    });
    return space;
}

} // namespace detail

GSUB_LAZY_BODY conv2d_config conv2d_knobs(loop::configuration const& knobs) {
    return detail::read_knobs<conv2d_config>(knobs);
}
GSUB_LAZY_BODY winograd_config winograd_knobs(loop::configuration const& knobs, std::int32_t m) {
    auto c = detail::read_knobs<winograd_config>(knobs);
    c.m = m;
    return c;
}
GSUB_LAZY_BODY separable_config separable_knobs(loop::configuration const& knobs) {
    return detail::read_knobs<separable_config>(knobs);
}
GSUB_LAZY_BODY matmul_config matmul_knobs(loop::configuration const& knobs) {
    return detail::read_knobs<matmul_config>(knobs);
}
GSUB_LAZY_BODY attention_config attention_knobs(loop::configuration const& knobs) {
    return detail::read_knobs<attention_config>(knobs);
}

GSUB_LAZY_BODY void set_knobs(loop::configuration& knobs, conv2d_config const& c) {
    detail::write_knobs(knobs, c);
}
GSUB_LAZY_BODY void set_knobs(loop::configuration& knobs, winograd_config const& c) {
    detail::write_knobs(knobs, c);
}
GSUB_LAZY_BODY void set_knobs(loop::configuration& knobs, separable_config const& c) {
    detail::write_knobs(knobs, c);
}
GSUB_LAZY_BODY void set_knobs(loop::configuration& knobs, matmul_config const& c) {
    detail::write_knobs(knobs, c);
}
GSUB_LAZY_BODY void set_knobs(loop::configuration& knobs, attention_config const& c) {
    detail::write_knobs(knobs, c);
}

GSUB_LAZY_BODY loop::config_space space_of(descriptor const& d, isa const& isa) {
    return std::visit(
        [&](auto const& s) {
            if constexpr (requires { detail::knobs_of(s, isa); }) return detail::knobs_of(s, isa);
            return loop::config_space{};
        },
        d);
}

GSUB_LAZY_BODY loop::configuration counted(descriptor const& d, isa const& isa, loop::config_space const& space,
                                           winograd_options const& options) {
    auto point = space.at(0);
    std::visit(
        [&](auto const& s) {
            if constexpr (std::same_as<std::decay_t<decltype(s)>, winograd_shape>)
                set_knobs(point, default_winograd(s.conv, isa, s.m, options));
            else if constexpr (requires { default_config(s, isa); })
                set_knobs(point, default_config(s, isa));
        },
        d);
    return point;
}

GSUB_LAZY_BODY loop::fused_nest nest_of(descriptor const& d, loop::configuration const& knobs, isa const& isa) {
    return std::visit(
        overloaded{
            [&](conv2d_shape const& s) -> loop::fused_nest { return conv2d_nest(s, conv2d_knobs(knobs), isa); },
            [&](winograd_shape const& s) { return winograd_nest(s.conv, winograd_knobs(knobs, s.m), isa); },
            [&](separable_shape const& s) { return separable_nest(s, separable_knobs(knobs), isa); },
            [&](matmul_shape const& s) { return matmul_nest(s, matmul_knobs(knobs), isa); },
            [&](attention_shape const& s) { return attention_nest(s, attention_knobs(knobs), isa); },
            [&](pool2d_shape const& s) -> loop::fused_nest { return pool2d_nest(s, isa); },
            [&](elementwise_shape const& s) -> loop::fused_nest {
                return elementwise_nest(s.elements, s.arrays, s.ops, isa);
            },
            [&](row_reduction_shape const& p) { return row_reduction_nest(p, isa); },
            [&](reduction_shape const& s) -> loop::fused_nest { return reduction_nest(s, isa); },
            [&](local_response_norm_shape const& s) -> loop::fused_nest { return local_response_norm_nest(s, isa); },
            [&](movement_shape const& s) { return movement_nest(s, isa); },
            [&](scatter_shape const& s) { return scatter_nest(s, isa); },
        },
        d);
}

GSUB_LAZY_BODY double operations_of(descriptor const& d) {
    auto const each = [](std::int64_t elements, auto const& ops, auto const& what) {
        double cost = 0;
        for (auto const& o : ops) cost += info(what(o).op).cost;
        return cost * static_cast<double>(elements);
    };
    return std::visit(overloaded{
                          [](winograd_shape const& s) { return s.conv.operations(); },
                          [](separable_shape const& s) { return s.depthwise.operations() + s.pointwise.operations(); },
                          [](pool2d_shape const& s) {
                              return static_cast<double>(s.batch * s.channels * s.out_depth * s.out[0] * s.out[1] *
                                                         s.depth.kernel * s.kernel[0] * s.kernel[1]);
                          },
                          [&](elementwise_shape const& s) {
                              return each(s.elements, s.ops, [](elementwise_op const& o) { return o; });
                          },
                          [&](row_reduction_shape const& p) {
                              std::int64_t elements = 1;
                              for (auto n : p.dims) elements *= n;
                              return each(elements, p.ops, [](row_reduction_op const& o) { return o.what; });
                          },
                          [](movement_shape const&) { return 0.0; },
                          [](auto const& s) -> double { return s.operations(); },
                      },
                      d);
}

} // namespace gsub::kernels
