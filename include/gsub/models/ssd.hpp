// SSD: finds objects in one pass, on feature maps of several sizes.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of SSD. Input `image` is `f32[batch, 3, image, image]`; outputs are `locations`, `f32[batch, 4, boxes]`, and
/// `scores`, `f32[batch, classes, boxes]`, before any softmax and suppression.
struct ssd_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1;
    std::int64_t image = 300; ///< height and width
    std::int64_t classes = 0; ///< background included; 0: as published, 81 on ResNet-50 and 91 on the other backbones

    /// What can be asked for by name.
    static constexpr std::array<option_field<ssd_options>, 3> fields{{
        {"batch", "inputs at once", &ssd_options::batch, 1, 4096},
        {"image", "height and width of images", &ssd_options::image, 1, 4096},
        {"classes", "classes that are told apart", &ssd_options::classes, 1, 100'000},
    }};

    /// The number asked for, or `published`.
    [[nodiscard]] constexpr std::int64_t classes_or(std::int64_t published) const {
        GSUB_ASSERT(batch > 0 && image > 0 && classes >= 0, "a detector has images, pixels and classes");
        return classes == 0 ? published : classes;
    }
};

/// SSD on the first three stages of ResNet-50 at inference: 22.9 million parameters, 20 billion multiplications, 8732
/// boxes; batch normalisations as nodes of their own. The last stage of the backbone does not stride. Layers are named
/// as in NVIDIA's export (`f.6.0.conv2`, `add.3.1`, `loc.0`, `conf.5`). *Errors* throws `error` (`invalid_input`) for
/// images below 257 pixels, which a window no longer fits. *Source* Liu et al., "SSD: single shot multibox detector",
/// 2016; the backbone is that of NVIDIA's deep learning examples and of MLPerf.
[[nodiscard]] graph ssd_resnet50(ssd_options const& options = {});

/// SSD on MobileNetV2 at inference: 16.8 million parameters, 1.9 billion multiplications, 1917 boxes; batch
/// normalisations as nodes of their own. Its six feature maps are the expansion of the last block that strides (576
/// channels), the last map of the backbone (1280), and four more of 512, 256, 256 and 128 channels, each of a 1x1, a
/// depthwise 3x3 of stride 2 and a 1x1 convolution. Boxes and scores are plain 3x3 convolutions with biases, of 3 boxes
/// a position in the first map and 6 in the others. The backbone's layers are named as in `mobilenet_v2`, the others
/// after TensorFlow's (`layer_19_2_Conv2d_3_3x3_s2_256_depthwise`, `BoxPredictor_0.ClassPredictor`). Windows of stride
/// 2 have equal pads on both sides. Works for images of any size. *Source* `ssd_mobilenet_v2_coco` of TensorFlow's
/// detection model zoo, whose 16.818 million parameters and 3.775 GFLOP Open Model Zoo states; Sandler et al.,
/// "MobileNetV2", 2018.
[[nodiscard]] graph ssd_mobilenet_v2(ssd_options const& options = {});

/// SSD on Inception v2 at inference: 25.0 million parameters, 4.8 billion multiplications, 1917 boxes; ReLU6
/// throughout, batch normalisations as nodes of their own. Its six feature maps are `Mixed_4c` (576 channels),
/// `Mixed_5c` (1024), and four more of 512, 256, 256 and 128 channels, each of a 1x1 and a 3x3 convolution of stride 2.
/// Boxes and scores as above. Layers are named after TensorFlow's (`Mixed_5c_2_Conv2d_2_3x3_s2_512`). Works for images
/// of any size. *Source* `ssd_inception_v2_coco` of TensorFlow's detection model zoo; Huang et al., "Speed/accuracy
/// trade-offs for modern convolutional object detectors", 2017.
[[nodiscard]] graph ssd_inception_v2(ssd_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/ssd.ipp>
#endif
