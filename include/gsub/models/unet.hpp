// U-Net: tells for each pixel of an image what it belongs to.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of U-Net. Input `image` is `f32[batch, 3, image, image]`, output `mask` is `f32[batch, classes, image,
/// image]`: for each class and pixel a number between 0 and 1.
struct unet_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1;
    std::int64_t image = 256;   ///< height and width: a multiple of 2 to the power of `depth`
    std::int64_t channels = 32; ///< of the first level; each further one has twice as many
    std::int64_t depth = 4;     ///< how often the image is halved
    std::int64_t classes = 1;

    /// What can be asked for by name.
    static constexpr std::array<option_field<unet_options>, 5> fields{{
        {"batch", "inputs at once", &unet_options::batch, 1, 4096},
        {"image", "height and width of images", &unet_options::image, 1, 4096},
        {"channels", "channels of the first level", &unet_options::channels, 1, 1024},
        {"depth", "how often the image is halved", &unet_options::depth, 1, 8},
        {"classes", "classes that are told apart", &unet_options::classes, 1, 100'000},
    }};
    /// What is wrong with them together, or null.
    [[nodiscard]] constexpr char const* fault() const {
        return image % (std::int64_t{1} << depth) == 0 ? nullptr : "an image is a multiple of 2 to the power of depth";
    }
};

/// U-Net at inference, as published for magnetic resonance images: 7.8 million parameters, 13.6 billion multiplications
/// at 256 pixels. Each level is two 3x3 convolutions with batch normalisations as nodes of their own and rectifiers.
/// Maxima of 2x2 lead down. Transposed 2x2 convolutions of stride 2 lead up; each is written as the importer reads a
/// `ConvTranspose`: a 1x1 convolution that makes the four pixels of each, a Reshape, a Transpose and a Reshape, with
/// the weight `[channels, channels / 2, 2, 2]` of the file turned by nodes of its own. What comes up stands in front of
/// the level's map on the way down. Layers are named as in the published code (`encoder1.enc1conv1`, `upconv4`,
/// `decoder4.dec4norm2`). *Source* Ronneberger et al., "U-Net: convolutional networks for biomedical image
/// segmentation", 2015; sizes of Buda et al., "Association of genomic subtypes of lower-grade gliomas with shape
/// features automatically extracted by a deep learning algorithm", 2019, and of their code.
[[nodiscard]] graph unet(unet_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/unet.ipp>
#endif
