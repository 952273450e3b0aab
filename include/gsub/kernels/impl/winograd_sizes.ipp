// winograd_sizes: what a Winograd kernel of one shape and configuration is cut into.
#pragma once

#include <gsub/kernels/winograd.hpp>

#include <cstdint>

namespace gsub::kernels::detail {

// Tiles of a block of whole rows at most: the more, the less often weights are read. Tiles of a piece of a row at
// least.
inline constexpr std::int64_t most_block_tiles = 64, least_piece_tiles = 7;

struct winograd_sizes {
    std::int64_t l, in_blocks, out_blocks;         // lanes, vectors of channels
    std::int64_t t, points;                        // a tile of the input is t x t
    std::int64_t tile_rows, tile_columns;          // of an image
    std::int64_t row_blocks, column_blocks, block; // blocks of an image in both directions, tiles of a block
    std::int64_t groups, part_groups;              // of output channels: all, of a part
    bool whole_rows;

    winograd_sizes(conv2d_shape const& s, winograd_config const& c, isa const& isa)
        : l(isa.lanes()),
          in_blocks(up(s.in_channels, l)),
          out_blocks(up(s.out_channels, l)),
          t(c.m + 2),
          points(t * t),
          tile_rows(up(s.out(0), c.m)),
          tile_columns(up(s.out(1), c.m)),
          row_blocks(up(tile_rows, c.rows)),
          column_blocks(up(tile_columns, c.columns)),
          block(std::int64_t{c.rows} * c.columns),
          groups(up(out_blocks, c.vectors)),
          part_groups(up(groups, c.parts)),
          whole_rows(c.columns == tile_columns) {}

    static std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
};

} // namespace gsub::kernels::detail
