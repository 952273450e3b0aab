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

/// Expansion, depthwise convolution and projection. The projection is linear, and x is added where the shapes agree.
GSUB_INLINE value_id inverted_residual(network_builder& net, std::string const& name, value_id x,
                                       inverted_residual_row const& row, std::int64_t stride) {
    auto const inputs = net.channels(x), width = inputs * row.expansion;
    auto const residual = stride == 1 && inputs == row.outputs;
    auto y = x;
    int part = 0;
    auto const next = [&] { return format_text("{}.conv.{}", name, part++); };
    if (row.expansion != 1) y = mobile_unit(net, next(), y, {.outputs = width});
    y = mobile_unit(net, next(), y,
                    {.outputs = width, .kernel = {3, 3}, .stride = {stride, stride}, .pad = {1, 1}, .group = width});
    y = net.conv(next(), y, {.outputs = row.outputs});
    y = net.batch_norm(next(), y, {.place = residual ? norm_place::branch_end : norm_place::chain});
    return residual ? net.sum(name + ".add", x, y) : y;
}

} // namespace detail

GSUB_INLINE graph mobilenet_v2(cnn_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = detail::classifier_images(net, options, 224);
    int block = 0;
    auto const next = [&] { return format_text("features.{}", block++); };
    x = detail::mobile_unit(net, next(), x, {.outputs = 32, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    for (auto const& row : mobilenet_v2_rows)
        for (std::int64_t i = 0; i < row.repeats; ++i)
            x = detail::inverted_residual(net, next(), x, row, i == 0 ? row.stride : 1);
    x = detail::mobile_unit(net, next(), x, {.outputs = 1280});
    net.output(net.linear("classifier.1", net.pooled_features(x), options.classes), "logits");
    return g;
}

} // namespace gsub::models
