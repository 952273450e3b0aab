#pragma once

#include <gsub/passes/normal_form/to_graph_normal_form.hpp>
#include <gsub/passes/partition/impl/outline.ipp>

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> to_graph_normal_form::operator()(any_graph& g, pass_context&) const {
    pass_outcome outcome;
    std::vector<bool> dead(g.capacity(), false); // bindings that nothing needs, and what they alone need
    std::vector<bool> bindings(g.capacity(), false);
    auto const order = g.order();
    for (auto at = order.size(); at-- > 0;) {
        auto const n = order[at];
        if (n == g.return_node() || g.is<ops::input>(n)) continue;
        bool read = false, by_dead = false;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            g.for_each_use({n, port}, [&](use u) { (dead[u.user.index] ? by_dead : read) = true; });
        bindings[n.index] = g.is<ops::let>(n);
        outcome.matches += bindings[n.index];
        dead[n.index] = !read && (by_dead || bindings[n.index]);
    }
    if (outcome.matches == 0) return outcome;
    outcome.changed = true;
    g = detail::rebuilt(g, [&](any_graph& out, node_id n, auto const& operands, auto& map) {
        if (dead[n.index]) return;
        if (!bindings[n.index]) {
            map.set(g, n, clone_node(out, g, n, operands));
            return;
        }
        map.set({n, 0}, operands[0]);
        if (auto const given = g.name({n, 0}); !given.empty() && out.name(operands[0]).empty())
            out.set_name(operands[0], given);
    });
    return outcome;
}

} // namespace gsub::passes
