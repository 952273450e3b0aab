#pragma once

#include <gsub/core/format.hpp>
#include <gsub/driver/network_classes.hpp>

#include <algorithm>

namespace gsub {

namespace networks {

namespace detail {
// Three times the share of blocks in all convolutions.
GSUB_LAZY [[nodiscard]] class_score of_blocks(std::size_t blocks, std::size_t convolutions, std::string_view called) {
    auto const share = convolutions == 0 ? 0.0 : static_cast<double>(blocks) / static_cast<double>(convolutions);
    return {std::min(1.0, 3 * share), format_text("{} {} blocks in {} convolutions", blocks, called, convolutions)};
}
} // namespace detail

GSUB_LAZY_BODY class_score resnet::score(architecture_features const& f) const {
    return detail::of_blocks(f.residual_blocks, f.convolutions, "residual");
}
GSUB_LAZY_BODY class_score mobilenet::score(architecture_features const& f) const {
    return detail::of_blocks(f.separable_blocks, f.convolutions, "depthwise-separable");
}
GSUB_LAZY_BODY class_score ssd::score(architecture_features const& f) const {
    return {f.head_maps < 3 ? 0 : std::min(1.0, static_cast<double>(f.head_maps) / 4),
            format_text("heads on feature maps of {} sizes", f.head_maps)};
}
GSUB_LAZY_BODY class_score bert::score(architecture_features const& f) const {
    auto const all = f.products + f.convolutions;
    return {f.attention_blocks == 0 || all == 0 ? 0 : static_cast<double>(f.products) / static_cast<double>(all),
            format_text("{} attention blocks; {} products of matrices beside {} convolutions", f.attention_blocks,
                        f.products, f.convolutions)};
}
GSUB_LAZY_BODY class_score other::score(architecture_features const&) const {
    return {0.5, "any network"};
}

} // namespace networks

GSUB_LAZY_BODY classification classify(any_graph const& g) {
    return standard_classes::classify(features_of(g));
}
GSUB_LAZY_BODY pass_selection select_passes(module const& m) {
    return standard_classes::select(m);
}

} // namespace gsub
