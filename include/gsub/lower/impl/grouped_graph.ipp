#pragma once

#include <gsub/lower/grouped_graph.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace gsub {

GSUB_LAZY_BODY result<grouped_graph> inline_groups(module const& m, std::string_view entry) {
    return capture([&] {
        // Says what is wrong with a module: unknown functions, recursion, signatures, size.
        auto flat = m.inlined(entry).value();
        auto const groups = std::any_of(m.functions().begin(), m.functions().end(),
                                        [](function const& f) { return f.attributes.primitive; });
        if (!groups) return grouped_graph{std::move(flat), {}};
        grouped_graph out{m.find(entry)->body, {}};
        auto& [g, within] = out;
        std::uint32_t last = 0;
        for (auto again = true; std::exchange(again, false);) {
            std::vector<node_id> const nodes{g.order().begin(), g.order().end()};
            for (auto n : nodes) {
                auto const* const callee = g.is<ops::call>(n) ? m.find(g.attributes<ops::call>(n).callee) : nullptr;
                auto const first = g.capacity();
                within.resize(first, 0);
                auto const of_caller = within[n.index];
                if (!inline_call(g, m, n)) continue;
                auto const primitive = of_caller == 0 && callee && callee->attributes.primitive;
                within.resize(g.capacity(), primitive ? ++last : of_caller);
                again = true;
            }
        }
        return out;
    });
}

} // namespace gsub
