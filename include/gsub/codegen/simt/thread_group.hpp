// thread_group: how threads of a GPU run a kernel. The lanes of its vectors are threads, a warp works on one position
// of its parallel loop.
//
// A register of a kernel has as many elements as the kernel has lanes; each thread keeps its own element, and a scalar
// is the same in all. Loops, branches and indices depend on no lane, so threads of a position never part. Where a lane
// reads what another has written, a barrier stands between (`lane_barriers`); where lanes are combined, threads
// exchange registers. Positions are dealt to groups in turn, so that any number of groups runs all of them.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <cstdint>

namespace gsub::codegen {

/// Thread group: how many positions of a kernel's parallel loop a group works on at once, by as many threads each as
/// the kernel has lanes, and where they keep their workspaces.
struct thread_group {
    std::int32_t positions = 1;
    bool shared_workspace = true; ///< in the group's shared memory; else in memory of the device, lent by the launch

    [[nodiscard]] std::int32_t threads(kernel const& k) const noexcept { return positions * k.lanes; }
    /// Bytes of shared memory that a group takes for workspaces.
    [[nodiscard]] std::size_t shared_bytes(kernel const& k) const noexcept {
        return shared_workspace ? static_cast<std::size_t>(positions) * workspace_bytes(k) : 0;
    }
    /// Bytes that a launch of `groups` lends.
    [[nodiscard]] std::size_t lent_bytes(kernel const& k, std::int64_t groups) const noexcept {
        return shared_workspace ? 0 : static_cast<std::size_t>(groups * positions) * workspace_bytes(k);
    }
    friend bool operator==(thread_group, thread_group) = default;
};

/// Positions that a group works on at once, where a device has so many multiprocessors: those of four warps, one for
/// each scheduler, unless so large groups would leave some of these without work. Kernels of fewer lanes than a warp's
/// have several positions in each.
[[nodiscard]] inline std::int32_t positions_of_group(kernel const& k, std::int32_t processors) noexcept {
    auto const of_warp = k.lanes < 32 ? 32 / k.lanes : 1;
    auto const warps = (k.parallel_extent + of_warp - 1) / of_warp;
    auto const together = warps >= std::int64_t{8} * processors ? 4 : warps >= std::int64_t{4} * processors ? 2 : 1;
    return together * of_warp;
}

/// The group of a kernel for a device whose groups may have so much shared memory: of at most `positions`, halved until
/// their workspaces fit; where that of one does not, it lies in memory of the device.
[[nodiscard]] inline thread_group group_of(kernel const& k, std::size_t shared_bytes, std::int32_t positions) noexcept {
    thread_group out{positions, true};
    while (out.positions > 1 && out.shared_bytes(k) > shared_bytes) out.positions /= 2;
    if (out.shared_bytes(k) > shared_bytes) out = {positions, false};
    return out;
}

} // namespace gsub::codegen
