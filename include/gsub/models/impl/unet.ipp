#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/network_builder.hpp>
#include <gsub/models/unet.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::models {

namespace detail {

/// The levels of a U-Net.
class unet_builder {
public:
    explicit unet_builder(network_builder& net) : net_(net) {}

    /// Two convolutions of a level, `encoder1` and `enc1` for instance.
    value_id level(std::string const& name, std::string_view part, value_id x, std::int64_t outputs) {
        for (int i = 1; i <= 2; ++i) {
            auto const of = [&](std::string_view layer) { return format_text("{}.{}{}{}", name, part, layer, i); };
            x = net_.conv(of("conv"), x, {.outputs = outputs, .kernel = {3, 3}, .pad = {1, 1}});
            x = net_.relu(of("relu"), net_.batch_norm(of("norm"), x));
        }
        return x;
    }

    /// Transposed convolution of 2x2 windows that do not overlap. *Shapes* `[n, c, h, w]` to `[n, c / 2, 2 h, 2 w]`.
    value_id up(std::string const& name, value_id x) {
        auto const inputs = net_.channels(x), outputs = inputs / 2;
        auto const rows = net_.type_of(x)->dims[2].size(), columns = net_.type_of(x)->dims[3].size();
        auto const bias = bias_of_phases(name, outputs), weight = weight_of_phases(name, inputs, outputs);
        attributes_of<ops::conv> const plain{{.strides = {1, 1}, .pads = {0, 0, 0, 0}, .dilations = {1, 1}}};
        auto y = net_.apply<ops::conv>(name + ".phases", {x, weight, bias}, plain);
        y = reshape(name + ".apart", y, {0, outputs, 2, 2, rows, columns});
        y = net_.apply<ops::transpose>(name + ".beside", {y}, {.perm = {0, 1, 4, 2, 5, 3}});
        return reshape(name, y, {0, outputs, 2 * rows, 2 * columns});
    }

private:
    value_id reshape(std::string const& name, value_id x, ints const& sizes) {
        return net_.apply<ops::reshape>(name, {x}, {.shape = sizes});
    }
    // Each pixel of the result has one tap: the weight's four are four outputs of a 1x1 convolution.
    value_id weight_of_phases(std::string const& name, std::int64_t inputs, std::int64_t outputs) {
        auto const matrix = name + ".weight";
        auto w = net_.constant(
            net_.weights().normal(matrix, {inputs, outputs, 2, 2}, 1 / std::sqrt(static_cast<double>(inputs))), matrix);
        w = reshape(name + ".weight.apart", w, {1, inputs, outputs, 1, 2, 1, 2});
        constexpr auto all = std::numeric_limits<std::int64_t>::min();
        w = net_.apply<ops::slice>(name + ".weight.reversed", {w},
                                   {.starts = {-1, -1}, .ends = {all, all}, .axes = {3, 5}, .steps = {-1, -1}});
        w = net_.apply<ops::transpose>(name + ".weight.turned", {w}, {.perm = {0, 2, 4, 6, 1, 3, 5}});
        return reshape(name + ".weight.phases", w, {4 * outputs, inputs, 1, 1});
    }
    value_id bias_of_phases(std::string const& name, std::int64_t outputs) {
        auto const shift = name + ".bias";
        auto b = net_.constant(net_.weights().bias(shift, outputs), shift);
        b = reshape(name + ".bias.column", b, {outputs, 1});
        b = net_.apply<ops::expand>(name + ".bias.wide", {b}, {.shape = {outputs, 4}});
        return reshape(name + ".bias.phases", b, {-1});
    }

    network_builder& net_;
};

} // namespace detail

GSUB_INLINE graph unet(unet_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.image > 0 && options.channels > 0 && options.depth > 0 &&
                    options.classes > 0,
                "a network of images has images, channels, levels and classes");
    GSUB_ASSERT(!options.fault(), options.fault());
    graph g;
    network_builder net{g, weight_source{options.seed}};
    detail::unet_builder part{net};
    auto x = net.input(dtype::f32, {options.batch, 3, options.image, options.image}, "image");
    std::vector<value_id> maps;
    auto width = options.channels;
    for (std::int64_t i = 1; i <= options.depth; ++i, width *= 2) {
        maps.push_back(part.level(format_text("encoder{}", i), format_text("enc{}", i), x, width));
        x = net.max_pool(format_text("pool{}", i), maps.back(), {.kernel = {2, 2}, .stride = {2, 2}});
    }
    x = part.level("bottleneck", "bottleneck", x, width);
    for (auto i = options.depth; i >= 1; --i) {
        width /= 2;
        x = part.up(format_text("upconv{}", i), x);
        x = net.concat(format_text("concat{}", i), {x, maps[static_cast<std::size_t>(i - 1)]});
        x = part.level(format_text("decoder{}", i), format_text("dec{}", i), x, width);
    }
    x = net.conv("conv", x, {.outputs = options.classes, .bias = true});
    net.output(net.apply<ops::sigmoid>("mask", {x}), "mask");
    return g;
}

} // namespace gsub::models
