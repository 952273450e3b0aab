#pragma once

#include <gsub/core/config.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes::detail {

GSUB_LAZY_BODY std::vector<std::string> functions_seen(pass_info const& by, module const& m, pass_outcome& outcome) {
    std::vector<std::string> names;
    for (auto const& f : m.functions())
        if (opaque_to(by, f))
            outcome.skip("opaque function");
        else
            names.push_back(f.name);
    return names;
}

GSUB_LAZY_BODY void finish_replacements(any_graph& g, pass_outcome& outcome, char const* why) {
    outcome.changed = outcome.matches > 0;
    if (!outcome.changed) return;
    GSUB_ASSERT(g.sort(), why);
    g.erase_dead();
}

GSUB_LAZY_BODY void erase_and_finish(any_graph& g, pass_outcome& outcome, char const* why) {
    outcome.changed = outcome.matches > 0;
    if (!outcome.changed) return;
    g.erase_dead();
    GSUB_ASSERT(g.sort(), why);
}

} // namespace gsub::passes::detail
