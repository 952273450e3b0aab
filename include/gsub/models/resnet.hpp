// ResNet and ResNeXt: residual networks for image classification.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// ResNet plan: what distinguishes the residual networks from each other.
struct resnet_plan {
    std::array<std::int64_t, 4> blocks{}; ///< number of blocks in each of the four stages
    bool bottleneck = false;              ///< blocks of 1x1, 3x3 and 1x1 convolutions instead of two 3x3 ones
    std::int64_t groups = 1;              ///< of a bottleneck's 3x3 convolution
    std::int64_t group_width = 64;        ///< channels of a group in the first stage, twice as many in each further one
    bool stride_first = false;            ///< a bottleneck strides in its first 1x1 convolution instead of the 3x3 one
};

/// The plans with 18, 50 and 101 weighted layers.
inline constexpr resnet_plan resnet18_plan{{2, 2, 2, 2}, false}, resnet50_plan{{3, 4, 6, 3}, true},
    resnet101_plan{{3, 4, 23, 3}, true};
/// The first published form of 50 layers, which Caffe, Keras and MXNet have.
inline constexpr resnet_plan resnet50_v1_plan{.blocks = {3, 4, 6, 3}, .bottleneck = true, .stride_first = true};
/// ResNeXt with 50 weighted layers, 32 groups of 4 channels.
inline constexpr resnet_plan resnext50_32x4d_plan{{3, 4, 6, 3}, true, 32, 4};

/// A residual network at inference, batch normalisations as nodes of their own. Layers are named as in torchvision
/// (`layer1.0.conv1`). Bottleneck blocks stride in their 3x3 convolution (the form called v1.5) unless the plan says
/// otherwise. Works for images of any size. *Source* He et al., "Deep residual learning for image recognition", 2015,
/// table 1.
[[nodiscard]] graph resnet(resnet_plan const& plan, cnn_options const& options = {});

/// ResNet-18: 11.7 million parameters, 1.8 billion multiplications.
[[nodiscard]] graph resnet18(cnn_options const& options = {});
/// ResNet-50 v1.5: 25.6 million parameters, 4.1 billion multiplications.
[[nodiscard]] graph resnet50(cnn_options const& options = {});
/// ResNet-50 v1: 25.6 million parameters, 3.9 billion multiplications.
[[nodiscard]] graph resnet50_v1(cnn_options const& options = {});
/// ResNet-101 v1.5: 44.5 million parameters, 7.8 billion multiplications.
[[nodiscard]] graph resnet101(cnn_options const& options = {});
/// ResNeXt-50 32x4d: 25.0 million parameters, 4.2 billion multiplications. *Source* Xie et al., "Aggregated residual
/// transformations for deep neural networks", 2016, table 1.
[[nodiscard]] graph resnext50_32x4d(cnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/resnet.ipp>
#endif
