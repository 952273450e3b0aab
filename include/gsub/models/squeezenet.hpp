// SqueezeNet: few weights, many concatenations.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

namespace gsub::models {

/// SqueezeNet 1.1 at inference: 1.2 million parameters, 0.35 billion multiplications; convolutions with biases and
/// without normalisation, pools that round up, dropout left out. Layers are named as in torchvision
/// (`features.3.expand1x1`), the concatenation of a fire module is `features.3.concat`. *Errors* throws `error`
/// (`invalid_input`) for images that a window does not fit; 25 pixels are enough.
/// *Source* Iandola et al., "SqueezeNet", 2016; version 1.1 is the authors' revision of the same year.
[[nodiscard]] graph squeezenet1_1(cnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/squeezenet.ipp>
#endif
