#pragma once

#include <gsub/core/small_vector.hpp>
#include <gsub/cost/analytic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace gsub::cost {

namespace detail {

// Elements of a value, 0 where its size is not known.
GSUB_INLINE double elements(any_graph const& g, value_id v) {
    auto const count = g.type(v).elements();
    return count ? static_cast<double>(*count) : 0;
}
GSUB_INLINE double size_bytes(any_graph const& g, value_id v) {
    return elements(g, v) * static_cast<double>(byte_size(g.type(v).element));
}

// A split is a view too, depending on the machine.
GSUB_INLINE bool is_view(any_graph const& g, node_id n, split_lowering splits) {
    return g.op(n).aliasing_view || (g.is<ops::split>(n) && splits == split_lowering::view);
}

} // namespace detail

GSUB_INLINE bool is_executed(any_graph const& g, node_id n, split_lowering splits) {
    if (g.constant(n) || (g.op(n).category == op_category::structural && !g.is<ops::call>(n))) return false;
    return !detail::is_view(g, n, splits);
}

namespace detail {

GSUB_INLINE double flops_of_conv(any_graph const& g, node_id n) {
    auto const& w = g.type(g.operand(n, 1));
    if (!w.is_static() || w.dims[0] == dim{0}) return 0;
    auto const taps = elements(g, g.operand(n, 1)) / static_cast<double>(w.dims[0].size());
    return elements(g, {n, 0}) * (2 * taps + (g.attributes<ops::conv>(n).act != activation::none ? 1 : 0));
}

GSUB_INLINE double flops_of_product(any_graph const& g, node_id n) {
    auto const& a = g.type(g.operand(n, 0));
    auto const rank = a.ranked ? a.rank() : 0;
    if (rank == 0) return 0;
    auto const inner = a.dims[g.is<ops::gemm>(n) && g.attributes<ops::gemm>(n).transpose_a ? 0 : rank - 1];
    return inner.fixed() ? 2 * elements(g, {n, 0}) * static_cast<double>(inner.size()) : 0;
}

// A multiplication or addition an operand, for each position of the labels.
GSUB_INLINE double flops_of_einsum(any_graph const& g, node_id n) {
    std::vector<std::size_t> ranks;
    for (auto v : g.operands(n)) ranks.push_back(g.type(v).rank());
    auto const terms = read_einsum(g.attributes<ops::einsum>(n).equation, ranks);
    if (!terms.wrong.empty()) return 0; // of an unknown rank
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(terms.count), 1);
    for (std::size_t i = 0; i < ranks.size(); ++i)
        for (std::size_t d = 0; d < ranks[i]; ++d) {
            auto const size = g.type(g.operand(n, i)).dims[d];
            if (!size.fixed()) return 0;
            if (size != dim{1}) sizes[static_cast<std::size_t>(terms.operands[i][d])] = size.size();
        }
    auto total = static_cast<double>(ranks.size());
    for (auto const s : sizes) total *= static_cast<double>(s);
    return total;
}

template <class Pool>
double flops_of_pool(any_graph const& g, node_id n) {
    auto total = elements(g, {n, 0});
    for (auto const size : g.attributes<Pool>(n).kernel_shape) total *= static_cast<double>(size); // of a file: any
    return total;
}

GSUB_INLINE double flops_by_category(any_graph const& g, node_id n) {
    auto const outputs = elements(g, {n, 0});
    switch (g.op(n).category) {
    case op_category::elementwise:
        return outputs * static_cast<double>(std::max<std::size_t>(g.operand_count(n), 2) - 1);
    case op_category::reduction:
        return outputs;
    default:
        return 0;
    }
}

// Operators whose work their category does not tell.
struct flop_row {
    op_id op;
    double (*count)(any_graph const&, node_id);
};
inline constexpr flop_row flop_rows[] = {
    {id_of<ops::conv>, &flops_of_conv},
    {id_of<ops::mat_mul>, &flops_of_product},
    {id_of<ops::gemm>, &flops_of_product},
    {id_of<ops::einsum>, &flops_of_einsum},
    {id_of<ops::batch_norm>,
     [](any_graph const& g, node_id n) {
         return 2 * elements(g, {n, 0});
     }},
    {id_of<ops::max_pool>, &flops_of_pool<ops::max_pool>},
    {id_of<ops::average_pool>, &flops_of_pool<ops::average_pool>},
    {id_of<ops::global_average_pool>, [](any_graph const& g, node_id n) { return elements(g, g.operand(n, 0)); }},
};

} // namespace detail

GSUB_INLINE double flop_count(any_graph const& g, node_id n) {
    if (g.result_count(n) == 0) return 0;
    for (auto const& row : detail::flop_rows)
        if (row.op == g.op(n).id) return row.count(g, n);
    return detail::flops_by_category(g, n);
}

namespace detail {
// The values that a node reads, each once, in the order in which it first does.
GSUB_INLINE small_vector<value_id, 6> different_operands(any_graph const& g, node_id n) {
    constexpr std::size_t few = 16; // of which a look at those before takes least
    small_vector<value_id, 6> out;
    std::unordered_set<std::uint64_t> known;
    auto const count = g.operand_count(n);
    for (std::size_t i = 0; i < count; ++i) {
        auto const v = g.operand(n, i);
        if (!v.valid()) continue;
        auto const fresh = count <= few ? std::find(out.begin(), out.end(), v) == out.end()
                                        : known.insert(std::uint64_t{v.node.index} << 32 | v.port).second;
        if (fresh) out.push_back(v);
    }
    return out;
}
} // namespace detail

GSUB_INLINE double bytes_moved(any_graph const& g, node_id n) {
    double total = 0;
    for (auto v : detail::different_operands(g, n)) total += detail::size_bytes(g, v);
    for (std::uint32_t port = 0; port < g.result_count(n); ++port) total += detail::size_bytes(g, {n, port});
    return total;
}

GSUB_INLINE peak_memory::unit peak_memory::operator()(any_graph const& g) const {
    // One record a value. A view lives in its operand's memory, which therefore lives as long as any view of it.
    struct memory {
        std::uint32_t home, readers;
        double size;
    };
    std::vector<memory> values;
    std::vector<std::uint32_t> first(g.capacity()); // record of each node's result 0
    auto const record = [&](value_id v) { return first[v.node.index] + v.port; };
    auto const home = [&](value_id v) -> memory& { return values[values[record(v)].home]; };
    for (auto n : g.order()) {
        first[n.index] = static_cast<std::uint32_t>(values.size());
        auto const view = detail::is_view(g, n, split_lowering::view) && g.operand_count(n) > 0;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            auto const own = static_cast<std::uint32_t>(values.size());
            values.push_back({view ? values[record(g.operand(n, 0))].home : own, 0,
                              view || g.constant(n) ? 0 : detail::size_bytes(g, {n, port})});
        }
        for (auto v : g.operands(n))
            if (v.valid()) ++home(v).readers;
    }
    double alive = 0, peak = 0;
    for (auto n : g.inputs()) alive += values[record({n, 0})].size;
    for (auto n : g.order()) {
        for (std::uint32_t port = 0; port < g.result_count(n) && !g.is<ops::input>(n); ++port)
            alive += values[record({n, port})].size;
        peak = std::max(peak, alive);
        for (auto v : g.operands(n))
            if (v.valid() && --home(v).readers == 0) alive -= home(v).size;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (auto const& own = values[record({n, port})]; own.home == record({n, port}) && own.readers == 0)
                alive -= own.size; // nobody reads it
    }
    return {peak};
}

} // namespace gsub::cost
