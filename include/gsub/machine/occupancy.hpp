// Occupancy: how many blocks of a kernel a multiprocessor of a GPU holds at once, and how many rounds a grid takes.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/target/gpu.hpp>

#include <cstdint>
#include <string_view>

namespace gsub::machine {

/// What a block of a kernel asks for.
struct block_resources {
    std::int64_t threads = 1;
    std::int64_t registers = 0;    ///< of a thread, of 32 bits each
    std::int64_t shared_bytes = 0; ///< shared memory, static and dynamic
};

/// What keeps more blocks out.
enum class occupancy_limit : std::uint8_t { warps, blocks, registers, shared_memory };
/// Name of a limit, e.g. `shared memory`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(occupancy_limit l) noexcept;

/// Occupancy of a multiprocessor by one kernel.
struct occupancy {
    std::int64_t blocks = 0; ///< resident at once; 0: a block does not fit
    std::int64_t warps = 0;  ///< of these blocks
    occupancy_limit limit = occupancy_limit::warps;

    /// Share of the warps that could be resident.
    [[nodiscard]] double share(gpu_architecture const& a) const noexcept {
        return static_cast<double>(warps) / a.warps;
    }
};

/// Occupancy of an architecture by blocks. A multiprocessor hands registers to warps of each of its schedulers, in
/// units, and shared memory to blocks, in units and with a reserve. *Requires* resources that are not negative, and at
/// least one thread. *Source* NVIDIA's CUDA Occupancy Calculator.
GSUB_LAZY [[nodiscard]] occupancy occupancy_of(gpu_architecture const& a, block_resources const& block) noexcept;

/// Rounds in which the multiprocessors of a device run a grid of blocks, and the share of the places in all of them
/// that blocks take. *Requires* a block that fits.
struct grid_rounds {
    std::int64_t rounds = 0;
    double share = 0;
};
GSUB_LAZY [[nodiscard]] grid_rounds rounds_of(gpu const& g, occupancy const& o, std::int64_t blocks) noexcept;

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/occupancy.ipp>
#endif
