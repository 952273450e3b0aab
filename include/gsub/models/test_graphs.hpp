// Test graphs for searches: each has a known best form, and some must not be changed at all.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/catalogue_entry.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace gsub::models {

/// A residual module: conv 3x3, relu, conv 3x3 beside conv 1x1, relu; their sum; relu. Under the roofline of 5 us a
/// kernel its best form has two convolutions, behind an uphill step. *Shapes* `[1, channels, size, size]`, input `x`,
/// output `y`. *Source* MetaFlow (Jia et al., SysML 2019), figure 2; figure 3.1 of the report on relaxed substitution
/// in ONNX has 256 channels.
[[nodiscard]] graph residual_module(std::uint64_t seed, std::int64_t channels, std::int64_t size);
/// Chain of residual modules, each with weights of its own.
[[nodiscard]] graph residual_chain(std::uint64_t seed, std::int64_t channels, std::int64_t size, int modules);
/// SqueezeNet's fire module: conv 1x1 and conv 3x3, both with relu, of 16 channels to 64 each; concat.
[[nodiscard]] graph fire_module(std::uint64_t seed);
/// Inception module without reductions: conv 1x1, 3x3 and 5x5 of 16 channels; concat.
[[nodiscard]] graph inception_module(std::uint64_t seed);
/// Query, key and value of an attention: three products of one input 64x256, each with a bias.
[[nodiscard]] graph query_key_value(std::uint64_t seed);
/// Two convolutions of two inputs, concat, normalisation, relu.
[[nodiscard]] graph concat_norm(std::uint64_t seed);
/// transpose, relu, transpose back.
[[nodiscard]] graph transposed_relu(std::uint64_t seed);
/// sigmoid(x A), tanh(x B), sigmoid(x C).
[[nodiscard]] graph mixed_gates(std::uint64_t seed);
/// A recurrent cell: 8 gates x W + h U of width 512. *Source* Zoph and Le, "Neural architecture search", 2017.
[[nodiscard]] graph recurrent_cell(std::uint64_t seed);
/// Grouped convolution of a ResNeXt block: 512 channels at 28x28. Only a measurement tells how many groups are
/// cheapest.
/// *Source* Xie et al., "Aggregated residual transformations for deep neural networks", CVPR 2017.
[[nodiscard]] graph grouped_conv(std::uint64_t seed, std::int64_t groups);
/// Residual convolution, conv(x) + x. With `rectified`, relu(conv(x)) + x, to which the law does not apply.
[[nodiscard]] graph residual_conv(std::uint64_t seed, bool rectified);
/// conv 1x1 with a bias, then conv 3x3 with `pad`: composing the two is wrong unless the pad is 0.
[[nodiscard]] graph biased_pointwise(std::uint64_t seed, std::int64_t pad);
/// Low-rank product (x A) B with A 512 x inner and B inner x 512: folding A B costs more where inner is small.
[[nodiscard]] graph low_rank(std::uint64_t seed, std::int64_t inner);
/// Two convolutions of one input in groups: plain merging is wrong for more than one group.
[[nodiscard]] graph grouped_siblings(std::uint64_t seed, std::int64_t groups);
/// Sibling products x A and x B; with `dependent`, B is made of x A, and merging the two would close a cycle.
[[nodiscard]] graph sibling_products(std::uint64_t seed, bool dependent);

/// A graph with these arguments, as entries build it.
template <auto Build, auto... Arguments>
[[nodiscard]] graph built(std::uint64_t seed, std::span<std::int64_t const>) {
    return Build(seed, Arguments...);
}

/// These graphs by name. What distinguishes them is fixed, so their seed is all that can be asked for.
inline constexpr std::array test_graph_entries{
    catalogue_entry{"resnet_module", "residual module of figure 3.1: 256 channels at 7x7",
                    built<residual_module, 256, 7>},
    catalogue_entry{"resnet_module_14", "the same at 14x14, where two convolutions cost more",
                    built<residual_module, 256, 14>},
    catalogue_entry{"t1", "residual module, 64 channels at 7x7", built<residual_module, 64, 7>},
    catalogue_entry{"t2", "SqueezeNet's fire module", built<fire_module>},
    catalogue_entry{"t4", "naive Inception module", built<inception_module>},
    catalogue_entry{"t6", "query, key and value products with biases", built<query_key_value>},
    catalogue_entry{"t7", "two convolutions, concat, normalisation, relu", built<concat_norm>},
    catalogue_entry{"t9", "relu between a transposition and its inverse", built<transposed_relu>},
    catalogue_entry{"t11", "sigmoid, tanh and sigmoid of three products", built<mixed_gates>},
    catalogue_entry{"t12", "recurrent cell with eight gates", built<recurrent_cell>},
    catalogue_entry{"t13", "grouped convolution of a ResNeXt block, 32 groups", built<grouped_conv, 32>},
    catalogue_entry{"t14", "conv(x) + x", built<residual_conv, false>},
    catalogue_entry{"t14_relu", "relu(conv(x)) + x: nothing to fuse into the sum", built<residual_conv, true>},
    catalogue_entry{"t15", "conv 1x1 with bias before a padded conv 3x3: not to be composed",
                    built<biased_pointwise, 1>},
    catalogue_entry{"t15_unpadded", "the same without pads: composed", built<biased_pointwise, 0>},
    catalogue_entry{"t16", "low-rank product, inner size 8: not to be folded", built<low_rank, 8>},
    catalogue_entry{"t16_wide", "the same with inner size 2048: folded", built<low_rank, 2048>},
    catalogue_entry{"t17", "siblings in two groups: not to be merged", built<grouped_siblings, 2>},
    catalogue_entry{"t17_ungrouped", "the same in one group: merged", built<grouped_siblings, 1>},
    catalogue_entry{"t19", "eight residual modules one after the other, to be searched in parts",
                    built<residual_chain, 64, 7, 8>},
    catalogue_entry{"t20", "products of which one depends on the other: not to be merged",
                    built<sibling_products, true>},
    catalogue_entry{"t20_independent", "the same without the dependence: merged", built<sibling_products, false>},
};

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/test_graphs.ipp>
#endif
