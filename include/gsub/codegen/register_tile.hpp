// How large a tile of results a kernel keeps in registers: counted in cycles, never measured.
#pragma once

#include <gsub/codegen/isa.hpp>

#include <cstdint>

namespace gsub::codegen {

/// Results of one register tile: `pixels` positions times `vectors` vectors.
struct register_tile {
    std::int32_t pixels = 1, vectors = 1;
    friend bool operator==(register_tile, register_tile) = default;
};

/// Cycles of one step of a tile: a scalar for each position, a vector for each column and their products. The greatest
/// of multiplications, loads and the chain through an accumulator.
GSUB_LAZY [[nodiscard]] double step_cycles(register_tile t, isa const& set);

/// The tile that covers `positions * vectors` in the fewest cycles a step, tails included, of those whose accumulators
/// and operands fit the registers; at most `max_vectors` wide. `scalars_stay`: the scalar of a position stays in a
/// register from step to step. Cost: a few hundred evaluations.
GSUB_LAZY [[nodiscard]] register_tile best_tile(std::int64_t positions, std::int64_t vectors, isa const& set,
                                                std::int32_t max_vectors = 4, bool scalars_stay = false);

} // namespace gsub::codegen

#ifndef GSUB_COMPILED
#include <gsub/codegen/impl/register_tile.ipp>
#endif
