// SSD: finds objects in one pass, on feature maps of several sizes.
#pragma once

#include <gsub/ir/ops/ops.hpp>

#include <cstdint>

namespace gsub::models {

/// Options of SSD. Input `image` is `f32[batch, 3, image, image]`; outputs are `locations`, `f32[batch, 4, boxes]`, and
/// `scores`, `f32[batch, classes, boxes]`, before any softmax and suppression.
struct ssd_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1;
    std::int64_t image = 300;  ///< height and width; 300 give 8732 boxes
    std::int64_t classes = 81; ///< background included
};

/// SSD on the first three stages of ResNet-50 at inference: 22.9 million parameters, 10 billion multiplications; batch
/// normalisations as nodes of their own. The last stage of the backbone does not stride. Layers are named as in
/// NVIDIA's export (`f.6.0.conv2`, `add.3.1`, `loc.0`, `conf.5`). *Errors* throws `error` (`invalid_input`) for images
/// below 257 pixels, which a window no longer fits. *Source* Liu et al., "SSD: single shot multibox detector", 2016;
/// the backbone is that of NVIDIA's deep learning examples and of MLPerf.
[[nodiscard]] graph ssd_resnet50(ssd_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/ssd.ipp>
#endif
