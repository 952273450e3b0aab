// Direct convolution over blocked layouts: activations as [N, C/l, H, W, l], or [N, C/l, D, H, W, l] for images that
// have depth, with l the lanes of a vector, so that a register holds l output channels of one pixel and weights are
// read as they lie.
#pragma once

#include <gsub/kernels/depth_direction.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/kernels/image_layout.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/target/isa.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::kernels {

/// Shape of a convolution of images, with its epilogue.
struct conv2d_shape {
    std::int64_t batch = 1, in_channels = 1, out_channels = 1, groups = 1;
    std::array<std::int64_t, 2> in{}, kernel{1, 1}, stride{1, 1}, dilation{1, 1};
    std::array<std::int64_t, 4> pads{}; ///< begins, then ends
    depth_direction depth{};            ///< of images of three dimensions
    image_layout input = image_layout::blocked;
    image_layout result = image_layout::blocked; ///< of the residual and the arrays too; never planar
    bool bias = false, residual = false;
    double low = -1e300, high = 1e300; ///< the result is clipped to these; a ReLU has 0 and no upper bound
    /// Epilogue after clipping: operations on the result (value 0), on `arrays` further operands, stored as the result
    /// is, and on earlier results; the last one counts.
    std::vector<elementwise_op> epilogue{};
    std::int32_t arrays = 0;

    [[nodiscard]] std::int64_t out(std::size_t i) const noexcept {
        return (in[i] + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    }
    [[nodiscard]] std::int64_t out_depth() const noexcept { return depth.out(); }
    /// Counts multiplications and additions, taps on padding included.
    GSUB_LAZY [[nodiscard]] double operations() const noexcept;
};

/// Schedule knobs of a direct convolution, by AutoTVM's names where it has them.
struct conv2d_config {
    std::int32_t tile_ow = 1;   ///< pixels of a row of a register tile
    std::int32_t tile_oh = 1;   ///< rows of a register tile, where they are not joined
    std::int32_t tile_oc = 1;   ///< vectors of output channels of a register tile
    std::int32_t unroll_ic = 1; ///< input channels a turn of the inner loop, a divisor of the lanes
    std::int32_t chunk = 1; ///< register tiles of pixels a parallel position, where rows are joined or lanes threads
    bool unroll_kh = false; ///< rows of taps too: what rows of pixels share is read once
    bool oc_inner = false;  ///< output channels vary fastest over parallel positions
    /// Input channels after which the sums of all pixels are stored, so that the weights of these channels stay in a
    /// cache: whole vectors where the kernel reads vectors, and fewer than all. Parallel positions are then tiles of
    /// output channels. 0: sums stay in registers to the end.
    std::int32_t tile_ic = 0;
};

/// Default configuration by counted cycles: multiplications against loads, latency and tails. Measures nothing.
GSUB_LAZY [[nodiscard]] conv2d_config default_config(conv2d_shape const& s, isa const& isa);

/// Whether the kernel reads vectors of input channels: not from planar images or partial vectors of channels last.
GSUB_LAZY [[nodiscard]] bool reads_vectors(conv2d_shape const& s, isa const& isa);

/// Whether there is a direct kernel. A result with channels last needs whole vectors of them. Groups need an input that
/// is read in vectors, and at most 512 parts, pieces of code of their own: one for each vector of output channels until
/// the lanes of their groups repeat, times the input channels of a group, at most the lanes of a vector. Groups of
/// whole blocks, and one filter a channel, have no parts.
GSUB_LAZY [[nodiscard]] bool conv2d_applies(conv2d_shape const& s, isa const& isa);

/// Builds the loop nest of a direct convolution. Buffers: input, weights, then bias `[OC/l, l]`, residual and arrays
/// (as the output) where there are, then the output `[N, OC/l, OH, OW, l]`. Weights are `[OC/l, IC/l, KH, KW, l, l]`
/// (`[OC/l, IC, KH, KW, 1, l]` where no vectors of the input are read; `[C/l, KH, KW, l]` for depthwise;
/// `[OC/l, c, IC/groups/c, KH, KW, l]` where groups are not whole blocks, with c the lesser of the channels of a group
/// and l), see `pack_conv2d_weights`. With depth, D, KD and OD precede H, KH and OH. Groups that are not whole blocks
/// ignore `tile_oc` and `unroll_ic`; they and images with depth cannot have `tile_ic`. Stored sums lie in the
/// workspace, `[OH, OW, tile_oc, l]` for each thread. *Errors* throws `error`: `unsupported` where `conv2d_applies`
/// does not hold; `usage` for knobs that do not apply.
GSUB_LAZY [[nodiscard]] loop::fused_nest conv2d_nest(conv2d_shape const& s, conv2d_config const& c, isa const& isa);

/// Packs weights `[OC, IC/groups, KD, KH, KW]` in the order that the kernel reads, channels filled up with zeros.
GSUB_LAZY [[nodiscard]] std::vector<float> pack_conv2d_weights(conv2d_shape const& s, std::span<float const> weights,
                                                               isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/conv2d.ipp>
#include <gsub/kernels/impl/conv2d_lane_groups.ipp>
#include <gsub/kernels/impl/conv2d_shape.ipp>
#endif
