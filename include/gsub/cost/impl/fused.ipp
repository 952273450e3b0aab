#pragma once

#include <gsub/cost/fused.hpp>

#include <algorithm>
#include <utility>

namespace gsub::cost {

namespace detail {

// The reader of a value, where there is just one and it is no output.
GSUB_INLINE node_id sole_reader(any_graph const& g, value_id v) {
    node_id reader;
    auto count = 0;
    g.for_each_use(v, [&](use u) {
        reader = u.user;
        return ++count < 2;
    });
    return count == 1 && reader != g.results_node() ? reader : node_id{};
}

} // namespace detail

GSUB_INLINE value_id fused_operand(any_graph const& g, node_id n, split_cost splits) {
    if (g.op(n).category != op_category::elementwise || g.result_count(n) != 1 || !is_kernel(g, n, splits)) return {};
    auto const& made = g.type({n, 0});
    value_id best;
    std::pair most{-1.0, -1.0};
    for (std::size_t i = 0; i < g.operand_count(n); ++i) {
        auto const v = g.operand(n, i);
        if (!v.valid() || !made.is_static() || !g.type(v).is_static() || g.result_count(v.node) != 1 ||
            !is_kernel(g, v.node, splits) || g.op(v.node).category == op_category::opaque ||
            !std::equal(made.dims.begin(), made.dims.end(), g.type(v).dims.begin(), g.type(v).dims.end()) ||
            detail::sole_reader(g, v) != n)
            continue;
        auto const work = std::pair{flop_count(g, v.node), bytes_moved(g, v.node)};
        if (work > most) best = v, most = work;
    }
    return best;
}

GSUB_INLINE node_id last_of_kernel(any_graph const& g, node_id n, split_cost splits) {
    for (;;) {
        if (g.result_count(n) != 1) return n;
        auto const reader = detail::sole_reader(g, {n, 0});
        if (!reader.valid() || !(fused_operand(g, reader, splits) == value_id{n, 0})) return n;
        n = reader;
    }
}

GSUB_INLINE fused_roofline::unit fused_roofline::operator()(any_graph const& g, node_id n) const {
    if (!is_kernel(g, n, machine.splits) || last_of_kernel(g, n, machine.splits) != n) return {0};
    double operations = 0, moved = 0;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port) moved += detail::size_bytes(g, {n, port});
    for (auto at = n;;) {
        operations += flop_count(g, at);
        auto const inner = fused_operand(g, at, machine.splits);
        auto const operands = g.operands(at);
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (auto const v = operands[i];
                v.valid() && !(v == inner) &&
                std::find(operands.begin(), operands.begin() + i, v) == operands.begin() + i)
                moved += detail::size_bytes(g, v);
        if (!inner.valid()) break;
        at = inner.node;
    }
    return {machine.launch + std::max(operations / machine.flop_per_second, moved / machine.bytes_per_second)};
}

} // namespace gsub::cost
