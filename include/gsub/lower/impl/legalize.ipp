#pragma once

#include <gsub/lower/impl/half_carrier.hpp>
#include <gsub/lower/legalize.hpp>

namespace gsub {

GSUB_LAZY_BODY bool legalize(any_graph& g, std::span<lowering_row const> rows, std::vector<std::uint32_t>& within) {
    auto changed = false;
    for (std::uint32_t i = 0; i < g.capacity(); ++i) { // what stands for a node comes later
        node_id const n{i};
        if (!g.live(n) || n == g.return_node() || g.constant(n) || !g.used(n)) continue;
        auto const row = rows[g.row(n)].legalize;
        if (!row || !detail::is_plain(g, n)) continue;
        auto const first_new = static_cast<std::uint32_t>(g.capacity());
        auto const values = row(g, n);
        if (values.empty()) continue;
        GSUB_ASSERT(values.size() == g.result_count(n), "a value stands for each result");
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            GSUB_ASSERT(g.type({n, port}) == g.type(values[port]), "what stands for a value has its type");
            g.replace_uses({n, port}, values[port]);
        }
        for (auto k = first_new; k < g.capacity(); ++k) g.inherit_sources({k}, {&n, 1});
        if (!within.empty()) {
            within.resize(first_new);
            within.resize(g.capacity(), std::uint32_t{within[n.index]});
        }
        changed = true;
    }
    if (!changed) return false;
    auto const settle = [&] {
        GSUB_ASSERT(g.sort(), "what stands for a node reads what the node reads");
        g.erase_dead();
    };
    settle();
    if (detail::half_carrier{g, within}.run()) settle();
    return true;
}

} // namespace gsub
