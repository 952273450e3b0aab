#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
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

GSUB_LAZY_BODY std::size_t counted_algorithm::choose(std::span<kernels::descriptor const> alternatives,
                                                     isa const& isa) const {
    auto const* const s = std::get_if<kernels::conv2d_shape>(&alternatives[0]);
    auto const tiles = s ? kernels::choose_winograd(*s, isa, winograd) : std::nullopt;
    for (std::size_t i = 1; tiles && i < alternatives.size(); ++i)
        if (auto const* const w = std::get_if<kernels::winograd_shape>(&alternatives[i]); w && w->m == tiles->m)
            return i;
    return 0;
}

GSUB_LAZY_BODY std::vector<kernels::descriptor> algorithms_of(kernels::descriptor const& d,
                                                              kernels::winograd_accuracy accuracy) {
    std::vector<kernels::descriptor> all{d};
    auto const* const s = std::get_if<kernels::conv2d_shape>(&d);
    if (!s || !kernels::winograd_applies(*s) || accuracy == kernels::winograd_accuracy::off) return all;
    all.push_back(kernels::winograd_shape{*s, 2});
    if (accuracy == kernels::winograd_accuracy::f4) all.push_back(kernels::winograd_shape{*s, 4});
    return all;
}

GSUB_LAZY_BODY std::vector<kernels::descriptor> algorithms_of(kernel_graph const& g, kernel_op const& op,
                                                              kernels::winograd_accuracy accuracy) {
    auto const& d = std::get<kernels::descriptor>(op.computes);
    auto const* const tiles = std::get_if<kernels::winograd_shape>(&d);
    auto const direct = tiles ? kernels::descriptor{tiles->conv} : d;
    if (op.operands.size() < 2 || !op.operands[1].packing) return {direct};
    auto all = algorithms_of(direct, accuracy);
    auto const& weights = g.values[static_cast<std::size_t>(op.operands[1].value)].data;
    if (all.size() > 1 && !detail::transforms(weights, *op.operands[1].packing)) all.resize(1);
    return all;
}

GSUB_LAZY_BODY result<kernel_graph> select(kernel_graph g, isa const& isa, algorithm_function choose,
                                           kernels::winograd_accuracy accuracy) {
    try {
        for (auto& op : g.ops) {
            auto* const d = std::get_if<kernels::descriptor>(&op.computes);
            if (!d || op.operands.size() < 2 || !op.operands[1].packing) continue;
            auto all = algorithms_of(*d, accuracy);
            if (all.size() == 1) continue;
            auto const chosen = choose(all, isa);
            if (chosen >= all.size())
                return error{errors::kernel_schedule,
                             format_text("the algorithm of {} is number {} of {}",
                                         op.covers.empty() ? op.moves : op.covers.front().name, chosen, all.size())};
            if (chosen == 0) continue;
            auto const& weights = g.values[static_cast<std::size_t>(op.operands[1].value)].data;
            if (detail::transforms(weights, *op.operands[1].packing)) *d = std::move(all[chosen]);
        }
        g.stage = lowering_stage::selected;
        return g;
    } catch (error const& e) { return e; }
}

GSUB_LAZY_BODY kernel_graph select(kernel_graph g, isa const& isa, kernels::winograd_options const& options) {
    return select(std::move(g), isa, counted_algorithm{options}, options.accuracy).value();
}

} // namespace gsub
