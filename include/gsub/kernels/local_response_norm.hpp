// Local response normalisation: divides an element by a power of the squares of its neighbour channels.
#pragma once

#include <gsub/loop/schedule.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>

namespace gsub::kernels {

/// Shape of local response normalisation:
/// `y[c] = x[c] / (bias + alpha / size * sum of x[j]^2 for j in [c - (size - 1) / 2, c + size / 2])^beta`.
struct local_response_norm_shape {
    std::int64_t batch = 1, channels = 1, area = 1;
    std::int64_t size = 1;
    double alpha = 1e-4, beta = 0.75, bias = 1;
    dtype element = dtype::f32;

    [[nodiscard]] double operations() const noexcept {
        return static_cast<double>(batch * channels * area) * (2 * static_cast<double>(size) + 20);
    }
};

/// Builds the loop nest of local response normalisation. Buffers: x and y, `[N, C, area]`. A power of 1/4, 1/2, 3/4 or
/// 1 is computed by roots and products. *Requires* a floating element type.
GSUB_LAZY [[nodiscard]] loop::loop_nest local_response_norm_nest(local_response_norm_shape const& s, isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/local_response_norm.ipp>
#endif
