// Movement kernels: copies, transposes, slices, concatenations, padding, gathers, layout transforms.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/loop/fused_nest.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gsub::kernels {

/// The unsigned integers that have so many bytes, as which types of that size are moved.
[[nodiscard]] constexpr dtype bits_of_size(std::size_t bytes) noexcept {
    return bytes == 1 ? dtype::u8 : bytes == 2 ? dtype::u16 : bytes == 4 ? dtype::u32 : dtype::u64;
}

/// Box of a movement: a range of positions, and where their elements come from.
struct moved_box {
    small_vector<std::int64_t, 6> first{}, extent{}; ///< of each dimension
    std::int32_t array = -1;                         ///< number of the array; -1: `fill`
    std::int64_t offset = 0;                         ///< of the element at the first position
    small_vector<std::int64_t, 6> strides{};         ///< along the dimensions
    std::uint64_t fill = 0;                          ///< the bits of an element
};

/// Kind of a movement, for reports.
enum class movement_kind : std::uint8_t { copy, concat, pad, gather, to_blocked, from_blocked };
GSUB_LAZY [[nodiscard]] std::string_view to_string(movement_kind k) noexcept;

/// Shape of a movement, over dimensions that may differ from those of the result.
struct movement_shape {
    movement_kind kind = movement_kind::copy;
    dtype element = dtype::f32;           ///< types of one size are moved alike
    small_vector<std::int64_t, 6> dims{}; ///< of the positions
    array_view target{};                  ///< where a position is stored
    std::vector<std::int64_t> arrays{};   ///< elements of each
    std::vector<moved_box> boxes{};       ///< those that overlap store the same there
    std::optional<chosen_entries> chosen{};
};

/// Builds the loop nest of a movement. Buffers: the arrays; with gather indices, these; the result; with gather
/// indices, an i32 that becomes 1 where one of them is out of range. *Requires* positive dims and extents, and a target
/// that is contiguous along the last dimension.
GSUB_LAZY [[nodiscard]] loop::fused_nest movement_nest(movement_shape s, isa const& isa);

/// Movement without boxes to a whole result of these dimensions.
GSUB_LAZY [[nodiscard]] movement_shape empty_movement(dtype element, std::span<std::int64_t const> dims);
/// Copy of a view, row-major.
GSUB_LAZY [[nodiscard]] movement_shape copied_view(dtype element, std::span<std::int64_t const> dims,
                                                   array_view const& from);
/// Layout transform of a tensor `[N, C, ...]` to blocks of channels `[N, C/l, ..., l]`, filled up with zeros, or back.
GSUB_LAZY [[nodiscard]] movement_shape to_blocked_layout(dtype element, std::span<std::int64_t const> dims,
                                                         std::int64_t lanes);
GSUB_LAZY [[nodiscard]] movement_shape from_blocked_layout(dtype element, std::span<std::int64_t const> dims,
                                                           std::int64_t lanes);
/// Concatenation of views along an axis. *Requires* views over their own dimensions, which differ along it alone.
GSUB_LAZY [[nodiscard]] movement_shape concatenated_views(dtype element, std::span<std::int64_t const> dims,
                                                          std::size_t axis, std::span<std::int64_t const> sizes,
                                                          std::span<array_view const> from);
/// Gather of entries along an axis of a row-major array of `dims`, chosen by `count` integers.
GSUB_LAZY [[nodiscard]] movement_shape gathered_entries(dtype element, std::span<std::int64_t const> dims,
                                                        std::size_t axis, std::int64_t count, dtype integers);
/// Gather of elements along an axis of a row-major array of `dims`: each of the integers, an array of `chosen`, which
/// has as many dimensions and is no larger along the others, chooses the entry of the element where it stands.
GSUB_LAZY [[nodiscard]] movement_shape gathered_elements(dtype element, std::span<std::int64_t const> dims,
                                                         std::span<std::int64_t const> chosen, std::size_t axis,
                                                         dtype integers);

/// Padding mode: what the border holds.
enum class padding_mode : std::uint8_t { constant, edge, reflect };
/// Padding of a view of `dims` by so many positions before and after each dimension; negative numbers crop. A constant
/// border, and what a reflection does not reach, has the bits of `fill`, or those of the element that `filling` shows,
/// which is the second array. *Requires* positive sizes; of the view too unless the border is constant.
GSUB_LAZY [[nodiscard]] movement_shape padded_view(dtype element, std::span<std::int64_t const> dims,
                                                   array_view const& from, std::span<std::int64_t const> before,
                                                   std::span<std::int64_t const> after, padding_mode kind,
                                                   std::uint64_t fill, std::optional<array_view> filling = {});

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/movement.ipp>
#include <gsub/kernels/impl/movement_writer.ipp>
#endif
