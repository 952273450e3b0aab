// VGG: plain stacks of 3x3 convolutions before a large classifier.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

namespace gsub::models {

/// VGG-16 at inference: 138.4 million parameters, 15.5 billion multiplications; convolutions with biases and without
/// normalisation, dropout and the adaptive pool, which is the identity for 224 pixels, left out. Layers are named as in
/// torchvision (`features.28`, `classifier.0`). The classifier takes whatever the last pool gives, 512 channels times
/// (image / 32)^2, so its size follows the image's. *Errors* throws `error` (`invalid_input`) for images below 32
/// pixels, which a window no longer fits.
/// *Source* Simonyan and Zisserman, "Very deep convolutional networks", 2014, table 1, column D.
[[nodiscard]] graph vgg16(cnn_options const& options = {});
/// VGG-19, as above with column E of the table: 143.7 million parameters, 19.6 billion multiplications.
[[nodiscard]] graph vgg19(cnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/vgg.ipp>
#endif
