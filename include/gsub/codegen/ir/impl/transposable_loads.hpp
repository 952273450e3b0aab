// Reads of a block that together read whole vectors: strided loads of a tile, broadcasts of one element after another.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <vector>

namespace gsub::codegen::detail {

/// Numbers of the loads from `code[first]` on with one stride that begin one element after another, by their distance
/// from the first: as many as registers have lanes. Empty where some are missing, or where the kernel writes what they
/// read. Row l of the tile is what lane l of all of them reads. *Complexity* linear.
GSUB_LAZY [[nodiscard]] std::vector<std::size_t>
transposable_loads(kernel const& k, std::vector<instruction> const& code, std::size_t first);

/// Numbers of the broadcasts from `code[first]` on that read f32 one element after another, by their distance from the
/// first: as many as registers have lanes. Empty where some are missing, where the block stores what they read, or
/// where registers have other than 4 lanes: no instruction set with wider ones multiplies by a lane. *Complexity*
/// linear.
GSUB_LAZY [[nodiscard]] std::vector<std::size_t> broadcast_lanes(kernel const& k, std::vector<instruction> const& code,
                                                                 std::size_t first);

} // namespace gsub::codegen::detail
