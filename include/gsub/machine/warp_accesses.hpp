// Warp accesses: how the threads of a warp meet in the banks of shared memory and in the sectors of global memory.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/machine/ptx_work.hpp>
#include <gsub/target/gpu.hpp>

#include <cstdint>
#include <vector>

namespace gsub::machine {

/// Access of a warp: a load or store of a kernel, where the first warp of a block meets it for the first time.
struct warp_access {
    std::uint32_t instruction = 0; ///< number in the kernel
    ptx_space space = ptx_space::none;
    std::int32_t bytes = 0;  ///< of a thread
    bool known = false;      ///< whether the addresses of all threads are, up to one base
    std::int32_t passes = 0; ///< of shared memory: cycles that its banks take; of others: sectors
    std::int32_t fewest = 0; ///< that so many bytes of so many threads take at best; 0 where nothing is known

    /// How many times as many passes as there need be; 1 where nothing is known.
    [[nodiscard]] double factor() const noexcept {
        return known && fewest > 0 ? static_cast<double>(passes) / fewest : 1.0;
    }
};

/// Accesses of the first warp of a kernel to shared and global memory, in the order of the text. Addresses are
/// computed for each thread as far as indices, sizes of the launch and constants tell them; loops are in their first
/// turn, arrays begin at a multiple of a line. A warp reads words of 4 bytes at once, of 8 by halves, of 16 by
/// quarters; the threads of a part that want different words of one bank wait for each other. *Errors* those of
/// `count_ptx`. *Complexity* linear in the instructions. *Source* NVIDIA's CUDA C++ Programming Guide, shared memory.
GSUB_LAZY [[nodiscard]] result<std::vector<warp_access>> warp_accesses(ptx_kernel const& k, ptx_launch const& launch,
                                                                       gpu_architecture const& a);

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/warp_accesses.ipp>
#endif
