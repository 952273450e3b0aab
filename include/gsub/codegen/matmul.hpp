// Products with a constant right operand, packed once.
#pragma once

#include <gsub/codegen/isa.hpp>
#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub::codegen {

/// `y[m, n] = a[m, k] * w[k, n] + bias[n] + residual[m, n]`, clipped.
struct matmul_shape {
    std::int64_t m = 1, n = 1, k = 1;
    bool bias = false, residual = false;
    double low = -1e300, high = 1e300;

    [[nodiscard]] double operations() const noexcept {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
};

struct matmul_config {
    std::int32_t tile_m = 1;   ///< rows of a register tile
    std::int32_t tile_n = 1;   ///< vectors of a register tile
    std::int32_t unroll_k = 1; ///< steps a turn of the inner loop, a divisor of k
};

/// The configuration that counting cycles prefers.
[[nodiscard]] matmul_config default_config(matmul_shape const& s, isa const& set);

/// Buffers: a `[m, k]`, weights `[n/l, k, l]` as `pack_matmul_weights` makes them, bias `[n/l, l]` and residual `[m,
/// n]` where there are, y `[m, n]`. *Errors* throws `error` (`usage`) for knobs that do not apply.
[[nodiscard]] loop::loop_nest matmul_nest(matmul_shape const& s, matmul_config const& c, isa const& set);

/// Weights `[k, n]`, or `[n, k]` where transposed, in the order that the kernel reads; columns filled up with zeros.
[[nodiscard]] std::vector<float> pack_matmul_weights(matmul_shape const& s, std::span<float const> weights,
                                                     bool transposed, isa const& set);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/matmul.ipp>
#endif
