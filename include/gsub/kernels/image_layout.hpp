// image_layout: how kernel operands store images.
#pragma once

#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <string_view>

namespace gsub::kernels {

/// Image layout: the order of the dimensions; with depth, D precedes H.
enum class image_layout : std::uint8_t {
    blocked,       ///< `[N, C/l, H, W, l]`: vectors of l channels, the last filled up
    planar,        ///< `[N, C, H, W]`
    channels_last, ///< `[N, H, W, C]`
};

/// Image operand of a kernel that takes `lanes` channels at a time: a whole vector, or one.
struct image_operand {
    image_layout layout = image_layout::blocked;
    std::int64_t batch = 1, channels = 1, rows = 1, columns = 1; ///< rows of all planes
    std::int64_t lanes = 1;
    dtype element = dtype::f32;

    /// Declares the buffer `[N, C/lanes, H, W, lanes]`, whose strides are those of the layout. *Requires* whole vectors
    /// of channels where the layout is not blocked, and one lane where it is planar.
    GSUB_LAZY [[nodiscard]] std::int32_t input(loop::expression_builder& e, std::string_view name) const;
    GSUB_LAZY [[nodiscard]] std::int32_t output(loop::expression_builder& e, std::string_view name) const;
    /// Elements from one vector of channels to the next.
    [[nodiscard]] std::int64_t vector_stride() const noexcept {
        return layout == image_layout::channels_last ? lanes : rows * columns * lanes;
    }
};

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/image_layout.ipp>
#endif
