#pragma once

#include <gsub/driver/default_pipeline.hpp>
#include <gsub/ir/ops/ops.hpp>

namespace gsub {

GSUB_LAZY_BODY bool default_pipeline_pays(any_graph const& g) {
    auto windows = false, moved = false;
    for (auto n : g.order()) {
        if (g.is<ops::identity>(n) && !g.constant(n)) return true;
        windows = windows || g.is<ops::conv>(n) || g.is<ops::max_pool>(n) || g.is<ops::average_pool>(n) ||
                  g.is<ops::global_average_pool>(n);
        moved = moved || ((g.is<ops::transpose>(n) || g.is<ops::pad>(n)) && !g.constant(n));
    }
    return windows && moved;
}

} // namespace gsub
