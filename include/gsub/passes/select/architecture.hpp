// Architecture features of a network: counts by which network classes are told apart.
#pragma once

#include <gsub/ir/graph.hpp>

#include <cstddef>

namespace gsub {

/// Architecture features of a graph. Constant subgraphs do not count. The counts do not depend on names or on the order
/// of nodes, and hardly on whether normalisations are folded. An operator that gsub does not know, such as the fused
/// ones of other tools, counts by the name of its type (`FusedConv`, `Attention`).
struct architecture_features {
    std::size_t nodes = 0;
    std::size_t convolutions = 0;
    std::size_t depthwise = 0;        ///< convolutions of each channel by itself, of more than one pixel
    std::size_t products = 0;         ///< of matrices
    std::size_t residual_blocks = 0;  ///< additions of a value and of what convolutions or products made of it
    std::size_t separable_blocks = 0; ///< depthwise convolutions whose result a 1×1 convolution reads
    std::size_t attention_blocks = 0; ///< softmaxes between two products of variable operands
    std::size_t head_maps = 0; ///< sizes of the images that convolutions read whose results only move to the outputs

    friend bool operator==(architecture_features const&, architecture_features const&) = default;
};

/// Features of a graph. *Complexity* O(n + e), plus a bounded walk from each addition and softmax.
GSUB_LAZY [[nodiscard]] architecture_features features_of(any_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/select/impl/architecture.ipp>
#endif
