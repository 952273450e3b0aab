#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/densenet.hpp>
#include <gsub/models/impl/classifier_images.hpp>
#include <gsub/models/network_builder.hpp>

#include <array>
#include <string>
#include <vector>

namespace gsub::models {

namespace detail {

/// A block of layers that each add `growth` channels to what they read.
GSUB_INLINE value_id dense_block(network_builder& net, std::string const& name, value_id x, std::int64_t layers) {
    constexpr std::int64_t growth = 32, bottleneck = 4 * growth;
    std::vector<value_id> features{x};
    auto const joined = [&](std::string const& of) {
        return features.size() == 1 ? x : net.apply<ops::concat>(of + ".concat", features, {.axis = 1});
    };
    for (std::int64_t i = 1; i <= layers; ++i) {
        auto const layer = format_text("{}.denselayer{}", name, i);
        auto y = net.relu(layer + ".relu1", net.batch_norm(layer + ".norm1", joined(layer)));
        y = net.conv(layer + ".conv1", y, {.outputs = bottleneck});
        y = net.relu(layer + ".relu2", net.batch_norm(layer + ".norm2", y));
        features.push_back(net.conv(layer + ".conv2", y, {.outputs = growth, .kernel = {3, 3}, .pad = {1, 1}}));
    }
    return joined(name);
}

} // namespace detail

GSUB_INLINE graph densenet121(cnn_options const& options) {
    static constexpr std::array<std::int64_t, 4> blocks{6, 12, 24, 16};
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = detail::classifier_images(net, options, 224);
    x = net.conv("features.conv0", x, {.outputs = 64, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}});
    x = net.relu("features.relu0", net.batch_norm("features.norm0", x));
    x = net.max_pool("features.pool0", x, {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        x = detail::dense_block(net, format_text("features.denseblock{}", i + 1), x, blocks[i]);
        if (i + 1 == blocks.size()) break;
        auto const name = format_text("features.transition{}", i + 1);
        x = net.relu(name + ".relu", net.batch_norm(name + ".norm", x));
        x = net.conv(name + ".conv", x, {.outputs = net.channels(x) / 2});
        x = net.average_pool(name + ".pool", x, {.kernel = {2, 2}, .stride = {2, 2}});
    }
    x = net.relu("relu", net.batch_norm("features.norm5", x));
    net.output(net.linear("classifier", net.pooled_features(x), options.classes), "logits");
    return g;
}

} // namespace gsub::models
