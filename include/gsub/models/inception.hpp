// Inception: parallel branches with factorised convolutions.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

namespace gsub::models {

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
