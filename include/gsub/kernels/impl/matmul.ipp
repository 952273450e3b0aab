#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/impl/batch_axes.hpp>
#include <gsub/kernels/impl/step_tiles.ipp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/kernels/register_tile.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace gsub::kernels {

GSUB_LAZY_BODY std::int64_t matmul_shape::batches() const noexcept {
    return detail::batch_axes<>::matrices_in(batch);
}
GSUB_LAZY_BODY double matmul_shape::operations() const noexcept {
    return 2.0 * static_cast<double>(batches()) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
}

GSUB_LAZY_BODY matmul_config default_config(matmul_shape const& s, isa const& isa) {
    auto const blocks = (s.n + isa.lanes() - 1) / isa.lanes();
    auto const best = best_tile(s.m, blocks, isa, {.max_vectors = 8, .steps = s.k});
    matmul_config c{best.pixels, best.vectors, 1};
    for (auto u : {2, 4})
        if (s.k % u == 0) c.unroll_k = u;
    return c;
}

namespace detail {

template <class = void>
class matmul_writer {
public:
    matmul_writer(matmul_shape const& s, matmul_config const& c, isa const& isa)
        : s_(s), c_(c), l_(isa.lanes()), blocks_((s.n + l_ - 1) / l_) {
        auto const refuse = [](std::string_view reason) {
            throw error{errors::kernel_schedule, format_text("matmul: {}", reason)};
        };
        if (c.tile_m < 1 || c.tile_n < 1 || c.unroll_k < 1 || s.k % c.unroll_k != 0 || c.tile_k < 0 ||
            c.tile_k % c.unroll_k != 0 || (c.tile_k > 0 && c.tile_k >= s.k))
            refuse("a knob does not apply");
        auto const whole = [&](array_view& v, std::int64_t rows, std::int64_t columns) {
            batch_axes<>::whole_unless_strided(v, s_.batch, rows, columns);
        };
        whole(s_.a, s.m, s.k), whole(s_.b, s.k, s.n), whole(s_.y, s.m, s.n);
        if (s_.y.strides.back() != 1) refuse("results are stored one after another");
        packs_ = !s.constant && (s.m >= 16 || s_.b.strides.back() != 1);
        auto const width = std::min<std::int64_t>(c.tile_n, blocks_);
        loop::expression_builder e{"matmul"};
        a_ = e.input("a", {s_.a.elements});
        b_ = s.constant ? e.input("w", {blocks_, s.k, l_}) : e.input("b", {s_.b.elements});
        if (s.bias) bias_ = e.input("bias", {blocks_, l_});
        for (auto const& v : s.arrays) arrays_.push_back(e.input("x", {v.elements}));
        y_ = e.output("y", {s_.y.elements});
        if (packs_) packed_ = e.workspace("packed", {width, s.k, l_});
        if (c.tile_k > 0) sums_ = e.workspace("sums", {s.m, width, l_});
        buffers_ = e.buffers();
    }

    loop::fused_nest run() {
        std::vector<loop::loop_nest> stages;
        if (packs_) stages.push_back(packing());
        for (auto const& of : tiles_of(s_.k, c_.tile_k)) stages.push_back(product(of));
        loop::fused_nest all{std::move(stages.front())};
        for (std::size_t i = 1; i < stages.size(); ++i) all.then(std::move(stages[i]), 1);
        return all;
    }

private:
    // The columns of one position, in the order in which they are read.
    loop::loop_nest packing() const {
        loop::expression_builder e{"packing", buffers_};
        batch_axes<> const at{e, s_.batch};
        auto const tiles = (blocks_ + c_.tile_n - 1) / c_.tile_n;
        auto const jo = e.spatial("jo", tiles), ji = e.spatial("ji", std::min<std::int64_t>(c_.tile_n, blocks_)),
                   k = e.spatial("k", s_.k), lane = e.spatial("lane", l_);
        auto const column = (jo * c_.tile_n + ji) * l_ + lane;
        if (tiles * c_.tile_n * l_ > s_.n) e.restrict_domain({column, s_.n});
        auto const v = e.at(b_, {at(s_.b, k, column)});
        loop::schedule plan{e.store(packed_, {ji, k, lane}, v)};
        plan.parallel(batch_axes<>::join(plan, s_.batch.size(), plan.loop_of("jo")));
        plan.vectorize(plan.loop_of("lane"));
        return std::move(plan).finish();
    }

    loop::loop_nest product(step_tiles const& of) const {
        loop::expression_builder e{"matmul", buffers_};
        batch_axes<> const at{e, s_.batch};
        auto const tiles_of_k = of.count > 1;
        auto const tile = tiles_of_k ? e.spatial("kt", of.count) : loop::affine{0};
        auto const i = e.spatial("m", s_.m);
        auto const tiles = (blocks_ + c_.tile_n - 1) / c_.tile_n;
        auto const jo = e.spatial("jo", tiles), ji = e.spatial("ji", std::min<std::int64_t>(c_.tile_n, blocks_)),
                   lane = e.spatial("lane", l_), step = e.reduction("k", of.each);
        auto const k = (tile + loop::affine{of.first}) * c_.tile_k + step;
        auto const block = jo * c_.tile_n + ji;
        auto const column = block * l_ + lane;
        if (tiles * c_.tile_n * l_ > s_.n) e.restrict_domain({column, s_.n});
        auto const right = packs_        ? e.at(packed_, {ji, k, lane})
                           : s_.constant ? e.at(b_, {block, k, lane})
                                         : e.at(b_, {at(s_.b, k, column)});
        auto const first = !of.begins ? e.at(sums_, {i, ji, lane})
                           : s_.bias  ? e.at(bias_, {block, lane})
                                      : e.constant(0);
        std::vector<loop::value> values{e.sum(first, e.at(a_, {at(s_.a, i, k)}) * right)};
        if (of.ends) {
            for (std::size_t x = 0; x < arrays_.size(); ++x)
                values.push_back(e.at(arrays_[x], {at(s_.arrays[x], i, column)}));
            apply_epilogue(e, values, as_span(s_.epilogue));
        }
        auto const result = of.ends && !s_.epilogue.empty() ? values.back() : values.front();
        loop::schedule plan{of.ends ? e.store(y_, {at(s_.y, i, column)}, result)
                                    : e.store(sums_, {i, ji, lane}, result)};
        auto const [io, ii] = plan.split(plan.loop_of("m"), c_.tile_m);
        auto const [ko, ku] = plan.split(plan.loop_of("k"), c_.unroll_k);
        auto order = batch_axes<>::loops(plan, s_.batch.size());
        auto const outer = plan.loop_of("jo"), inner = plan.loop_of("ji"), lanes = plan.loop_of("lane");
        order.push_back(outer);
        if (tiles_of_k) order.push_back(plan.loop_of("kt"));
        for (auto v : {io, ko, ku, ii, inner, lanes}) order.push_back(v);
        plan.reorder(order);
        auto const shared = packs_ || c_.tile_k > 0 ? outer : plan.fuse(outer, io);
        plan.parallel(batch_axes<>::join(plan, s_.batch.size(), shared));
        plan.unroll(ku);
        plan.unroll(ii);
        plan.unroll(inner);
        plan.vectorize(lanes);
        return std::move(plan).finish();
    }

    matmul_shape s_;
    matmul_config c_;
    std::int64_t l_, blocks_;
    bool packs_ = false;
    std::int32_t a_ = -1, b_ = -1, bias_ = -1, y_ = -1, packed_ = -1, sums_ = -1;
    std::vector<std::int32_t> arrays_;
    std::vector<loop::buffer> buffers_;
};

} // namespace detail

GSUB_LAZY_BODY loop::fused_nest matmul_nest(matmul_shape const& s, matmul_config const& c, isa const& isa) {
    return detail::matmul_writer{s, c, isa}.run();
}

GSUB_LAZY_BODY std::vector<float> pack_matmul_weights(matmul_shape const& s, std::span<float const> weights,
                                                      bool transposed, isa const& isa) {
    auto const l = static_cast<std::int64_t>(isa.lanes()), blocks = (s.n + l - 1) / l;
    std::vector<float> packed(static_cast<std::size_t>(blocks * s.k * l), 0.0f);
    for (std::int64_t j = 0; j < s.n; ++j)
        for (std::int64_t k = 0; k < s.k; ++k)
            packed[static_cast<std::size_t>(((j / l) * s.k + k) * l + j % l)] =
                weights[static_cast<std::size_t>(transposed ? j * s.k + k : k * s.n + j)];
    return packed;
}

} // namespace gsub::kernels
