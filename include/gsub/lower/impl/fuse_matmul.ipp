// Lowering of matmuls and attention.
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
GSUB_LAZY [[nodiscard]] std::optional<attention_nodes> find_attention(fusion_scope const& s, value_id last) {
    auto const& g = s.graph();
    auto const softmax = s.only_reader(last);
    auto const fast = softmax && g.is<ops::fast_softmax>(*softmax);
    if (!fast && (!softmax || !g.is<ops::softmax>(*softmax))) return std::nullopt;
    auto const dims = g.type(last).sizes();
    auto const rank = dims.size();
    auto const axis = (fast ? g.attributes<ops::fast_softmax>(*softmax) : g.attributes<ops::softmax>(*softmax)).axis;
    if (axis != -1 && axis != static_cast<std::int64_t>(rank) - 1) return std::nullopt;
    value_id const weights{*softmax, 0};
    auto const second = s.only_reader(weights);
    if (!second || !g.is<ops::mat_mul>(*second) || g.operand(*second, 0) != weights) return std::nullopt;
    auto const v = g.operand(*second, 1);
    auto const &type = g.type(v), &out = g.type({*second, 0});
    if (type.element != dtype::f32 || out.element != dtype::f32 || type.rank() < 2 || g.constant(v) || !s.is_there(v))
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
// A product of matrices of f32, as far as types and attributes tell.
struct product_match {
    kernels::matmul_shape s{};
    bool turned_left = false, turned_right = false;
    double factor = 1, bias_factor = 1; ///< of constant weights; of the bias
    value_id bias{};                    ///< a constant row that the kernel adds
    product_sum sum{};                  ///< behind it
};
// Of a node of operands that are matrices; nothing where there is no kernel.
GSUB_LAZY [[nodiscard]] std::optional<product_match> read_product(any_graph const& g, node_id n) {
    auto const x = g.operand(n, 0), y = g.operand(n, 1);
    auto const &left = g.type(x), &right = g.type(y), &out = g.type({n, 0});
    if (left.element != dtype::f32 || right.element != dtype::f32 || left.rank() < 2 || right.rank() < 2 ||
        *out.elements() == 0 || *left.elements() == 0)
        return std::nullopt;
    auto const dims = out.sizes(), left_dims = left.sizes();
    auto const rank = dims.size();
    product_match p;
    auto& s = p.s;
    s.m = dims[rank - 2], s.n = dims[rank - 1];
    s.k = *left.elements() / (product(std::span{left_dims}.first(left.rank() - 2)) * s.m);
    s.batch.assign(dims.begin(), dims.end() - 2);
    s.constant = right.rank() == 2 && g.constant(y);
    if (!g.is<ops::gemm>(n)) return p;
    auto const& how = g.attributes<ops::gemm>(n);
    p.turned_left = how.transpose_a, p.turned_right = how.transpose_b;
    // A constant row is added by the kernel itself, and a factor is one of the weights: what is left is arithmetic.
    auto const added = g.operand(n, 2);
    s.bias = s.constant && added.valid() && g.constant(added) && g.type(added).elements() == s.n &&
             g.type(added).sizes().back() == s.n;
    (s.constant ? p.factor : p.sum.alpha) = how.alpha;
    if (s.bias)
        p.bias = added, p.bias_factor = how.beta;
    else
        p.sum.added = added, p.sum.beta = how.beta;
    return p;
}
// Shows what a product takes over, the arithmetic behind it or the beginning of attention; false where it cannot be
// followed by what it begins with. The result of the node is `[batch, m, n]`.
GSUB_LAZY [[nodiscard]] bool
find_behind_product(fusion_scope const& s, node_id n, kernels::matmul_shape const& shape, product_sum const& sum,
                    function_ref<void(expression_writer<> const&, std::optional<attention_nodes>)> show) {
    auto const& g = s.graph();
    value_id const result{n, 0};
    auto const takes = [&](value_id v) { return s.is_there(v); };
    expression_writer w{g, s.rules().scalars, g.type(result).sizes(), false, takes};
    if (!w.start_with_sum(result, sum.alpha, sum.added, sum.beta)) return false;
    grow(s, w, result, true);
    auto const last = w.nodes().empty() ? result : value_id{w.nodes().back(), 0};
    show(w, !shape.constant && !shape.bias ? find_attention(s, last) : std::nullopt);
    return true;
}
GSUB_LAZY [[nodiscard]] kernel_group group_of_product(fusion_scope const& s, node_id n,
                                                      kernels::matmul_shape const& shape, product_sum const& sum) {
    kernel_group nodes;
    auto const show = [&](expression_writer<> const& w, std::optional<attention_nodes> attention) {
        nodes.push_back(n);
        nodes.insert(nodes.end(), w.nodes().begin(), w.nodes().end());
        if (attention) nodes.push_back(attention->softmax), nodes.push_back(attention->product);
    };
    static_cast<void>(find_behind_product(s, n, shape, sum, show));
    return nodes;
}
GSUB_LAZY [[nodiscard]] kernel_group match_product(fusion_scope const& s, node_id n) {
    auto const p = read_product(s.graph(), n);
    return p ? group_of_product(s, n, p->s, p->sum) : kernel_group{};
}

// A product, of operands that are there, the bias behind them, with all that it takes over.
GSUB_LAZY [[nodiscard]] bool add_product(kernel_builder& b, node_id n, kernels::matmul_shape s, kernel_op op,
                                         product_sum const& sum = {}) {
    auto const& g = b.graph();
    auto const dims = g.type({n, 0}).sizes();
    auto const add = [&](expression_writer<> const& w, std::optional<attention_nodes> attention) {
        s.arrays = w.views();
        s.epilogue = w.epilogue();
        std::vector<node_id> taken{n};
        taken.insert(taken.end(), w.nodes().begin(), w.nodes().end());
        if (attention) {
            auto const v = g.operand(attention->product, 1);
            kernels::attention_shape a;
            a.m = s.m, a.k = s.k, a.s = s.n, a.n = g.type({attention->product, 0}).dims[dims.size() - 1].size();
            if (g.is<ops::fast_softmax>(attention->softmax)) a.exponential = loop::scalar_op::fast_exponential;
            a.batch = std::move(s.batch), a.arrays = std::move(s.arrays), a.epilogue = std::move(s.epilogue);
            op.operands.push_back(over_batches(b, v, dims.size(), false));
            op.computes = std::move(a);
            taken.push_back(attention->softmax);
            taken.push_back(attention->product);
        } else {
            op.computes = std::move(s);
        }
        for (auto v : w.arrays()) op.operands.push_back(broadcast_operand(b, v, dims));
        op.results.push_back(b.result({taken.back(), 0}));
        b.add(taken, std::move(op));
    };
    auto const shape = s;
    return find_behind_product(b, n, shape, sum, add);
}

// A product of matrices of any type that kernels compute in: sums along rows.
GSUB_LAZY [[nodiscard]] bool fuse_plain_product(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), y = g.operand(n, 1);
    auto const &left = g.type(x), &out = g.type({n, 0});
    auto const type = left.element;
    if (!g.is<ops::mat_mul>(n) || left.rank() < 2 || g.type(y).rank() < 2 || loop::computed_in(type) != type ||
        !computes(loop::scalar_op::add, type) || !computes(loop::scalar_op::multiply, type) || *out.elements() == 0 ||
        *left.elements() == 0)
        return false;
    // Over the result's dimensions and the one that is summed, last.
    auto const dims = out.sizes();
    auto const rank = dims.size();
    kernels::row_reduction_shape p;
    p.dims.assign(dims.begin(), dims.end());
    p.dims.push_back(left.dims[left.rank() - 1].size());
    auto a = over_batches(b, x, rank, false), c = over_batches(b, y, rank, true);
    a.access.insert(rank - 1, -1); // the columns
    c.access.insert(rank - 2, -1); // the rows
    for (auto v : {x, y}) {
        auto view = kernels::array_view{*g.type(v).elements(), 0, {}};
        view.strides.resize(p.dims.size(), 0);
        view.element = type;
        p.arrays.push_back(std::move(view));
    }
    scalar_builder e{p.ops, 2};
    auto const sum = e.reduce(kernels::reduction_step::sum, e.value(0, type) * e.value(1, type));
    p.results.push_back({*e.number_of(sum), false, {}});
    kernel_op op{.operands = {std::move(a), std::move(c)}, .results = {b.result({n, 0})}};
    op.frame.append(std::span<std::int64_t const>{p.dims.data(), p.dims.size()});
    op.computes = std::move(p);
    b.add({&n, 1}, std::move(op));
    return true;
}

GSUB_LAZY [[nodiscard]] bool fuse_product(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), y = g.operand(n, 1);
    if (g.type(x).element != dtype::f32) return fuse_plain_product(b, n);
    if (g.type(x).element == dtype::f32 && g.type(y).element == dtype::f32 &&
        (g.type(x).rank() == 1 || g.type(y).rank() == 1))
        return fuse_vector_product(b, n);
    auto p = read_product(g, n);
    if (!p) return false;
    auto const rank = g.type({n, 0}).rank();
    kernel_op op{.operands = {over_batches(b, x, rank, p->turned_left)}};
    if (p->s.constant)
        op.operands.push_back({b.operand(y), {}, weight_packing{.transposed = p->turned_right, .alpha = p->factor}});
    else
        op.operands.push_back(over_batches(b, y, rank, p->turned_right));
    if (p->s.bias) {
        auto const bias = *b.constant_of(p->bias);
        std::vector<float> scaled(bias.data<float>().begin(), bias.data<float>().end());
        for (auto& v : scaled) v *= static_cast<float>(p->bias_factor);
        std::int64_t const of[] = {p->s.n};
        op.operands.push_back(
            {b.constant(tensor::from(std::span<std::int64_t const>{of}, as_span(scaled)), {}), {}, {}});
    }
    return add_product(b, n, std::move(p->s), std::move(op), p->sum);
}

} // namespace gsub::detail
