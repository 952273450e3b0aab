// NASNet-A: a stack of two cells that a search over architectures found.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/builder_options.hpp>

#include <array>
#include <cstdint>

namespace gsub::models {

/// Options of NASNet-A (N @ P). Input `image` is `f32[batch, 3, image, image]`, output `logits` `f32[batch, classes]`.
/// The defaults make the network for mobile devices, 4 @ 1056; the large one is
/// `{.image = 331, .cells = 6, .filters = 168, .stem = 96}`.
struct nasnet_options {
    std::uint64_t seed = 1; ///< of the weights
    std::int64_t batch = 1, image = 224, classes = 1000;
    std::int64_t cells = 4;    ///< N: normal cells in each of three stages
    std::int64_t filters = 44; ///< of a normal cell in the first stage, P / 24; a multiple of 4
    std::int64_t stem = 32;    ///< channels of the first convolution

    /// What can be asked for by name.
    static constexpr std::array<option_field<nasnet_options>, 6> fields{{
        {"batch", "inputs at once", &nasnet_options::batch, 1, 4096},
        {"image", "height and width of images", &nasnet_options::image, 3, 4096},
        {"classes", "classes that are told apart", &nasnet_options::classes, 1, 100'000},
        {"cells", "normal cells in each stage", &nasnet_options::cells, 1, 100},
        {"filters", "channels of a normal cell in the first stage", &nasnet_options::filters, 4, 4096},
        {"stem", "channels of the first convolution", &nasnet_options::stem, 1, 4096},
    }};
    /// What is wrong with them together, or null.
    [[nodiscard]] constexpr char const* fault() const {
        return filters % 4 == 0 ? nullptr : "filters can be halved twice: a multiple of 4";
    }
};

/// NASNet-A at inference. The default has 5.3 million parameters and 0.6 billion multiplications in 16 cells: two
/// reduction cells as stem, then three stages of normal cells with reduction cells between them. A cell reads the
/// results of the two cells before it, and concatenates five sums of pairs of separable convolutions, pools and inputs.
/// Separable convolutions are rectifier, depthwise and pointwise convolution and normalisation, twice. The second half
/// of a cell's smaller input is moved by one pixel, by a Pad that crops the first row and column. Windows of stride 2
/// have equal pads on both sides, as in PyTorch; TensorFlow's start one pixel later where the size is even.
/// *Source* Zoph et al., "Learning transferable architectures for scalable image recognition", 2017, figure 4 and
/// appendix A.
[[nodiscard]] graph nasnet_a(nasnet_options const& options = {});

} // namespace gsub::models

#ifndef GSUB_COMPILED
#include <gsub/models/impl/nasnet.ipp>
#endif
