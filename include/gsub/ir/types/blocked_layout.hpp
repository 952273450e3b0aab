// Blocked layouts, which cut one dimension into blocks as `NCHW16c` does: parsing of their names, and offsets.
#pragma once

#include <gsub/ir/types/tensor_type.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gsub {

/// Blocked layout: one dimension is cut into blocks. `NCHW16c` stores dimension 1 in blocks of 16: the block's number
/// at its place among the dimensions, the place in the block last. The dimension is padded up to full blocks; the
/// contents of the padding are not specified.
struct blocked_layout {
    std::size_t rank = 0;
    std::size_t axis = 0;   ///< the dimension that is cut
    std::int64_t block = 1; ///< its elements a block

    /// Number of blocks for a dimension of this size.
    [[nodiscard]] constexpr std::int64_t blocks(std::int64_t size) const noexcept { return (size + block - 1) / block; }
    /// Number of elements stored, padding included, or nothing beyond 2^62. *Requires* `sizes.size() == rank`.
    [[nodiscard]] std::optional<std::int64_t> stored_elements(std::span<std::int64_t const> sizes) const;
    /// Offset of an element, in elements. *Requires* indices within `sizes`, both of `rank` entries.
    [[nodiscard]] std::int64_t offset(std::span<std::int64_t const> sizes,
                                      std::span<std::int64_t const> index) const noexcept;
    friend bool operator==(blocked_layout const&, blocked_layout const&) = default;
};

/// Parses a layout's name: distinct capital letters, one a dimension, then the size of the blocks and the small letter
/// of the dimension that is cut. Nothing for other names and for blocks of less than 2 or more than 4096 elements.
[[nodiscard]] std::optional<blocked_layout> parse_layout(std::string_view name) noexcept;

/// Why a value cannot be stored in a layout, or empty where it can: as it always can in row-major order, the empty
/// name.
[[nodiscard]] std::string_view incompatibility(layout stored, tensor_type const& type) noexcept;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/types/impl/blocked_layout.ipp>
#endif
