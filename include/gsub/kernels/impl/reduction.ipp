#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/reduction.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace gsub::kernels {

namespace detail {

// Dimensions of one element are dropped, neighbours that are alike and stored one within the other become one.
GSUB_LAZY void merge_dims(reduction_shape& s) {
    reduction_shape merged = s;
    merged.dims.clear(), merged.reduced.clear(), merged.x.strides.clear();
    for (std::size_t d = 0; d < s.dims.size(); ++d) {
        if (s.dims[d] == 1) continue;
        auto const stride = s.x.strides[d];
        auto const joins = !merged.dims.empty() && merged.reduced.back() == s.reduced[d] &&
                           merged.x.strides.back() == stride * s.dims[d];
        if (joins) {
            merged.dims.back() *= s.dims[d];
            merged.x.strides.back() = stride;
        } else {
            merged.dims.push_back(s.dims[d]);
            merged.reduced.push_back(s.reduced[d]);
            merged.x.strides.push_back(stride);
        }
    }
    s = std::move(merged);
}

} // namespace detail

GSUB_LAZY_BODY double reduction_shape::operations() const noexcept {
    double n = 1;
    for (auto d : dims) n *= static_cast<double>(d);
    return n;
}

GSUB_LAZY_BODY loop::loop_nest reduction_nest(reduction_shape s, isa const& isa) {
    detail::merge_dims(s);
    auto const stored = s.x.element;
    // The sum of a mean has the bits that it needs before it is divided.
    auto const type = s.divisor != 1 && is_integer(stored) ? widest_of_kind(stored) : loop::computed_in(stored);
    std::int64_t const lanes = isa.lanes(static_cast<std::int32_t>(std::max(byte_size(stored), byte_size(type))));
    loop::expression_builder e{"reduction"};
    std::int64_t kept = 1;
    for (std::size_t d = 0; d < s.dims.size(); ++d)
        if (!s.reduced[d]) kept *= s.dims[d];
    auto const x = e.input("x", {s.x.elements}, stored), y = e.output("y", {kept}, stored);
    loop::affine from = s.x.offset, to = 0;
    std::vector<std::string> outer; // kept dimensions, but for the one of the lanes
    auto const last = s.dims.empty() ? std::size_t{0} : s.dims.size() - 1;
    auto const lanes_reduce = s.dims.empty() || s.reduced[last];
    for (std::size_t d = 0; d < s.dims.size(); ++d) {
        auto const name = d == last ? std::string{"x"} : format_text("{}{}", s.reduced[d] ? "k" : "r", d);
        auto const at = s.reduced[d] ? e.reduction(name, s.dims[d]) : e.spatial(name, s.dims[d]);
        from += at * s.x.strides[d];
        if (s.reduced[d]) continue;
        to = to * s.dims[d] + at;
        if (d != last) outer.push_back(name);
    }
    if (s.dims.empty()) static_cast<void>(e.reduction("x", 1)); // one element
    if (lanes_reduce && outer.empty()) {
        static_cast<void>(e.spatial("r", 1));
        outer.emplace_back("r");
    }
    auto const v = cast(e.at(x, {from}), type);
    auto const least =
        info(type).is_signed ? std::numeric_limits<std::int64_t>::min() >> (64 - 8 * byte_size(type)) : std::int64_t{0};
    auto result = s.step == reduction_step::maximum
                      ? e.maximum(e.number(-std::numeric_limits<double>::infinity(), least, type), v)
                      : e.sum(e.number(0, 0, type), v);
    if (s.divisor != 1) result = result / e.number(s.divisor, static_cast<std::int64_t>(s.divisor), type);
    loop::schedule plan{e.store(y, {to}, cast(result, stored))};

    auto const [vectors, lane] = plan.split(plan.loop_of("x"), lanes);
    // Lanes that are results: up to four vectors side by side, so that their chains run together.
    auto const count = s.dims.empty() ? 1 : (s.dims[last] + lanes - 1) / lanes;
    auto const side_by_side = lanes_reduce ? 1 : std::min<std::int64_t>(count, 4);
    auto const [blocks, tile] = plan.split(vectors, side_by_side);
    std::vector<loop::variable> order; // kept dimensions stand outside, neighbours to be fused
    for (auto const& name : outer) order.push_back(plan.loop_of(name));
    if (!lanes_reduce) order.push_back(blocks);
    auto const spatial = order.size();
    for (std::size_t d = 0; d < last; ++d)
        if (s.reduced[d]) order.push_back(plan.loop_of(format_text("k{}", d)));
    if (lanes_reduce) order.push_back(blocks);
    order.push_back(tile);
    order.push_back(lane);
    plan.reorder(order);
    auto parallel = order[0];
    for (std::size_t i = 1; i < spatial; ++i) parallel = plan.fuse(parallel, order[i]);
    plan.parallel(parallel);
    plan.unroll(tile);
    plan.vectorize(lane);
    return std::move(plan).finish();
}

} // namespace gsub::kernels
