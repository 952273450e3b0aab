// Depthwise-separable convolution: a depthwise convolution and the 1×1 convolution that reads it, as one kernel whose
// intermediate image never leaves the cache.
#pragma once

#include <gsub/kernels/conv2d.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <optional>

namespace gsub::kernels {

/// Shape of a separable convolution: the second convolution reads the first.
struct separable_shape {
    conv2d_shape depthwise; ///< without a residual and arrays, of images without depth
    conv2d_shape pointwise; ///< 1×1 with stride 1 and no padding, of one group
};

struct separable_config {
    std::int64_t rows = 1;   ///< of a work item: `rows * width` pixels of all channels stay in the workspace
    conv2d_config depthwise; ///< `tile_oh`, `tile_ow` and `unroll_kh` within a piece
    conv2d_config pointwise; ///< `tile_ow`, `tile_oc`, `unroll_ic` and `oc_inner` on the pixels of a piece, joined
};

/// Whether two convolutions are of the form that `separable_nest` computes.
GSUB_LAZY [[nodiscard]] bool is_separable(separable_shape const& s) noexcept;

/// Default configuration by counting, whether or not one kernel is better than two: pieces that stay in a cache, enough
/// of them for threads to share where the image has as many rows. *Requires* `is_separable`.
GSUB_LAZY [[nodiscard]] separable_config default_config(separable_shape const& s, isa const& isa);

/// Default configuration where one kernel is better than two, else nothing: where an image has few pieces, or the
/// weights that each piece reads again are large beside it.
GSUB_LAZY [[nodiscard]] std::optional<separable_config> choose_separable(separable_shape const& s, isa const& isa);

/// Builds the loop nest of a separable convolution: stages within one parallel loop over images and pieces of rows: the
/// rows of the depthwise convolution, then the pixels of the results. Buffers: input, depthwise weights and bias where
/// there is one, pointwise weights, bias, residual and arrays where there are, then the output, all as `conv2d_nest`
/// has them. *Errors* throws `error` (`usage`) for shapes that are not separable and knobs that do not apply.
GSUB_LAZY [[nodiscard]] loop::fused_nest separable_nest(separable_shape const& s, separable_config const& c,
                                                        isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/separable.ipp>
#endif
