#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/classifier_images.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/network_builder.hpp>

#include <string>

namespace gsub::models {

namespace detail {

/// Convolution, normalisation and ReLU6, named `<name>.0` to `<name>.2`.
GSUB_INLINE value_id mobile_unit(network_builder& net, std::string const& name, value_id x, conv_layer const& layer) {
    return net.relu6(name + ".2", net.batch_norm(name + ".1", net.conv(name + ".0", x, layer)));
}

/// What a block makes: its expansion, which is its input where it has none, and its result.
struct inverted_residual_values {
    value_id expanded, result;
};

/// Expansion, depthwise convolution and projection. The projection is linear, and x is added where the shapes agree.
GSUB_INLINE inverted_residual_values inverted_residual(network_builder& net, std::string const& name, value_id x,
                                                       inverted_residual_row const& row, std::int64_t stride) {
    auto const inputs = net.channels(x), width = inputs * row.expansion;
    auto const residual = stride == 1 && inputs == row.outputs;
    auto y = x;
    int part = 0;
    auto const next = [&] { return format_text("{}.conv.{}", name, part++); };
    if (row.expansion != 1) y = mobile_unit(net, next(), y, {.outputs = width});
    auto const expanded = y;
    y = mobile_unit(net, next(), y,
                    {.outputs = width, .kernel = {3, 3}, .stride = {stride, stride}, .pad = {1, 1}, .group = width});
    y = net.conv(next(), y, {.outputs = row.outputs});
    y = net.batch_norm(next(), y, {.place = residual ? norm_place::branch_end : norm_place::chain});
    return {expanded, residual ? net.sum(name + ".add", x, y) : y};
}

/// Feature maps of MobileNetV2: the expansion of the last block that strides, a sixteenth of the image's size, and the
/// last map, a thirty-second of it.
struct mobile_features {
    value_id wide, last;
};

GSUB_INLINE mobile_features mobilenet_v2_features(network_builder& net, value_id x) {
    int block = 0;
    auto const next = [&] { return format_text("features.{}", block++); };
    x = mobile_unit(net, next(), x, {.outputs = 32, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    auto wide = x;
    for (auto const& row : mobilenet_v2_rows)
        for (std::int64_t i = 0; i < row.repeats; ++i) {
            auto const stride = i == 0 ? row.stride : 1;
            auto const y = inverted_residual(net, next(), x, row, stride);
            if (stride > 1) wide = y.expanded;
            x = y.result;
        }
    return {wide, mobile_unit(net, next(), x, {.outputs = 1280})};
}

} // namespace detail

GSUB_INLINE graph mobilenet_v2(cnn_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto const x = detail::mobilenet_v2_features(net, detail::classifier_images(net, options, 224)).last;
    net.output(net.linear("classifier.1", net.pooled_features(x), options.classes), "logits");
    return g;
}

} // namespace gsub::models
