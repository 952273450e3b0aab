// Scatter kernels: a copy of an array with updates at places that integers choose at run time.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace gsub::kernels {

/// Shape of a scatter, over arrays that are row-major. Updates of one place meet it in their order.
struct scatter_shape {
    dtype element = dtype::f32;                ///< types of one size are replaced alike
    dtype integers = dtype::i64;               ///< or i32
    small_vector<std::int64_t, 6> dims{};      ///< of the data, and of the result
    small_vector<std::int64_t, 6> updates{};   ///< dimensions of the updates, no greater but along the axis
    std::int32_t axis = 0;                     ///< along which an integer chooses the entry; negative ones from the end
    array_view at{};                           ///< the integers, over the dimensions of the updates
    std::optional<loop::scalar_op> combined{}; ///< of what is there and an update; none: the update replaces it
    bool in_place = false;                     ///< the result holds the data already, and nothing is copied

    /// Elements of the result.
    GSUB_LAZY [[nodiscard]] std::int64_t elements() const noexcept;
    GSUB_LAZY [[nodiscard]] double operations() const noexcept;
};

/// Builds the loop nest of a scatter. Buffers: the data, which is not read in place; the integers; the updates; the
/// result; an i32 that becomes 1 where an integer is out of range. A maximum or minimum keeps what is there where that
/// is NaN, and takes an update that is. *Requires* positive sizes; of updates of whole entries (no stride of the
/// integers behind the axis) the sizes of the data there.
GSUB_LAZY [[nodiscard]] loop::fused_nest scatter_nest(scatter_shape s, isa const& isa);

/// Scatter of elements along an axis: each of the integers, as many as updates, chooses the entry of the update where
/// it stands.
GSUB_LAZY [[nodiscard]] scatter_shape scattered_elements(dtype element, std::span<std::int64_t const> dims,
                                                         std::span<std::int64_t const> updates, std::size_t axis,
                                                         dtype integers, std::optional<loop::scalar_op> combined = {});
/// Scatter of `count` whole entries along the first dimension, each chosen by an integer.
GSUB_LAZY [[nodiscard]] scatter_shape scattered_entries(dtype element, std::span<std::int64_t const> dims,
                                                        std::int64_t count, dtype integers,
                                                        std::optional<loop::scalar_op> combined = {});

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/scatter.ipp>
#endif
