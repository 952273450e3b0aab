// Elements that are moved and stay as they are: copies, transposes, slices, joins, borders, gathers, changes of layout.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gsub::kernels {

/// A box of positions, and where its elements come from.
struct moved_box {
    small_vector<std::int64_t, 6> first{}, extent{}; ///< of each dimension
    std::int32_t array = -1;                         ///< number of the array; -1: `fill`
    std::int64_t offset = 0;                         ///< of the element at the first position
    small_vector<std::int64_t, 6> strides{};         ///< along the dimensions
    std::uint64_t fill = 0;                          ///< the bits of an element
};

/// The entries of the arrays that integers choose, one for each position: negative ones count from the end.
struct chosen_entries {
    dtype integers = dtype::i64; ///< or i32
    array_view at{};             ///< the integers, over the dimensions of the movement
    std::int64_t entries = 1;    ///< at least one
    std::int64_t stride = 1;     ///< between entries, in elements
};

/// What a movement is for, in reports.
enum class movement_kind : std::uint8_t { copy, concat, pad, gather, to_blocked, from_blocked };
GSUB_LAZY [[nodiscard]] std::string_view to_string(movement_kind k) noexcept;

/// What is moved, over dimensions that may be others than those of the result.
struct movement_shape {
    movement_kind kind = movement_kind::copy;
    dtype element = dtype::f32;           ///< types of one size are moved alike
    small_vector<std::int64_t, 6> dims{}; ///< of the positions
    array_view target{};                  ///< where a position is stored
    std::vector<std::int64_t> arrays{};   ///< elements of each
    std::vector<moved_box> boxes{};       ///< those that overlap store the same there
    std::optional<chosen_entries> chosen{};
};

/// Buffers: the arrays; the integers and, behind the result, an i32 that becomes 1 where one of them is out of range,
/// if there are choices; the result. *Requires* positive dims and extents, and a target that is contiguous along the
/// last dimension.
GSUB_LAZY [[nodiscard]] loop::fused_nest movement_nest(movement_shape s, isa const& isa);

/// A whole result of these dimensions, of which nothing is moved as yet.
GSUB_LAZY [[nodiscard]] movement_shape empty_movement(dtype element, std::span<std::int64_t const> dims);
/// What a view shows, row-major.
GSUB_LAZY [[nodiscard]] movement_shape copied_view(dtype element, std::span<std::int64_t const> dims,
                                                   array_view const& from);
/// A tensor `[N, C, ...]` in blocks of channels `[N, C/l, ..., l]`, filled up with zeros, or back.
GSUB_LAZY [[nodiscard]] movement_shape to_blocked_layout(dtype element, std::span<std::int64_t const> dims,
                                                         std::int64_t lanes);
GSUB_LAZY [[nodiscard]] movement_shape from_blocked_layout(dtype element, std::span<std::int64_t const> dims,
                                                           std::int64_t lanes);
/// Views one after another along an axis. *Requires* views over their own dimensions, which differ along it alone.
GSUB_LAZY [[nodiscard]] movement_shape concatenated_views(dtype element, std::span<std::int64_t const> dims,
                                                          std::size_t axis, std::span<std::int64_t const> sizes,
                                                          std::span<array_view const> from);
/// Entries along an axis of a row-major array of `dims`, chosen by `count` integers.
GSUB_LAZY [[nodiscard]] movement_shape gathered_entries(dtype element, std::span<std::int64_t const> dims,
                                                        std::size_t axis, std::int64_t count, dtype integers);

/// What a border holds.
enum class padding_mode : std::uint8_t { constant, edge, reflect };
/// A view of `dims` with so many positions before and after each dimension, or less where they are negative. A border
/// that is no edge, and what a reflection does not reach, has the bits of `fill`, or those of the element that
/// `filling` shows, which is the second array. *Requires* positive sizes; of the view too where the border is none of
/// constants.
GSUB_LAZY [[nodiscard]] movement_shape padded_view(dtype element, std::span<std::int64_t const> dims,
                                                   array_view const& from, std::span<std::int64_t const> before,
                                                   std::span<std::int64_t const> after, padding_mode kind,
                                                   std::uint64_t fill, std::optional<array_view> filling = {});

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/movement.ipp>
#endif
