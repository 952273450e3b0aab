#pragma once

#include <gsub/passes/eliminate/eliminate_common_subexpr.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> eliminate_common_subexpr::operator()(any_graph& g, pass_context&) const {
    pass_outcome outcome;
    outcome.matches = share_equal_nodes(g, {.sources = false, .reordered_sums = false, .leave = skip});
    outcome.changed = outcome.matches > 0;
    if (outcome.changed) g.erase_dead();
    return outcome;
}

} // namespace gsub::passes
