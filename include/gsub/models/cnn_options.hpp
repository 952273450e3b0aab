// Options of all builders of image classifiers.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of an image classifier. Input `image` is `f32[batch, 3, image, image]`, output `logits` is
/// `f32[batch, classes]`, before any softmax.
struct cnn_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1;
    /// Height and width of the input. 0: the size that the network was published with, 299 for Inception v3 and 224 for
    /// all others.
    std::int64_t image = 0;
    std::int64_t classes = 1000;

    /// What can be asked for by name.
    static constexpr std::array<option_field<cnn_options>, 3> fields{{
        {"batch", "inputs at once", &cnn_options::batch, 1, 4096},
        {"image", "height and width of images", &cnn_options::image, 1, 4096},
        {"classes", "classes that are told apart", &cnn_options::classes, 1, 100'000},
    }};

    /// The size asked for, or `published`.
    [[nodiscard]] constexpr std::int64_t image_or(std::int64_t published) const {
        GSUB_ASSERT(batch > 0 && image >= 0 && classes > 0, "a classifier has images, pixels and classes");
        return image == 0 ? published : image;
    }
};

} // namespace gsub::models
