#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/classifier_images.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/vgg.hpp>

#include <array>
#include <span>

namespace gsub::models {

namespace detail {

/// `plan` has the channels of the convolutions; 0 is a pool.
GSUB_INLINE graph vgg(std::span<std::int64_t const> plan, cnn_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = classifier_images(net, options, 224);
    int layer = 0;
    auto const next = [&] { return format_text("features.{}", layer++); };
    for (auto channels : plan) {
        if (channels == 0) {
            x = net.max_pool(next(), x, {.kernel = {2, 2}, .stride = {2, 2}});
        } else {
            x = net.conv(next(), x, {.outputs = channels, .kernel = {3, 3}, .pad = {1, 1}, .bias = true});
            x = net.relu(next(), x);
        }
    }
    x = net.apply<ops::flatten>("flatten", {x}, {.axis = 1});
    x = net.relu("classifier.1", net.linear("classifier.0", x, 4096));
    x = net.relu("classifier.4", net.linear("classifier.3", x, 4096));
    net.output(net.linear("classifier.6", x, options.classes), "logits");
    return g;
}

} // namespace detail

GSUB_INLINE graph vgg16(cnn_options const& options) {
    static constexpr std::array<std::int64_t, 18> plan{64, 64,  0,   128, 128, 0,   256, 256, 256,
                                                       0,  512, 512, 512, 0,   512, 512, 512, 0};
    return detail::vgg(plan, options);
}

GSUB_INLINE graph vgg19(cnn_options const& options) {
    static constexpr std::array<std::int64_t, 21> plan{64,  64,  0,   128, 128, 0,   256, 256, 256, 256, 0,
                                                       512, 512, 512, 512, 0,   512, 512, 512, 512, 0};
    return detail::vgg(plan, options);
}

} // namespace gsub::models
