// DenseNet: every layer of a block reads all layers before it.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/cnn_options.hpp>

namespace gsub::models {

/// DenseNet-121 at inference: 8.0 million parameters, 2.8 billion multiplications; batch normalisations as nodes of
/// their own, before their convolutions. Layers are named as in torchvision
/// (`features.denseblock1.denselayer2.conv1`); `features.denseblock1.denselayer2.concat` joins what that layer reads,
/// and `features.denseblock1.concat` what its block gives. *Errors* throws `error` (`invalid_input`) for images below
/// 29 pixels, which a window no longer fits.
/// *Source* Huang et al., "Densely connected convolutional networks", 2016, table 1.
[[nodiscard]] graph densenet121(cnn_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/densenet.ipp>
#endif
