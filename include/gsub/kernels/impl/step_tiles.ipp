#pragma once

#include <gsub/core/meta.hpp>

#include <cstdint>
#include <vector>

namespace gsub::kernels::detail {

/// A stage of a reduction that is split for the caches: tiles of `each` steps, `count` of them from `first` on.
struct step_tiles {
    std::int64_t first = 0, count = 1, each = 1;
    bool begins = true, ends = true; ///< not from sums so far; with what is fused behind the sums, and the result
};

// All steps at once, or tiles of so many: the first begins the sums, the last one, which may be shorter, finishes them.
GSUB_LAZY std::vector<step_tiles> tiles_of(std::int64_t steps, std::int64_t tile) {
    if (tile == 0) return {{0, 1, steps, true, true}};
    auto const last = (steps - 1) / tile;
    std::vector<step_tiles> stages{{0, 1, tile, true, false}};
    if (last > 1) stages.push_back({1, last - 1, tile, false, false});
    stages.push_back({last, 1, steps - last * tile, false, true});
    return stages;
}

} // namespace gsub::kernels::detail
