// Matmul: batched products with a constant right operand, packed once, or a variable one; transposed or gapped
// operands.
#pragma once

#include <gsub/kernels/elementwise.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub::kernels {

/// Shape of a matmul: `y[..., m, n] = epilogue(a[..., m, k] * b[..., k, n] + bias[n])` for each position on the `batch`
/// dimensions. Views are over these and the two dimensions of the matrix; one without strides is the whole array,
/// row-major.
struct matmul_shape {
    std::int64_t m = 1, n = 1, k = 1;
    std::vector<std::int64_t> batch{};
    array_view a{}, b{}, y{};
    bool constant = true; ///< the right operand is one matrix for all, packed by `pack_matmul_weights`
    bool bias = false;
    std::vector<array_view> arrays{}; ///< further operands of the chain, over `[..., m, n]`
    /// On the product as value 0, the arrays and its own results; the last counts.
    std::vector<elementwise_op> epilogue{};

    GSUB_LAZY [[nodiscard]] std::int64_t batches() const noexcept;
    /// Counts a multiplication and an addition a step of the product.
    GSUB_LAZY [[nodiscard]] double operations() const noexcept;
};

struct matmul_config {
    std::int32_t tile_m = 1;   ///< rows of a register tile
    std::int32_t tile_n = 1;   ///< vectors of a register tile
    std::int32_t unroll_k = 1; ///< steps a turn of the inner loop, a divisor of k
    /// Steps after which the sums of all rows are stored, so that what these steps read of the right operand stays in a
    /// cache; a multiple of `unroll_k`, less than k. 0: sums stay in registers to the end.
    std::int32_t tile_k = 0;
};

/// Default configuration by counted cycles.
GSUB_LAZY [[nodiscard]] matmul_config default_config(matmul_shape const& s, isa const& isa);

/// Builds the loop nest of a matmul. Buffers: a, flat; weights `[n/l, k, l]` as `pack_matmul_weights` makes them, or b,
/// flat; bias `[n/l, l]` where there is one; the arrays, flat; y, flat. A variable right operand is packed in the
/// workspace where enough rows use it or its rows have gaps. Stored sums lie in the workspace, `[m, tile_n, l]` for
/// each thread. *Errors* throws `error` (`usage`) for knobs that do not apply and for a `y` whose last stride is not 1.
GSUB_LAZY [[nodiscard]] loop::fused_nest matmul_nest(matmul_shape const& s, matmul_config const& c, isa const& isa);

/// Packs weights `[k, n]`, or `[n, k]` where transposed, in the order that the kernel reads; columns padded with zeros.
GSUB_LAZY [[nodiscard]] std::vector<float> pack_matmul_weights(matmul_shape const& s, std::span<float const> weights,
                                                               bool transposed, isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/matmul.ipp>
#include <gsub/kernels/impl/step_tiles.ipp>
#endif
