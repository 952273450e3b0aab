// Reductions along any dimensions: sums, means and maxima, of every element type.
#pragma once

#include <gsub/kernels/row_reduction.hpp>
#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <vector>

namespace gsub::kernels {

/// Shape of a reduction: `y[kept...] = combination of x over the reduced dimensions, divided`. f16 and bf16 are
/// combined in f32, integers that are divided in the widest type of their kind.
struct reduction_shape {
    array_view x{}; ///< over `dims`; its element type is the result's
    std::vector<std::int64_t> dims{};
    std::vector<char> reduced{}; ///< of each dimension
    reduction_step step = reduction_step::sum;
    double divisor = 1; ///< of a mean

    GSUB_LAZY [[nodiscard]] double operations() const noexcept;
};

/// Builds the loop nest of a reduction. Buffers: x, flat; y, the kept dimensions row-major. Vectors lie along the last
/// dimension: where that is kept each lane is a result, else the lanes of a row are combined at its end. *Requires*
/// positive dims, a stride and a mark for each, a step of sums or maxima.
GSUB_LAZY [[nodiscard]] loop::loop_nest reduction_nest(reduction_shape s, isa const& isa);

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/reduction.ipp>
#endif
