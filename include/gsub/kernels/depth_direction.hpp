// depth_direction: the depth of images: planes of rows of pixels, `[N, C/l, D, H, W, l]`.
#pragma once

#include <gsub/loop/schedule.hpp>

#include <array>
#include <cstdint>

namespace gsub::kernels {

/// Window along the planes of images. By default images and windows are one plane.
struct depth_direction {
    std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1; ///< planes
    std::array<std::int64_t, 2> pads{};                        ///< begin, then end

    /// Whether images or windows have depth: not those of two dimensions.
    [[nodiscard]] bool exists() const noexcept { return in != 1 || kernel != 1 || pads[0] != 0 || pads[1] != 0; }
    /// Number of positions of the window: planes of the result.
    [[nodiscard]] std::int64_t out() const noexcept {
        return (in + pads[0] + pads[1] - dilation * (kernel - 1) - 1) / stride + 1;
    }
};

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/depth_direction.ipp>
#endif
