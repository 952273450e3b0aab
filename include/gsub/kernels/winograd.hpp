// Winograd convolution: 3x3 filters in tiles of m x m pixels, with (m + 2)^2 multiplications in place of 9 m^2. The
// transforms and the products of a block of tiles run one after another in the workspace.
#pragma once

#include <gsub/kernels/conv2d.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/target.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gsub::kernels {

/// Knobs of a Winograd kernel. A block is what one position of the parallel loop computes: whole rows of tiles, or a
/// piece of one row.
struct winograd_config {
    std::int32_t m = 4;         ///< pixels of a tile in each direction: 2 or 4
    std::int32_t rows = 1;      ///< rows of tiles a block
    std::int32_t columns = 1;   ///< tiles of a row a block: all of them where `rows` is more than one
    std::int32_t tile = 1;      ///< tiles of a register tile
    std::int32_t vectors = 1;   ///< vectors of output channels of a register tile
    std::int32_t unroll_ic = 1; ///< input channels a turn of the inner loop, a divisor of the lanes
    std::int32_t parts = 1;     ///< pieces of the output channels that are parallel; each transforms the input anew
    /// Whether all products of a point come before those of the next one: a block reads its transformed input once for
    /// all output channels, and keeps the products of all of these.
    bool points_outer = false;
    friend bool operator==(winograd_config const&, winograd_config const&) = default;
};

/// Winograd accuracy: the largest tile that results allow. Errors against exact results, as multiples of the direct
/// kernel's: at most 1.2 in the mean with tiles of 2 x 2 (most often less than 1), 3 with tiles of 4 x 4.
enum class winograd_accuracy : std::uint8_t { off, f2, f4 };

/// Options of the choice between direct and Winograd convolution.
struct winograd_options {
    winograd_accuracy accuracy = winograd_accuracy::f4;
    std::uint32_t threads = 1;
    std::uint64_t l2_bytes = std::uint64_t{1} << 20; ///< of one core
    std::int32_t fma_per_cycle = 0;                  ///< 0: as the instruction set says
    double memory_bytes_per_cycle = 9;               ///< of weights, all threads together
    double l3_bytes_per_cycle = 10;                  ///< read by one core from the last cache
};

/// Winograd options of a target: its threads, its caches, and whether it computes wide vectors in halves.
GSUB_LAZY [[nodiscard]] winograd_options winograd_options_of(target const& t);

/// Whether there are Winograd kernels of a shape: 3x3 without depth, stride and dilation 1, one group, a blocked input.
GSUB_LAZY [[nodiscard]] bool winograd_applies(conv2d_shape const& s) noexcept;

/// Default configuration for tiles of `m` x `m`, by counting. *Requires* `winograd_applies`, and `m` 2 or 4.
GSUB_LAZY [[nodiscard]] winograd_config default_winograd(conv2d_shape const& s, isa const& isa, std::int32_t m,
                                                         winograd_options const& options = {});

/// Candidates for the configuration, for models that weigh them: the default one, then the others by counted cycles,
/// each with both orders of points. *Returns* `most` at most. *Requires* what `default_winograd` does, and `most` of 1
/// or more. *Complexity* twice that of `default_winograd`.
GSUB_LAZY [[nodiscard]] std::vector<winograd_config> winograd_candidates(conv2d_shape const& s, isa const& isa,
                                                                         std::int32_t m,
                                                                         winograd_options const& options,
                                                                         std::size_t most);

/// Estimated cycles of a thread for the Winograd kernel, and for the direct kernel with its default configuration:
/// counted multiplications, loads and stores with tails, and weights that come from memory. Never measured.
GSUB_LAZY [[nodiscard]] double winograd_cycles(conv2d_shape const& s, winograd_config const& c, isa const& isa,
                                               winograd_options const& options = {});
GSUB_LAZY [[nodiscard]] double direct_cycles(conv2d_shape const& s, isa const& isa,
                                             winograd_options const& options = {});

/// Chooses the Winograd kernel that is expected to be fastest; nothing where the direct one is.
GSUB_LAZY [[nodiscard]] std::optional<winograd_config> choose_winograd(conv2d_shape const& s, isa const& isa,
                                                                       winograd_options const& options = {});

/// Builds the loop nest of a Winograd convolution: transform of the input, products and transform of the output.
/// Buffers as of `conv2d_nest`, but weights are `[OC/(v l), (m+2)^2 + 1, IC/l, l, v, l]` with v vectors, see
/// `pack_winograd_weights`; then two workspace buffers. Where a pixel of a tile before the bias, or a sum on the way,
/// is not finite, the fallback computes the tile anew for these output channels as a sum of products: NaN and
/// infinities are where they are by definition, except for sums within 1e-5 of the largest float. *Errors* throws
/// `error`: `unsupported` for shapes to which it does not apply; `usage` for knobs that do not.
GSUB_LAZY [[nodiscard]] loop::fused_nest winograd_nest(conv2d_shape const& s, winograd_config const& c, isa const& isa);

/// Whether weights can be transformed: they are finite and 1e30 at most.
GSUB_LAZY [[nodiscard]] bool winograd_holds(std::span<float const> weights) noexcept;

/// Packs weights `[OC, IC, 3, 3]`: transforms them in double, in the order that the kernel reads, channels filled up
/// with zeros. The last of the (m + 2)^2 + 1 numbers of a filter has the signs of its nine weights as digits -1, 0, 1
/// to the base of three, the first weight's the lowest. *Requires* weights that `winograd_holds`.
GSUB_LAZY [[nodiscard]] std::vector<float> pack_winograd_weights(conv2d_shape const& s, winograd_config const& c,
                                                                 std::span<float const> weights, isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/winograd.ipp>
#include <gsub/kernels/impl/winograd_choice.ipp>
#include <gsub/kernels/impl/winograd_sizes.ipp>
#include <gsub/kernels/impl/winograd_transforms.ipp>
#endif
