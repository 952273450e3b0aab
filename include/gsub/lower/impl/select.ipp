#pragma once

#include <gsub/kernels/winograd.hpp>
#include <gsub/lower/select.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace gsub {

namespace detail {

// Whether Winograd kernels may have the weights: finite ones, and whatever scales them.
GSUB_LAZY [[nodiscard]] bool transforms(tensor const& weights, weight_packing const& packing) {
    if (weights.element() != dtype::f32) return false;
    auto const greatest = [](std::span<float const> of) {
        float most = 0;
        for (auto const x : of) most = std::max(most, std::abs(x));
        return most;
    };
    auto const elements = weights.data<float>();
    float const scaled[] = {packing.scale.empty() ? 0 : greatest(elements) * greatest(as_span(packing.scale))};
    return kernels::winograd_holds(elements) && kernels::winograd_holds(as_span(packing.scale)) &&
           kernels::winograd_holds(scaled);
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
