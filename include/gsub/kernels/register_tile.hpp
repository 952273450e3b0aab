// Register tiling: chooses the tile of results that a kernel keeps in registers, by counted cycles, never measured.
#pragma once

#include <gsub/target/isa.hpp>

#include <cstdint>

namespace gsub::kernels {

/// Register tile: results of `pixels` positions times `vectors` vectors.
struct register_tile {
    std::int32_t pixels = 1, vectors = 1;
    friend bool operator==(register_tile, register_tile) = default;
};

/// Cycles of one step of a tile, which multiplies a scalar for each position with a vector for each column: the
/// greatest of multiplications, loads and the latency of an accumulator. Where lanes are operands, one load reads as
/// many scalars, of one position.
GSUB_LAZY [[nodiscard]] double step_cycles(register_tile t, isa const& isa);

/// Properties of the loop around a register tile.
struct tile_options {
    std::int32_t max_vectors = 4; ///< most vectors of a tile
    double load = 0.03;           ///< cycles of a load that multiplications do not hide
    bool scalars_stay = false;    ///< the scalar of a position stays in a register from step to step
    std::int64_t steps = 1;       ///< summed in a result: their vectors are read again for the next positions
    /// Reads and stores of a result where no second-level cache holds all results; those of one column and the next
    /// positions follow each other in memory.
    std::int32_t far = 0;
};

/// Chooses the tile that covers `positions * vectors` in the fewest cycles a step, tails included, of those whose
/// accumulators and operands fit the registers. Loads count a little beside the multiplications that hide them, vectors
/// that do not stay in a first-level cache (32 KiB) four times as much. *Complexity* a few hundred evaluations.
GSUB_LAZY [[nodiscard]] register_tile best_tile(std::int64_t positions, std::int64_t vectors, isa const& isa,
                                                tile_options const& options = {});

} // namespace gsub::kernels

#ifndef GSUB_COMPILED
#include <gsub/kernels/impl/register_tile.ipp>
#endif
