#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/impl/inception.ipp>
#include <gsub/models/impl/mobilenet.ipp>
#include <gsub/models/impl/resnet.ipp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/ssd.hpp>

#include <array>
#include <span>
#include <string>
#include <string_view>
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

/// Names of the layers that give locations and scores of a feature map.
struct head_names {
    std::string (*location)(std::size_t map);
    std::string (*score)(std::size_t map);
};

/// Declares `locations` and `scores`: what 3x3 convolutions make of the feature maps, boxes side by side.
GSUB_INLINE void detect(network_builder& net, std::span<value_id const> maps, std::span<std::int64_t const> boxes,
                        head_names const& names, std::int64_t batch, std::int64_t classes) {
    std::vector<value_id> locations, scores;
    auto const head = [&](std::string const& name, value_id map, std::int64_t count, std::int64_t numbers) {
        auto const y = net.conv(name, map, {.outputs = count * numbers, .kernel = {3, 3}, .pad = {1, 1}, .bias = true});
        return net.apply<ops::reshape>(name + ".reshape", {y}, {.shape = {batch, numbers, -1}});
    };
    for (std::size_t i = 0; i < maps.size(); ++i) {
        locations.push_back(head(names.location(i), maps[i], boxes[i], 4));
        scores.push_back(head(names.score(i), maps[i], boxes[i], classes));
    }
    net.outputs({net.apply<ops::concat>("locations", locations, {.axis = 2}),
                 net.apply<ops::concat>("scores", scores, {.axis = 2})},
                {"locations", "scores"});
}

/// The detectors of TensorFlow's zoo: two feature maps of a backbone, four smaller ones that `smaller` makes, by a 1x1
/// convolution of half of the channels and a 3x3 one of stride 2, and boxes at each position.
template <class Smaller>
void detect_as_zoo(network_builder& net, std::vector<value_id> maps, std::string_view last, ssd_options const& options,
                   Smaller&& smaller) {
    for (std::int64_t const width : {512, 256, 256, 128}) {
        auto const inner = format_text("{}_1_Conv2d_{}_1x1_{}", last, maps.size(), width / 2),
                   outer = format_text("{}_2_Conv2d_{}_3x3_s2_{}", last, maps.size(), width);
        maps.push_back(smaller(inner, outer, maps.back(), width));
    }
    static constexpr std::array<std::int64_t, 6> boxes{3, 6, 6, 6, 6, 6}; // at each position
    detect(net, maps, boxes,
           {[](std::size_t i) { return format_text("BoxPredictor_{}.BoxEncodingPredictor", i); },
            [](std::size_t i) { return format_text("BoxPredictor_{}.ClassPredictor", i); }},
           options.batch, options.classes_or(91));
}

/// Declares `image`.
GSUB_INLINE value_id detector_images(network_builder& net, ssd_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.image > 0, "a detector has images of at least a pixel");
    return net.input(dtype::f32, {options.batch, 3, options.image, options.image}, "image");
}

} // namespace detail

GSUB_INLINE graph ssd_resnet50(ssd_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = detail::detector_images(net, options);
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
    detail::detect(net, maps, boxes,
                   {[](std::size_t i) { return format_text("loc.{}", i); },
                    [](std::size_t i) { return format_text("conf.{}", i); }},
                   options.batch, options.classes_or(81));
    return g;
}

GSUB_INLINE graph ssd_mobilenet_v2(ssd_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto const maps = detail::mobilenet_v2_features(net, detail::detector_images(net, options));
    detail::detect_as_zoo(
        net, {maps.wide, maps.last}, "layer_19", options,
        [&](std::string const& inner, std::string const& outer, value_id x, std::int64_t width) {
            x = detail::mobile_unit(net, inner, x, {.outputs = width / 2});
            x = detail::mobile_unit(
                net, outer + "_depthwise", x,
                {.outputs = width / 2, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .group = width / 2});
            return detail::mobile_unit(net, outer, x, {.outputs = width});
        });
    return g;
}

GSUB_INLINE graph ssd_inception_v2(ssd_options const& options) {
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::inception_v2_builder part{net, detail::rectifier::relu6};
    auto const maps = part.features(detail::detector_images(net, options));
    detail::detect_as_zoo(net, {maps.mixed_4c, maps.mixed_5c}, "Mixed_5c", options,
                          [&](std::string const& inner, std::string const& outer, value_id x, std::int64_t width) {
                              x = part.unit(inner, x, {.outputs = width / 2});
                              return part.unit(outer, x, part.three_by_three(width, 2));
                          });
    return g;
}

} // namespace gsub::models
