// Inception: parallel branches with factorised convolutions.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

namespace gsub::models {

/// Inception v2 at inference, the network that introduced batch normalisation: 11.2 million parameters, 1.9 billion
/// multiplications; batch normalisations as nodes of their own, 5x5 kernels as two 3x3 ones, a first convolution in two
/// parts (7x7 over each channel, then 1x1), dropout left out. Layers are named as in TensorFlow's slim
/// (`Mixed_3b.Branch_1.Conv2d_0b_3x3.conv`); each convolution is normalised, as in the paper, also the first one.
/// Windows of stride 2 have equal pads on both sides, as in PyTorch; TensorFlow's start one pixel later where the size
/// is even. Works for images of any size. *Source* Ioffe and Szegedy, "Batch normalization", 2015, figure 5; the widths
/// are those of slim's `inception_v2`.
[[nodiscard]] graph inception_v2(cnn_options const& options = {});

/// Inception v3 at inference: 23.8 million parameters, 5.7 billion multiplications; batch normalisations as nodes of
/// their own, 1x7 and 7x1 kernels, mean pools that count their border, without auxiliary classifier, input transform
/// and dropout. Layers are named as in torchvision (`Mixed_5b.branch1x1.conv`). The input is 299 by 299 by default.
/// *Errors* throws `error` (`invalid_input`) for images below 75 pixels, which a window no longer fits.
/// *Source* Szegedy et al., "Rethinking the inception architecture for computer vision", 2015.
[[nodiscard]] graph inception_v3(cnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/inception.ipp>
#endif
