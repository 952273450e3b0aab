#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/resnet.ipp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/ssd.hpp>

#include <array>
#include <string>
#include <vector>

namespace gsub::models {

namespace detail {

/// Two convolutions that make a smaller feature map of a feature map.
struct ssd_step {
    std::int64_t width, outputs, stride, pad;
};

GSUB_INLINE value_id smaller_map(network_builder& net, std::string const& name, value_id x, ssd_step const& s) {
    x = net.conv(name + ".0", x, {.outputs = s.width});
    x = net.relu(name + ".2", net.batch_norm(name + ".1", x));
    x = net.conv(name + ".3", x,
                 {.outputs = s.outputs, .kernel = {3, 3}, .stride = {s.stride, s.stride}, .pad = {s.pad, s.pad}});
    return net.relu(name + ".5", net.batch_norm(name + ".4", x));
}

} // namespace detail

GSUB_INLINE graph ssd_resnet50(ssd_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.image > 0 && options.classes > 0, "a detector has images and classes");
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = net.input(dtype::f32, {options.batch, 3, options.image, options.image}, "image");
    x = net.conv("f.0", x, {.outputs = 64, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3}});
    x = net.relu("f.2", net.batch_norm("f.1", x));
    x = net.max_pool("f.3", x, {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    for (std::size_t stage = 0; stage < 3; ++stage)
        for (std::int64_t i = 0; i < resnet50_plan.blocks[stage]; ++i)
            x = detail::residual_block(net, format_text("f.{}.{}", stage + 4, i), x, std::int64_t{64} << stage,
                                       stage == 1 && i == 0 ? 2 : 1, resnet50_plan);

    static constexpr std::array<detail::ssd_step, 5> steps{
        {{256, 512, 2, 1}, {256, 512, 2, 1}, {128, 256, 2, 1}, {128, 256, 1, 0}, {128, 256, 1, 0}}};
    std::vector<value_id> maps{x};
    for (std::size_t i = 0; i < steps.size(); ++i)
        maps.push_back(detail::smaller_map(net, format_text("add.{}", i), maps.back(), steps[i]));

    static constexpr std::array<std::int64_t, 6> boxes{4, 6, 6, 6, 4, 4}; // at each position
    std::vector<value_id> locations, scores;
    auto const head = [&](std::string const& name, value_id map, std::int64_t count, std::int64_t numbers) {
        auto const y = net.conv(name, map, {.outputs = count * numbers, .kernel = {3, 3}, .pad = {1, 1}, .bias = true});
        return net.apply<ops::reshape>(name + ".reshape", {y}, {.shape = {options.batch, numbers, -1}});
    };
    for (std::size_t i = 0; i < maps.size(); ++i) {
        locations.push_back(head(format_text("loc.{}", i), maps[i], boxes[i], 4));
        scores.push_back(head(format_text("conf.{}", i), maps[i], boxes[i], options.classes));
    }
    net.outputs({net.apply<ops::concat>("locations", locations, {.axis = 2}),
                 net.apply<ops::concat>("scores", scores, {.axis = 2})},
                {"locations", "scores"});
    return g;
}

} // namespace gsub::models
