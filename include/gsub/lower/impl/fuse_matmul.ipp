// Products of matrices, and attention.
#pragma once

#include <gsub/kernels/attention.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace gsub::detail {

// An operand of a product, over the batches of the result and the two dimensions of its matrices.
GSUB_LAZY [[nodiscard]] kernel_operand over_batches(kernel_builder& b, value_id v, std::size_t rank, bool turned) {
    auto const dims = b.type(v).sizes();
    kernel_operand o{b.operand(v), {}, {}};
    o.access.resize(rank - dims.size(), -1);
    for (std::size_t d = 0; d < dims.size(); ++d)
        o.access.push_back(d + 2 < dims.size() && dims[d] == 1 ? std::int8_t{-1} : static_cast<std::int8_t>(d));
    if (turned) std::swap(o.access[rank - 2], o.access[rank - 1]);
    return o;
}

// A softmax of the rows of a product and a product with values that are there already are one kernel with it: the
// second product, or nothing.
struct attention_nodes {
    node_id softmax{}, product{};
};
GSUB_LAZY [[nodiscard]] std::optional<attention_nodes> find_attention(kernel_builder& b, value_id last) {
    auto const& g = b.graph();
    auto const softmax = b.only_reader(last);
    auto const fast = softmax && g.is<ops::fast_softmax>(*softmax);
    if (!fast && (!softmax || !g.is<ops::softmax>(*softmax))) return std::nullopt;
    auto const dims = g.type(last).sizes();
    auto const rank = dims.size();
    auto const axis = (fast ? g.attributes<ops::fast_softmax>(*softmax) : g.attributes<ops::softmax>(*softmax)).axis;
    if (axis != -1 && axis != static_cast<std::int64_t>(rank) - 1) return std::nullopt;
    value_id const weights{*softmax, 0};
    auto const second = b.only_reader(weights);
    if (!second || !g.is<ops::mat_mul>(*second) || g.operand(*second, 0) != weights) return std::nullopt;
    auto const v = g.operand(*second, 1);
    auto const &type = g.type(v), &out = g.type({*second, 0});
    if (type.element != dtype::f32 || out.element != dtype::f32 || type.rank() < 2 || b.constant_of(v) || !b.reach(v))
        return std::nullopt;
    auto const out_dims = out.sizes();
    if (out_dims.size() != rank || !std::equal(dims.begin(), dims.end() - 1, out_dims.begin())) return std::nullopt;
    if (out_dims.back() == 0) return std::nullopt;
    return attention_nodes{*softmax, *second};
}

// A product of matrices and a vector, the vector as a matrix of one row: of a vector on the right, the matrices turned.
GSUB_LAZY [[nodiscard]] bool fuse_vector_product(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), y = g.operand(n, 1);
    auto const on_right = g.type(y).rank() == 1;
    auto const vector = on_right ? y : x, matrix = on_right ? x : y;
    auto const &of = g.type(matrix), &out = g.type({n, 0});
    if (*out.elements() == 0 || *of.elements() == 0) return false;
    kernels::matmul_shape s;
    s.constant = false;
    s.m = 1, s.k = *g.type(vector).elements();
    auto const rank = std::max<std::size_t>(of.rank(), 2);
    auto const dims = of.sizes();
    s.batch.assign(dims.begin(), dims.end() - std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(dims.size())));
    s.n = of.rank() == 1 ? 1 : dims[rank - (on_right ? 2 : 1)];
    kernel_operand row{b.operand(vector), {}, {}};
    row.access.assign(rank, -1);
    row.access[rank - 1] = 0;
    kernel_operand columns{b.operand(matrix), {}, {}};
    if (of.rank() == 1) { // two vectors
        columns.access.assign(rank, -1);
        columns.access[0] = 0;
    } else {
        columns = over_batches(b, matrix, rank, on_right);
    }
    kernel_op op{.computes = std::move(s), .operands = {std::move(row), std::move(columns)}};
    op.results.push_back(b.result({n, 0}));
    b.add({&n, 1}, std::move(op));
    return true;
}

// What Gemm does behind its product.
struct product_sum {
    double alpha = 1;
    value_id added{};
    double beta = 1;
};
// A product, of operands that are there, the bias behind them: with the arithmetic that follows, or as the beginning of
// attention. The result of the node is `[batch, m, n]`.
GSUB_LAZY [[nodiscard]] bool add_product(kernel_builder& b, node_id n, kernels::matmul_shape s, kernel_op op,
                                         product_sum const& sum = {}) {
    auto const& g = b.graph();
    value_id const result{n, 0};
    auto const dims = g.type(result).sizes();
    auto const rank = dims.size();
    auto const takes = [&](value_id v) { return b.exists(v); };
    expression_writer w{g, b.context().scalars, dims, false, takes};
    if (!w.start_with_sum(result, sum.alpha, sum.added, sum.beta)) return false;
    grow(b, w, result, true);
    s.arrays = w.views();
    s.chain = w.chain();
    auto const last = w.nodes().empty() ? result : value_id{w.nodes().back(), 0};
    std::vector<node_id> taken{n};
    taken.insert(taken.end(), w.nodes().begin(), w.nodes().end());
    if (auto const attention = !s.constant && !s.bias ? find_attention(b, last) : std::nullopt) {
        auto const v = g.operand(attention->product, 1);
        kernels::attention_shape a;
        a.m = s.m, a.k = s.k, a.s = s.n, a.n = g.type({attention->product, 0}).dims[rank - 1].size();
        a.batch = std::move(s.batch), a.arrays = std::move(s.arrays), a.chain = std::move(s.chain);
        op.operands.push_back(over_batches(b, v, rank, false));
        op.computes = std::move(a);
        taken.push_back(attention->softmax);
        taken.push_back(attention->product);
    } else {
        op.computes = std::move(s);
    }
    for (auto v : w.arrays()) op.operands.push_back(broadcast_operand(b, v, dims));
    op.results.push_back(b.result({taken.back(), 0}));
    b.add(taken, std::move(op));
    return true;
}

GSUB_LAZY [[nodiscard]] bool fuse_product(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), y = g.operand(n, 1);
    auto const &left = g.type(x), &right = g.type(y), &out = g.type({n, 0});
    if (left.element != dtype::f32 || right.element != dtype::f32 || *out.elements() == 0 || *left.elements() == 0)
        return false;
    if (left.rank() == 1 || right.rank() == 1) return fuse_vector_product(b, n);
    auto const dims = out.sizes(), left_dims = left.sizes();
    auto const rank = dims.size();
    kernels::matmul_shape s;
    double alpha = 1, beta = 1;
    value_id added{};
    bool turned_left = false, turned_right = false;
    if (g.is<ops::gemm>(n)) {
        auto const& how = g.attributes<ops::gemm>(n);
        alpha = how.alpha, beta = how.beta;
        turned_left = how.transpose_a, turned_right = how.transpose_b;
        added = g.operand(n, 2);
    }
    s.m = dims[rank - 2], s.n = dims[rank - 1];
    s.k = *left.elements() / (product(std::span{left_dims}.first(left.rank() - 2)) * s.m);
    s.batch.assign(dims.begin(), dims.end() - 2);
    s.constant = right.rank() == 2 && b.constant_of(y);
    // A constant row is added by the kernel itself, and a factor is one of the weights: what is left is arithmetic.
    auto bias = s.constant ? b.constant_of(added) : std::nullopt;
    if (bias && (bias->elements() != s.n || bias->dims().back() != s.n)) bias.reset();
    s.bias = bias.has_value();

    kernel_op op{.operands = {over_batches(b, x, rank, turned_left)}};
    if (s.constant)
        op.operands.push_back({b.operand(y), {}, weight_packing{.transposed = turned_right, .alpha = alpha}});
    else
        op.operands.push_back(over_batches(b, y, rank, turned_right));
    if (bias) {
        std::vector<float> scaled(bias->data<float>().begin(), bias->data<float>().end());
        for (auto& v : scaled) v *= static_cast<float>(beta);
        std::int64_t const of[] = {s.n};
        op.operands.push_back(
            {b.constant(tensor::from(std::span<std::int64_t const>{of}, as_span(scaled)), {}), {}, {}});
    }
    product_sum const sum{s.constant ? 1 : alpha, bias ? value_id{} : added, beta};
    return add_product(b, n, std::move(s), std::move(op), sum);
}

} // namespace gsub::detail
