// MobileNet: depthwise separable convolutions for small devices.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// One row of the table that MobileNetV2 is made of: `repeats` inverted residual blocks, of which the first strides.
struct inverted_residual_row {
    std::int64_t expansion, outputs, repeats, stride;
};

/// The table of MobileNetV2 with width 1. *Source* Sandler et al., 2018, table 2.
inline constexpr std::array<inverted_residual_row, 7> mobilenet_v2_rows{
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};

/// MobileNetV2 at inference: 3.5 million parameters, 0.3 billion multiplications; batch normalisations as nodes of
/// their own, ReLU6 as Clip, dropout left out. Layers are named as in torchvision (`features.2.conv.0.0`), the sum of
/// block `features.3` is `features.3.add`. Works for images of any size.
/// *Source* Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", 2018.
[[nodiscard]] graph mobilenet_v2(cnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/mobilenet.ipp>
#endif
