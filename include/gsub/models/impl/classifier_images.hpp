// classifier_images: the input of image classifiers.
#pragma once

#include <gsub/models/cnn_options.hpp>
#include <gsub/models/network_builder.hpp>

#include <cstdint>

namespace gsub::models::detail {

/// Declares `image`, of the height and width that is asked for or that a network was published with.
[[nodiscard]] inline value_id classifier_images(network_builder& net, cnn_options const& options,
                                                std::int64_t published) {
    auto const size = options.image_or(published);
    return net.input(dtype::f32, {options.batch, 3, size, size}, "image");
}

} // namespace gsub::models::detail
