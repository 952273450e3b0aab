#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/register_tile.hpp>
#include <gsub/kernels/separable.hpp>

#include <algorithm>
#include <utility>

namespace gsub::kernels {

namespace detail {

template <class = void>
class separable_writer {
public:
    separable_writer(separable_shape const& s, separable_config const& c, isa const& isa)
        : d_(s.depthwise), p_(s.pointwise), c_(c), l_(isa.lanes()) {
        auto const refuse = [](std::string_view reason) {
            throw error{errors::kernel_schedule, format_text("separable convolution: {}", reason)};
        };
        if (!is_separable(s)) refuse("the shapes are not of this form");
        for (auto knob : {c.depthwise.tile_ow, c.depthwise.tile_oh, c.pointwise.tile_ow, c.pointwise.tile_oc})
            if (knob < 1) refuse("a knob does not apply");
        if (c.rows < 1 || c.pointwise.unroll_ic < 1 || l_ % c.pointwise.unroll_ic != 0) refuse("a knob does not apply");
        hidden_blocks_ = blocks(d_.out_channels, isa), out_blocks_ = blocks(p_.out_channels, isa);
        height_ = d_.out(0), width_ = d_.out(1);
        loop::expression_builder e{"separable"};
        image_operand const image{d_.input, d_.batch, d_.in_channels, d_.in[0], d_.in[1], l_},
            result{p_.result, p_.batch, p_.out_channels, 1, height_ * width_, l_};
        x_ = image.input(e, "x");
        depthwise_weights_ = e.input("wd", {hidden_blocks_, d_.kernel[0], d_.kernel[1], l_});
        if (d_.bias) depthwise_bias_ = e.input("bd", {hidden_blocks_, l_});
        weights_ = e.input("w", {out_blocks_, hidden_blocks_, l_, l_});
        if (p_.bias) bias_ = e.input("bias", {out_blocks_, l_});
        if (p_.residual) residual_ = result.input(e, "residual");
        arrays_ = arrays_of(e, p_, result);
        y_ = result.output(e, "y");
        hidden_ = e.workspace("hidden", {hidden_blocks_, c_.rows * width_, l_});
        buffers_ = e.buffers();
    }

    loop::fused_nest run() const {
        loop::fused_nest all{depthwise()};
        all.then(pointwise(), 1);
        return all;
    }

private:
    struct stage {
        loop::expression_builder e;
        loop::affine n, piece;
    };
    [[nodiscard]] stage begin(std::string_view name) const {
        stage t{loop::expression_builder{name, buffers_}, {}, {}};
        t.n = t.e.spatial("n", d_.batch);
        t.piece = t.e.spatial("piece", (height_ + c_.rows - 1) / c_.rows);
        return t;
    }
    static loop::loop_nest end(loop::schedule& plan) {
        plan.parallel(plan.fuse(plan.loop_of("n"), plan.loop_of("piece")));
        plan.vectorize(plan.loop_of("lane"));
        return std::move(plan).finish();
    }

    [[nodiscard]] loop::loop_nest depthwise() const {
        auto t = begin("depthwise");
        auto const c = t.e.spatial("c", hidden_blocks_), oh = t.e.spatial("oh", c_.rows),
                   ow = t.e.spatial("ow", width_), lane = t.e.spatial("lane", l_);
        auto const kh = t.e.reduction("kh", d_.kernel[0]), kw = t.e.reduction("kw", d_.kernel[1]);
        auto const of_all = t.piece * c_.rows + oh;
        if (height_ % c_.rows != 0) t.e.restrict_domain({of_all, height_});
        auto const row = of_all * d_.stride[0] + kh * d_.dilation[0] - loop::affine{d_.pads[0]},
                   column = ow * d_.stride[1] + kw * d_.dilation[1] - loop::affine{d_.pads[1]};
        auto const start = d_.bias ? t.e.at(depthwise_bias_, {c, lane}) : t.e.constant(0);
        auto const sum =
            t.e.sum(start, t.e.at(x_, {t.n, c, row, column, lane}) * t.e.at(depthwise_weights_, {c, kh, kw, lane}),
                    {{row, d_.in[0]}, {column, d_.in[1]}});
        auto const pixel = finished(t.e, sum, d_, [&](std::size_t) { return sum; }); // it has no arrays
        loop::schedule plan{t.e.store(hidden_, {c, oh * width_ + ow, lane}, pixel)};
        auto const [yo, yi] = plan.split(plan.loop_of("oh"), c_.depthwise.tile_oh);
        auto const [xo, xi] = plan.split(plan.loop_of("ow"), c_.depthwise.tile_ow);
        auto const rows = plan.loop_of("kh"), taps = plan.loop_of("kw");
        plan.reorder({plan.loop_of("n"), plan.loop_of("piece"), plan.loop_of("c"), yo, xo, rows, taps, yi, xi,
                      plan.loop_of("lane")});
        if (c_.depthwise.unroll_kh) plan.unroll(rows);
        for (auto v : {taps, yi, xi}) plan.unroll(v);
        return end(plan);
    }

    [[nodiscard]] loop::loop_nest pointwise() const {
        auto t = begin("pointwise");
        auto const o = t.e.spatial("oc", out_blocks_), pixel = t.e.spatial("pixel", c_.rows * width_),
                   lane = t.e.spatial("lane", l_);
        auto const i = t.e.reduction("ic", hidden_blocks_), inner = t.e.reduction("ici", l_);
        auto const of_all = t.piece * (c_.rows * width_) + pixel;
        if (height_ % c_.rows != 0) t.e.restrict_domain({of_all, height_ * width_});
        auto const start = p_.bias ? t.e.at(bias_, {o, lane}) : t.e.constant(0);
        auto v = t.e.sum(start, t.e.at(hidden_, {i, pixel, inner}) * t.e.at(weights_, {o, i, inner, lane}),
                         {{i * l_ + inner, p_.in_channels}});
        if (p_.residual) v = v + t.e.at(residual_, {t.n, o, 0, of_all, lane});
        v = finished(t.e, v, p_, [&](std::size_t a) { return t.e.at(arrays_[a], {t.n, o, 0, of_all, lane}); });
        loop::schedule plan{t.e.store(y_, {t.n, o, 0, of_all, lane}, v)};
        auto const [oo, oi] = plan.split(plan.loop_of("oc"), c_.pointwise.tile_oc);
        auto const [xo, xi] = plan.split(plan.loop_of("pixel"), c_.pointwise.tile_ow);
        auto const [io, iu] = plan.split(plan.loop_of("ici"), c_.pointwise.unroll_ic);
        auto const outer = c_.pointwise.oc_inner ? std::pair{xo, oo} : std::pair{oo, xo};
        plan.reorder({plan.loop_of("n"), plan.loop_of("piece"), outer.first, outer.second, plan.loop_of("ic"), io, iu,
                      xi, oi, plan.loop_of("lane")});
        for (auto u : {iu, xi, oi}) plan.unroll(u);
        return end(plan);
    }

    conv2d_shape const& d_;
    conv2d_shape const& p_;
    separable_config const& c_;
    std::int64_t l_, hidden_blocks_ = 1, out_blocks_ = 1, height_ = 1, width_ = 1;
    std::int32_t x_ = -1, depthwise_weights_ = -1, depthwise_bias_ = -1, weights_ = -1, bias_ = -1, residual_ = -1,
                 y_ = -1, hidden_ = -1;
    std::vector<std::int32_t> arrays_;
    std::vector<loop::buffer> buffers_;
};

} // namespace detail

GSUB_LAZY_BODY bool is_separable(separable_shape const& s) noexcept {
    auto const &d = s.depthwise, &p = s.pointwise;
    return detail::is_depthwise(d) && d.input != image_layout::planar && !d.depth.exists() && !d.residual &&
           d.arrays == 0 && detail::is_flat(p) && p.groups == 1 && d.batch == p.batch &&
           d.out_channels == p.in_channels && p.in[0] == d.out(0) && p.in[1] == d.out(1);
}

namespace detail {

inline constexpr std::int64_t separable_cache = std::int64_t{1} << 16; // elements: pixels, and weights, stay in there
// Rows of a piece that stay in the cache, of which there are enough for threads to share; may be zero.
GSUB_LAZY std::int64_t separable_rows(separable_shape const& s) {
    constexpr std::int64_t pieces = 14;
    return std::min(s.depthwise.out(0) / pieces, separable_cache / (s.depthwise.out(1) * s.depthwise.out_channels));
}

} // namespace detail

GSUB_LAZY_BODY separable_config default_config(separable_shape const& s, isa const& isa) {
    separable_config c;
    c.depthwise = default_config(s.depthwise, isa);
    c.rows = std::max<std::int64_t>(detail::separable_rows(s), c.depthwise.tile_oh);
    auto piece = s.pointwise;
    piece.in = {c.rows, s.depthwise.out(1)};
    c.pointwise = default_config(piece, isa);
    return c;
}

GSUB_LAZY_BODY std::optional<separable_config> choose_separable(separable_shape const& s, isa const& isa) {
    if (!is_separable(s) || s.pointwise.in_channels * s.pointwise.out_channels > detail::separable_cache)
        return std::nullopt;
    auto const c = default_config(s, isa);
    if (detail::separable_rows(s) < c.depthwise.tile_oh) return std::nullopt;
    return c;
}

GSUB_LAZY_BODY loop::fused_nest separable_nest(separable_shape const& s, separable_config const& c, isa const& isa) {
    return detail::separable_writer{s, c, isa}.run();
}

} // namespace gsub::kernels
