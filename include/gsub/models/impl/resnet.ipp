#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/classifier_images.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/resnet.hpp>

#include <numeric>
#include <string>

namespace gsub::models {

namespace detail {

/// One residual block: x + branch(x), rectified. `width` is the number of channels inside of a branch without groups.
GSUB_INLINE value_id residual_block(network_builder& net, std::string const& name, value_id x, std::int64_t width,
                                    std::int64_t stride, resnet_plan const& plan,
                                    norm_place end = norm_place::branch_end) {
    auto const outputs = plan.bottleneck ? 4 * width : width;
    auto y = x;
    if (plan.bottleneck) {
        auto const inner = width * plan.groups * plan.group_width / 64;
        auto const first = plan.stride_first ? stride : 1, second = plan.stride_first ? 1 : stride;
        y = net.conv(name + ".conv1", y, {.outputs = inner, .stride = {first, first}});
        y = net.relu(name + ".relu1", net.batch_norm(name + ".bn1", y));
        y = net.conv(
            name + ".conv2", y,
            {.outputs = inner, .kernel = {3, 3}, .stride = {second, second}, .pad = {1, 1}, .group = plan.groups});
        y = net.relu(name + ".relu2", net.batch_norm(name + ".bn2", y));
        y = net.conv(name + ".conv3", y, {.outputs = outputs});
        y = net.batch_norm(name + ".bn3", y, {.place = end});
    } else {
        y = net.conv(name + ".conv1", y,
                     {.outputs = width, .kernel = {3, 3}, .stride = {stride, stride}, .pad = {1, 1}});
        y = net.relu(name + ".relu1", net.batch_norm(name + ".bn1", y));
        y = net.conv(name + ".conv2", y, {.outputs = outputs, .kernel = {3, 3}, .pad = {1, 1}});
        y = net.batch_norm(name + ".bn2", y, {.place = end});
    }
    // Where the shapes of x and branch differ, a 1x1 convolution projects x.
    if (stride != 1 || net.channels(x) != outputs) {
        x = net.conv(name + ".downsample.0", x, {.outputs = outputs, .stride = {stride, stride}});
        x = net.batch_norm(name + ".downsample.1", x);
    }
    return net.relu(name + (plan.bottleneck ? ".relu3" : ".relu2"), net.sum(name + ".add", y, x));
}

} // namespace detail

GSUB_INLINE graph resnet(resnet_plan const& plan, cnn_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = detail::classifier_images(net, options, 224);
    x = net.conv("conv1", x, {.outputs = 64, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}});
    x = net.relu("relu", net.batch_norm("bn1", x));
    x = net.max_pool("maxpool", x, {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    auto const blocks = std::accumulate(plan.blocks.begin(), plan.blocks.end(), std::int64_t{0});
    auto const end = blocks > 20 ? norm_place::long_chain_branch_end : norm_place::branch_end;
    for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage)
        for (std::int64_t i = 0; i < plan.blocks[stage]; ++i)
            x = detail::residual_block(net, format_text("layer{}.{}", stage + 1, i), x, std::int64_t{64} << stage,
                                       stage > 0 && i == 0 ? 2 : 1, plan, end);
    net.output(net.linear("fc", net.pooled_features(x), options.classes), "logits");
    return g;
}

GSUB_INLINE graph resnet18(cnn_options const& options) {
    return resnet(resnet18_plan, options);
}

GSUB_INLINE graph resnet50(cnn_options const& options) {
    return resnet(resnet50_plan, options);
}

GSUB_INLINE graph resnet50_v1(cnn_options const& options) {
    return resnet(resnet50_v1_plan, options);
}

GSUB_INLINE graph resnet101(cnn_options const& options) {
    return resnet(resnet101_plan, options);
}

GSUB_INLINE graph resnext50_32x4d(cnn_options const& options) {
    return resnet(resnext50_32x4d_plan, options);
}

} // namespace gsub::models
