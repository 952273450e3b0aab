#pragma once

#include <gsub/codegen/matmul.hpp>
#include <gsub/codegen/register_tile.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>

namespace gsub::codegen {

GSUB_INLINE matmul_config default_config(matmul_shape const& s, isa const& set) {
    auto const blocks = (s.n + set.lanes() - 1) / set.lanes();
    auto const best = best_tile(s.m, blocks, set, 8);
    matmul_config c{best.pixels, best.vectors, 1};
    for (auto u : {2, 4})
        if (s.k % u == 0) c.unroll_k = u;
    return c;
}

GSUB_INLINE loop::loop_nest matmul_nest(matmul_shape const& s, matmul_config const& c, isa const& set) {
    if (c.tile_m < 1 || c.tile_n < 1 || c.unroll_k < 1 || s.k % c.unroll_k != 0)
        throw error{error_code::usage, "a knob of matmul that does not apply"};
    std::int64_t const l = set.lanes(), blocks = (s.n + l - 1) / l;
    loop::expression_builder e{"matmul"};
    auto const i = e.spatial("m", s.m), j = e.spatial("n", blocks), lane = e.spatial("lane", l),
               k = e.reduction("k", s.k);
    auto const column = j * l + lane;
    auto const a = e.input("a", {s.m, s.k}), w = e.input("w", {blocks, s.k, l});
    auto const bias = s.bias ? e.input("bias", {blocks, l}) : -1;
    auto const residual = s.residual ? e.input("residual", {s.m, s.n}) : -1;
    auto const y = e.output("y", {s.m, s.n});
    if (s.n % l != 0) e.only({column, s.n});
    auto v = e.sum(s.bias ? e.at(bias, {j, lane}) : e.constant(0), e.at(a, {i, k}) * e.at(w, {j, k, lane}));
    if (s.residual) v = v + e.at(residual, {i, column});
    if (s.low > -1e300) v = max(v, e.constant(s.low));
    if (s.high < 1e300) v = min(v, e.constant(s.high));
    loop::schedule plan{e.store(y, {i, column}, v)};
    auto const [io, ii] = plan.split(plan.loop_of("m"), c.tile_m);
    auto const [jo, ji] = plan.split(plan.loop_of("n"), c.tile_n);
    auto const [ko, ku] = plan.split(plan.loop_of("k"), c.unroll_k);
    plan.reorder({jo, io, ko, ku, ii, ji, plan.loop_of("lane")});
    plan.parallel(plan.fuse(jo, io));
    plan.unroll(ku);
    plan.unroll(ii);
    plan.unroll(ji);
    plan.vectorize(plan.loop_of("lane"));
    return plan.finish();
}

GSUB_INLINE std::vector<float> pack_matmul_weights(matmul_shape const& s, std::span<float const> weights,
                                                   bool transposed, isa const& set) {
    auto const l = static_cast<std::int64_t>(set.lanes()), blocks = (s.n + l - 1) / l;
    std::vector<float> packed(static_cast<std::size_t>(blocks * s.k * l), 0.0f);
    for (std::int64_t j = 0; j < s.n; ++j)
        for (std::int64_t k = 0; k < s.k; ++k)
            packed[static_cast<std::size_t>(((j / l) * s.k + k) * l + j % l)] =
                weights[static_cast<std::size_t>(transposed ? j * s.k + k : k * s.n + j)];
    return packed;
}

} // namespace gsub::codegen
