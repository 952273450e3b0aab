// Pooling of images over blocked layouts: [N, C/l, H, W, l].
#pragma once

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
    bool average = false;
    bool count_pads = false; ///< averages divide by the taps on stated padding too
};

/// Buffers: input, for averages the factors `[OH, OW]` of `pool2d_factors`, output `[N, C/l, OH, OW, l]`.
/// A maximum over a NaN is NaN.
GSUB_LAZY [[nodiscard]] loop::loop_nest pool2d_nest(pool2d_shape const& s, isa const& set);

/// One over the number of taps that each place averages.
GSUB_LAZY [[nodiscard]] std::vector<float> pool2d_factors(pool2d_shape const& s);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/pool2d.ipp>
#endif
