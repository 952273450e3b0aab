#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/canonicalize/canonicalize_cast.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gsub::passes {

GSUB_LAZY_BODY result<pass_outcome> canonicalize_cast::operator()(any_graph& g, pass_context&) const {
    pass_outcome outcome;
    node_id const roots[] = {g.return_node()};
    auto const needed = upstream(g, roots);
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order) {
        if (!g.is<ops::cast>(n) || g.constant(n) || !needed[n.index]) continue;
        auto const from = g.type(g.operand(n, 0)).element, to = g.attributes<ops::cast>(n).to;
        if (from == dtype::undefined || byte_size(to) <= byte_size(from)) continue;
        std::vector<use> readers;
        bool others = false;
        g.for_each_use({n, 0}, [&](use u) {
            if (!needed[u.user.index]) return;
            auto const elementwise = g.op(u.user).category == op_category::elementwise && !g.op(u.user).aliasing_view;
            elementwise ? readers.push_back(u) : void(others = true);
        });
        if (readers.size() < 2) continue;
        ++outcome.matches;
        std::sort(readers.begin(), readers.end(), [&](use a, use b) {
            return std::pair{g.place(a.user), a.operand} < std::pair{g.place(b.user), b.operand};
        });
        for (std::size_t i = others ? 0 : 1; i < readers.size(); ++i) {
            auto const copy = g.emit(g.row(n), g.attributes(n), g.operands(n));
            g.inherit_sources(copy.node, {&n, 1});
            g.set_operand(readers[i].user, readers[i].operand, copy);
        }
    }
    outcome.changed = outcome.matches > 0;
    if (outcome.changed) GSUB_ASSERT(g.sort(), "copies of a node cannot close a cycle");
    return outcome;
}

} // namespace gsub::passes
