#pragma once

#include <gsub/passes/eliminate/dead_code_elimination.hpp>

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> dead_code_elimination::operator()(any_graph& g, pass_context&) const {
    auto const before = g.size();
    g.erase_dead();
    pass_outcome outcome;
    outcome.matches = before - g.size();
    outcome.changed = outcome.matches > 0;
    return outcome;
}

} // namespace gsub::passes
