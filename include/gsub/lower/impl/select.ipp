#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/select.hpp>

#include <utility>

namespace gsub {

namespace detail {

// Whether Winograd kernels may have the weights: finite ones, and whatever scales them.
GSUB_LAZY [[nodiscard]] bool transforms(tensor const& weights, weight_packing const& packing) {
    if (weights.element() != dtype::f32) return false;
    auto const most = greatest_magnitude(weights.data<float>());
    if (packing.scale.empty()) return kernels::winograd_holds({&most, 1});
    auto const scale = greatest_magnitude(as_span(packing.scale));
    float const all[] = {most, scale, most * scale};
    return kernels::winograd_holds(all);
}

} // namespace detail

GSUB_LAZY_BODY kernel_graph select(kernel_graph g, isa const& set, kernels::winograd_options const& options) {
    for (auto& op : g.ops) {
        auto* const d = std::get_if<kernels::descriptor>(&op.computes);
        auto const* const s = d ? std::get_if<kernels::conv2d_shape>(d) : nullptr;
        if (!s || op.operands.size() < 2 || !op.operands[1].packing) continue;
        auto const tiles = kernels::choose_winograd(*s, set, options);
        auto const& weights = g.values[static_cast<std::size_t>(op.operands[1].value)].data;
        if (!tiles || !detail::transforms(weights, *op.operands[1].packing)) continue;
        auto conv = *s;
        *d = kernels::winograd_shape{std::move(conv), tiles->m};
    }
    g.stage = lowering_stage::selected;
    return g;
}

} // namespace gsub
