// Pooling of images in vectors of channels: [N, C/l, H, W, l], or [N, C/l, D, H, W, l] for images that have depth; or,
// where channels are whole vectors, channels last.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/kernels/depth_direction.hpp>
#include <gsub/kernels/image_layout.hpp>
#include <gsub/loop/schedule.hpp>
#include <gsub/target/isa.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace gsub::kernels {

struct pool2d_shape {
    std::int64_t batch = 1, channels = 1;
    std::array<std::int64_t, 2> in{}, kernel{1, 1}, stride{1, 1}, dilation{1, 1}, out{};
    std::array<std::int64_t, 2> pads{};     ///< begins; ends follow from `out`
    std::array<std::int64_t, 2> pads_end{}; ///< ends as stated, which averages may count
    depth_direction depth{};                ///< of images of three dimensions, with stated ends of padding
    std::int64_t out_depth = 1;             ///< as `out`
    image_layout input = image_layout::blocked, result = image_layout::blocked; ///< never planar
    dtype element = dtype::f32; ///< f16 and bf16 are combined in f32; averages are of floating types
    bool average = false;
    bool count_pads = false; ///< averages divide by the taps on stated padding too
};

/// Builds the loop nest of a pooling. Buffers: input, for averages the factors `[OH, OW]` of `pool2d_factors`, output
/// `[N, C/l, OH, OW, l]`; with depth, D and OD precede H and OH. A maximum over a NaN is NaN, one over nothing the
/// least of its type. Blocks have l elements of every type.
GSUB_LAZY [[nodiscard]] loop::loop_nest pool2d_nest(pool2d_shape const& s, isa const& isa);

/// Averaging factors: one over the number of taps at each place; for f64 the number itself, which divides.
GSUB_LAZY [[nodiscard]] std::vector<float> pool2d_factors(pool2d_shape const& s);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/pool2d.ipp>
#endif
