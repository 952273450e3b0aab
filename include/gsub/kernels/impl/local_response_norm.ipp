#pragma once

#include <gsub/kernels/local_response_norm.hpp>

#include <algorithm>
#include <utility>

namespace gsub::kernels {

namespace detail {

GSUB_LAZY loop::value power_of(loop::value x, double exponent, loop::expression_builder& e) {
    if (exponent == 1) return x;
    if (exponent == 0.5) return sqrt(x);
    if (exponent == 0.25) return sqrt(sqrt(x));
    if (exponent == 0.75) return sqrt(x) * sqrt(sqrt(x));
    return apply(loop::scalar_op::power, x, e.constant(exponent, x.type()));
}

} // namespace detail

GSUB_LAZY_BODY loop::loop_nest local_response_norm_nest(local_response_norm_shape const& s, isa const& isa) {
    auto const type = loop::computed_in(s.element);
    std::int64_t const lanes = isa.lanes(static_cast<std::int32_t>(byte_size(type)));
    loop::expression_builder e{"local_response_norm"};
    auto const n = e.spatial("n", s.batch), c = e.spatial("c", s.channels), i = e.spatial("i", s.area);
    auto const k = e.reduction("k", s.size);
    auto const x = e.input("x", {s.batch, s.channels, s.area}, s.element);
    auto const y = e.output("y", {s.batch, s.channels, s.area}, s.element);
    auto const neighbour = c + k - (s.size - 1) / 2;
    auto const v = cast(e.at(x, {n, neighbour, i}), type);
    auto const squares = e.sum(e.constant(0, type), v * v, {loop::bound{neighbour, s.channels}});
    auto const below = e.constant(s.bias, type) + e.constant(s.alpha / static_cast<double>(s.size), type) * squares;
    auto const own = cast(e.at(x, {n, c, i}), type);
    loop::schedule plan{e.store(y, {n, c, i}, cast(own / detail::power_of(below, s.beta, e), s.element))};
    auto const [blocks, lane] = plan.split(plan.loop_of("i"), lanes);
    auto const rows = plan.loop_of("n"), channels = plan.loop_of("c"), steps = plan.loop_of("k");
    plan.reorder({rows, channels, blocks, steps, lane});
    plan.parallel(plan.fuse(rows, channels));
    plan.vectorize(lane);
    return std::move(plan).finish();
}

} // namespace gsub::kernels
