// Schedules of kernels by descriptor: the config space, the configuration by counting, and the loop nest.
#pragma once

#include <gsub/kernels/attention.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/kernels/separable.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>

namespace gsub::kernels {

/// Config space of a kernel: the knobs of its schedule, named as the fields of its configuration:
///
///     conv2d      tile_ow tile_oh tile_oc unroll_ic chunk unroll_kh oc_inner tile_ic
///     winograd    rows columns tile vectors unroll_ic parts points_outer
///     separable   rows depthwise_{tile_ow tile_oh unroll_kh} pointwise_{tile_ow tile_oc unroll_ic oc_inner}
///     matmul      tile_m tile_n unroll_k tile_k
///     attention   rows scores_{pixels vectors} values_{pixels vectors}
///
/// All others have no knobs: one point. A knob that the kernel does not use has one value. A point is allowed where its
/// register tiles fit the registers, with `unroll_kh` also the weights that stay there where vectors are multiplied,
/// its unrolled text stays short and the nest takes it; the counted one always is. *Requires* a shape that has a
/// kernel. *Complexity* that of counting a few register tiles.
GSUB_LAZY [[nodiscard]] loop::config_space space_of(descriptor const& d, isa const& isa);

/// Default configuration: the point with the best counted cycles, `default_config`, or `default_winograd` of the tiles,
/// which alone reads the options. It points to the space, which must outlive it. *Errors* throws `error` (`usage`)
/// where the space is not that of the descriptor and the instruction set.
GSUB_LAZY [[nodiscard]] loop::configuration
counted(descriptor const& d, isa const& isa, loop::config_space const& space, winograd_options const& options = {});

/// Builds the loop nest of a kernel; its buffers are those of the template. *Errors* throws `error`: `usage` where a
/// knob is missing or does not apply, and what the template throws.
GSUB_LAZY [[nodiscard]] loop::fused_nest nest_of(descriptor const& d, loop::configuration const& knobs, isa const& isa);

/// Floating-point operations of a kernel: multiplications and additions of the direct algorithm, whichever computes it;
/// for arithmetic, `scalar_op_info::cost` of each operation on each element. Zero for movements.
GSUB_LAZY [[nodiscard]] double operations_of(descriptor const& d);

/// Typed configuration of a point; fields without a knob have their defaults. *Errors* throws `error` (`usage`) that
/// names a knob which the point does not have.
GSUB_LAZY [[nodiscard]] conv2d_config conv2d_knobs(loop::configuration const& knobs);
/// Typed configuration of a point, for tiles of `m` x `m` pixels.
GSUB_LAZY [[nodiscard]] winograd_config winograd_knobs(loop::configuration const& knobs, std::int32_t m);
GSUB_LAZY [[nodiscard]] separable_config separable_knobs(loop::configuration const& knobs);
GSUB_LAZY [[nodiscard]] matmul_config matmul_knobs(loop::configuration const& knobs);
GSUB_LAZY [[nodiscard]] attention_config attention_knobs(loop::configuration const& knobs);

/// Sets a point to a typed configuration; fields without a knob are ignored. *Errors* throws `error` (`usage`) that
/// names the knob where the space does not have it, or not with this value; knobs before it are set.
GSUB_LAZY void set_knobs(loop::configuration& knobs, conv2d_config const& c);
GSUB_LAZY void set_knobs(loop::configuration& knobs, winograd_config const& c);
GSUB_LAZY void set_knobs(loop::configuration& knobs, separable_config const& c);
GSUB_LAZY void set_knobs(loop::configuration& knobs, matmul_config const& c);
GSUB_LAZY void set_knobs(loop::configuration& knobs, attention_config const& c);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/knob_fields.ipp>
#include <gsub/kernels/impl/knobs.ipp>
#endif
