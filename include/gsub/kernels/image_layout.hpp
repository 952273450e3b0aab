// How images lie in the operands of kernels.
#pragma once

#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <string_view>

namespace gsub::kernels {

/// The order of the dimensions of images; where they have depth, D stands in front of H.
enum class image_layout : std::uint8_t {
    blocked,       ///< `[N, C/l, H, W, l]`: vectors of l channels, the last filled up
    planar,        ///< `[N, C, H, W]`
    channels_last, ///< `[N, H, W, C]`
};

/// An image operand of a kernel that takes `lanes` channels at a time: all that a vector has, or one.
struct image_operand {
    image_layout layout = image_layout::blocked;
    std::int64_t batch = 1, channels = 1, rows = 1, columns = 1; ///< rows of all planes
    std::int64_t lanes = 1;
    dtype element = dtype::f32;

    /// Declares the buffer `[N, C/lanes, H, W, lanes]`, whose strides are those of the layout. *Requires* whole vectors
    /// of channels where the layout is not blocked, and one lane where it is planar.
    GSUB_LAZY [[nodiscard]] std::int32_t input(loop::expression_builder& e, std::string_view name) const;
    GSUB_LAZY [[nodiscard]] std::int32_t output(loop::expression_builder& e, std::string_view name) const;
    /// Elements from a vector of channels to the next.
    [[nodiscard]] std::int64_t vector_stride() const noexcept {
        return layout == image_layout::channels_last ? lanes : rows * columns * lanes;
    }
};

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/image_layout.ipp>
#endif
