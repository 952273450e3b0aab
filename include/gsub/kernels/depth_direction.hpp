// The third direction of images: planes of rows of pixels, one behind the other, `[N, C/l, D, H, W, l]`.
#pragma once

#include <gsub/loop/schedule.hpp>

#include <array>
#include <cstdint>

namespace gsub::kernels {

/// A window along the planes of images. As it is, images are one plane, and windows are too.
struct depth_direction {
    std::int64_t in = 1, kernel = 1, stride = 1, dilation = 1; ///< planes
    std::array<std::int64_t, 2> pads{};                        ///< begin, then end

    /// Whether there is one: not where images and windows are of two dimensions.
    [[nodiscard]] bool exists() const noexcept { return in != 1 || kernel != 1 || pads[0] != 0 || pads[1] != 0; }
    /// Places of the window.
    [[nodiscard]] std::int64_t out() const noexcept {
        return (in + pads[0] + pads[1] - dilation * (kernel - 1) - 1) / stride + 1;
    }
};

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/depth_direction.ipp>
#endif
