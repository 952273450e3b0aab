#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/classifier_images.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/squeezenet.hpp>

#include <array>
#include <string>

namespace gsub::models {

namespace detail {

/// A fire module: few channels through a 1x1 convolution, then half of the result by 1x1 and half by 3x3 kernels.
GSUB_INLINE value_id fire(network_builder& net, std::string const& name, value_id x, std::int64_t squeeze,
                          std::int64_t expand) {
    x = net.conv(name + ".squeeze", x, {.outputs = squeeze, .bias = true});
    x = net.relu(name + ".squeeze_activation", x);
    auto const left = net.conv(name + ".expand1x1", x, {.outputs = expand, .bias = true});
    auto const right =
        net.conv(name + ".expand3x3", x, {.outputs = expand, .kernel = {3, 3}, .pad = {1, 1}, .bias = true});
    return net.concat(name + ".concat", {net.relu(name + ".expand1x1_activation", left),
                                         net.relu(name + ".expand3x3_activation", right)});
}

} // namespace detail

GSUB_INLINE graph squeezenet1_1(cnn_options const& options) {
    // The sequence after the first convolution, from `features.2` on; a row of zeros is a pool.
    struct row {
        std::int64_t squeeze, expand;
    };
    static constexpr std::array<row, 11> rows{
        {{0, 0}, {16, 64}, {16, 64}, {0, 0}, {32, 128}, {32, 128}, {0, 0}, {48, 192}, {48, 192}, {64, 256}, {64, 256}}};
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = detail::classifier_images(net, options, 224);
    x = net.conv("features.0", x, {.outputs = 64, .kernel = {3, 3}, .stride = {2, 2}, .bias = true});
    x = net.relu("features.1", x);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        auto const name = format_text("features.{}", i + 2);
        x = rows[i].squeeze == 0 ? net.max_pool(name, x, {.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true})
                                 : detail::fire(net, name, x, rows[i].squeeze, rows[i].expand);
    }
    x = net.relu("classifier.2", net.conv("classifier.1", x, {.outputs = options.classes, .bias = true}));
    net.output(net.pooled_features(x), "logits");
    return g;
}

} // namespace gsub::models
