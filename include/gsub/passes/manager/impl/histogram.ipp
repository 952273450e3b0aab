#pragma once

#include <gsub/passes/manager/histogram.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE std::size_t op_histogram::count(op_id op) const noexcept {
    auto const found =
        std::lower_bound(entries.begin(), entries.end(), op, [](entry const& e, op_id id) { return e.op < id; });
    return found != entries.end() && found->op == op ? found->count : 0;
}

namespace detail {

GSUB_LAZY void count_nodes(op_histogram& into, any_graph const& g, std::vector<std::uint32_t>& rows) {
    rows.resize(std::max(rows.size(), g.operators().ops.size()));
    for (auto n : g.order()) {
        ++rows[g.row(n)];
        ++into.nodes;
        if (g.constant(n) && !g.is<ops::constant>(n) && n != g.return_node()) ++into.weights;
        if (n == g.return_node() || g.used(n)) continue;
        ++(g.is<ops::input>(n) ? into.unread_inputs : into.unread);
    }
}

GSUB_LAZY void name_rows(op_histogram& into, dialect const& d, std::span<std::uint32_t const> rows) {
    for (std::size_t row = 0; row < rows.size(); ++row)
        if (rows[row] > 0) into.entries.push_back({d.ops[row].id, rows[row]});
    std::sort(into.entries.begin(), into.entries.end(), [](auto const& a, auto const& b) { return a.op < b.op; });
}

} // namespace detail

GSUB_LAZY_BODY op_histogram histogram_of(any_graph const& g) {
    op_histogram h;
    h.functions = 1;
    std::vector<std::uint32_t> rows;
    detail::count_nodes(h, g, rows);
    detail::name_rows(h, g.operators(), rows);
    return h;
}

// Functions of one module are over one set of operators.
GSUB_LAZY_BODY op_histogram histogram_of(module const& m, pass_info const& seen_by) {
    op_histogram h;
    h.functions = m.functions().size();
    std::vector<std::uint32_t> rows;
    for (auto const& f : m.functions())
        if (!opaque_to(seen_by, f)) detail::count_nodes(h, f.body, rows);
    if (h.functions > 0) detail::name_rows(h, m.functions().front().body.operators(), rows);
    return h;
}

} // namespace gsub
