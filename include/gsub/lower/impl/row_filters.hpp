// Row filters: convolutions of few channels, each by one filter of many taps along rows, as audio is resampled. Lanes
// of their kernels are pixels, as there are too few channels.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <cstddef>
#include <cstdint>

namespace gsub::detail {

/// Whether the pixels that a window of a row meets by its first tap, by its second one and so on up to a step are rows
/// of an image of their own: the filter of an image of one row, whose taps the step divides.
[[nodiscard]] inline bool filters_every_step(any_graph const& g, node_id n) {
    constexpr std::int64_t most_rows = 8;
    auto const &x = g.type(g.operand(n, 0)), &w = g.type(g.operand(n, 1));
    auto const& a = g.attributes<ops::conv>(n);
    auto const step = a.strides.back(), taps = w.dims.back().size();
    auto const last = x.rank() - 3;
    for (std::size_t d = 0; d < last; ++d)
        if (x.dims[d + 2] != dim{1} || w.dims[d + 2] != dim{1} || a.pads[d] != 0 || a.pads[d + last + 1] != 0)
            return false;
    return step > 1 && step <= most_rows && taps % step == 0 && a.dilations.back() == 1 && a.pads[last] >= 0 &&
           a.pads.back() >= 0;
}

/// Whether a convolution is row filters by constant weights, apart from its bias and activation.
[[nodiscard]] inline bool filters_rows(any_graph const& g, node_id n) {
    constexpr std::int64_t few_channels = 4, few_rows = 8, many_taps = 16, many_pixels = 64;
    if (!g.is<ops::conv>(n) || !g.constant(g.operand(n, 1))) return false;
    auto const &x = g.type(g.operand(n, 0)), &w = g.type(g.operand(n, 1)), &y = g.type({n, 0});
    if (x.element != dtype::f32 || !x.is_static() || !w.is_static() || !y.is_static() || x.rank() < 3 || x.rank() > 5)
        return false;
    auto const weights = w.sizes();
    auto const& a = g.attributes<ops::conv>(n);
    std::int64_t rows = 1; // of taps: a product each
    for (std::size_t d = 2; d + 1 < weights.size(); ++d)
        if ((rows *= weights[d]) > few_rows) return false;
    return weights[0] == a.group && weights[1] == 1 && weights[0] <= few_channels && weights.back() >= many_taps &&
           y.dims.back().size() >= many_pixels && (a.strides.back() == 1 || filters_every_step(g, n));
}

/// The same, without a bias or an activation: kernels of products compute it.
[[nodiscard]] inline bool is_row_filter(any_graph const& g, node_id n) {
    return filters_rows(g, n) && g.attributes<ops::conv>(n).strides.back() == 1 &&
           !(g.operand_count(n) > 2 && g.operand(n, 2).valid()) && g.attributes<ops::conv>(n).act == activation::none;
}

} // namespace gsub::detail
