#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_tables.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gsub::passes::gradients {

GSUB_LAZY value_id transposed_matrices(graph_builder& b, value_id x) {
    auto const rank = static_cast<std::int64_t>(b.graph().type(x).rank());
    ints perm;
    for (std::int64_t i = 0; i + 2 < rank; ++i) perm.push_back(i);
    perm.push_back(rank - 1), perm.push_back(rank - 2);
    return permuted(b, x, perm);
}
GSUB_LAZY void gradient_of_mat_mul(gradient_site& at) {
    auto& b = at.builder();
    auto const one = at.operand(0), other = at.operand(1);
    if (!at.type(one).ranked || !at.type(other).ranked) at.refuse("unknown rank");
    auto const row = at.type(one).rank() == 1, column = at.type(other).rank() == 1;
    // A vector is a matrix of one row or column.
    auto const left = row ? b.add<ops::unsqueeze>({.axes = {0}}, {one}) : one;
    auto const right = column ? b.add<ops::unsqueeze>({.axes = {1}}, {other}) : other;
    auto seed = at.seed();
    if (column) seed = b.add<ops::unsqueeze>({.axes = {-1}}, {seed});
    if (row) seed = b.add<ops::unsqueeze>({.axes = {-2}}, {seed});
    if (at.wanted(0)) {
        auto const d = fitted(at, b.add<ops::mat_mul>(seed, transposed_matrices(b, right)), left);
        at.give(0, row ? b.add<ops::squeeze>({.axes = {0}}, {d}) : d);
    }
    if (!at.wanted(1)) return;
    auto l = left, s = seed;
    if (at.type(right).rank() == 2 && at.type(l).rank() > 2 && at.type(l).is_static()) { // one product, no sum behind
        auto const rows = [&](value_id v) {
            auto const sizes = at.type(v).sizes();
            return shaped(b, v, {product(sizes) / std::max<std::int64_t>(sizes.back(), 1), sizes.back()});
        };
        l = rows(l), s = rows(s);
    }
    auto const d = fitted(at, b.add<ops::mat_mul>(transposed_matrices(b, l), s), right);
    at.give(1, column ? b.add<ops::squeeze>({.axes = {1}}, {d}) : d);
}
GSUB_LAZY void gradient_of_gemm(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::gemm>();
    auto const s = at.seed(), one = at.operand(0), other = at.operand(1);
    auto const times = [&](value_id x, value_id y, bool turn_x, bool turn_y) {
        return b.add<ops::gemm>({.alpha = a.alpha, .transpose_a = turn_x, .transpose_b = turn_y}, {x, y});
    };
    if (at.wanted(0))
        at.give(0, a.transpose_a ? times(other, s, a.transpose_b, true) : times(s, other, false, !a.transpose_b));
    if (at.wanted(1))
        at.give(1, a.transpose_b ? times(s, one, true, a.transpose_a) : times(one, s, !a.transpose_a, false));
    if (at.wanted(2)) at.give(2, scaled(at, s, a.beta));
}

GSUB_LAZY_BODY std::vector<gradient_rule> product_gradients() {
    return {
        {id_of<ops::mat_mul>, &gradient_of_mat_mul},
        {id_of<ops::gemm>, &gradient_of_gemm},
    };
}

} // namespace gsub::passes::gradients
