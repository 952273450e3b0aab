// What kind of network a graph is: features that are counted, and a class with the reasons for it.
#pragma once

#include <gsub/ir/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Kinds of networks that lists of passes are chosen for.
enum class architecture : std::uint8_t {
    other,
    resnet,    ///< residual blocks of convolutions
    mobilenet, ///< depthwise-separable convolutions
    ssd,       ///< heads of convolutions on feature maps of several sizes
    bert,      ///< attention over products, few or no convolutions
};
/// As the tables of the literature name them.
[[nodiscard]] constexpr std::string_view to_string(architecture a) noexcept {
    constexpr std::string_view names[] = {"other", "RN", "MN", "SSD", "BR"};
    return names[static_cast<std::size_t>(a)];
}

/// Counts of a graph. What depends on constants only does not count. They do not depend on names or on the order of
/// nodes, and hardly on normalisations that are folded: an operator that gsub does not know, such as the fused ones of
/// other tools, counts by the name of its type (`FusedConv`, `Attention`).
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

/// *Complexity* O(n + e), beside a bounded walk from each addition and softmax.
GSUB_LAZY [[nodiscard]] architecture_features features_of(any_graph const& g);

/// A class, with how well it fits and why.
struct classification {
    architecture kind = architecture::other;
    double score = 0; ///< of the class, in [0, 1]; for `other` the best score of a class, below 1/2
    std::vector<std::string> reasons{};
};

/// The most special class whose score is at least 1/2. Scores are: attention, the share of products in all contractions
/// (where there is attention); heads, a quarter for each size from three on; separable and residual blocks, three times
/// their share in the convolutions.
GSUB_LAZY [[nodiscard]] classification classify(architecture_features const& f);
GSUB_LAZY [[nodiscard]] classification classify(any_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/architecture.ipp>
#endif
