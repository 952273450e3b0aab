// Lowering of einsum: contractions of two operands as matmuls.
#pragma once

#include <gsub/kernels/matmul.hpp>
#include <gsub/lower/impl/fuse_matmul.ipp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace gsub::detail {

// Labels of a contraction of two operands, by where they stand; a dimension of one element stands nowhere.
struct einsum_groups {
    using labels = einsum_terms::labels;
    labels batch{}, rows{}, columns{}, summed{}; // rows are of the first operand
    ints sizes{};                                // of all labels
    std::vector<labels> dims{};                  // of each operand, the dimension that a label has there; -1: none
    [[nodiscard]] std::int64_t product_of(labels const& all) const {
        std::int64_t out = 1;
        for (auto const l : all) out *= sizes[static_cast<std::size_t>(l)];
        return out;
    }
    [[nodiscard]] bool has(std::size_t operand, std::int32_t l) const {
        return dims[operand][static_cast<std::size_t>(l)] >= 0;
    }
};
// Nothing: no product of matrices.
GSUB_LAZY [[nodiscard]] std::optional<einsum_groups> read_groups(any_graph const& g, node_id n, bool swapped) {
    value_id const operands[] = {g.operand(n, swapped), g.operand(n, !swapped)};
    std::size_t const ranks[] = {g.type(g.operand(n, 0)).rank(), g.type(g.operand(n, 1)).rank()};
    auto const terms = read_einsum(g.attributes<ops::einsum>(n).equation, ranks);
    einsum_groups out;
    auto const count = static_cast<std::size_t>(terms.count);
    out.sizes.resize(count, 1);
    out.dims.resize(2, einsum_groups::labels(count, -1));
    for (std::size_t i = 0; i < 2; ++i) {
        auto const sizes = g.type(operands[i]).sizes();
        auto const& labels = terms.operands[swapped ? 1 - i : i];
        for (std::size_t d = 0; d < sizes.size(); ++d) {
            auto const l = static_cast<std::size_t>(labels[d]);
            if (sizes[d] == 1) continue;
            if (out.dims[i][l] >= 0) return std::nullopt; // a diagonal
            out.dims[i][l] = static_cast<std::int32_t>(d);
            out.sizes[l] = sizes[d];
        }
    }
    for (auto const l : terms.result)
        if (out.sizes[static_cast<std::size_t>(l)] != 1)
            (!out.has(0, l) ? out.columns : out.has(1, l) ? out.batch : out.rows).push_back(l);
    for (std::int32_t l = 0; l < terms.count; ++l) {
        if (out.sizes[static_cast<std::size_t>(l)] == 1) continue;
        if (std::find(terms.result.begin(), terms.result.end(), l) != terms.result.end()) continue;
        if (!out.has(0, l) || !out.has(1, l)) return std::nullopt; // a sum of one operand
        out.summed.push_back(l);
    }
    return out;
}

// A view of a value: its dimensions in an order, without those left out, which have one element.
GSUB_LAZY [[nodiscard]] kernel_op viewed_as(kernel_value_id x, einsum_groups::labels const& from, std::size_t rank) {
    view_shape v;
    for (auto const d : from) v.from.push_back(static_cast<std::int8_t>(d));
    v.start.resize(rank, 0), v.step.resize(from.size(), 1);
    return {.computes = std::move(v), .operands = {{x, {}, {}}}};
}

// Operand `i` over the batches and two dimensions of a matrix. Where one of these is several dimensions of the operand,
// they become one.
GSUB_LAZY [[nodiscard]] kernel_operand matrix_operand(kernel_builder& b, node_id n, value_id v, std::size_t i,
                                                      einsum_groups const& groups, einsum_groups::labels const& first,
                                                      einsum_groups::labels const& second) {
    auto const& dims = groups.dims[i];
    auto const dim_of = [&](std::int32_t l) { return dims[static_cast<std::size_t>(l)]; };
    kernel_operand o{b.operand(v), {}, {}};
    if (first.size() <= 1 && second.size() <= 1) {
        for (auto const l : groups.batch) o.access.push_back(static_cast<std::int8_t>(dim_of(l)));
        for (auto const* const some : {&first, &second})
            o.access.push_back(some->empty() ? std::int8_t{-1} : static_cast<std::int8_t>(dim_of(some->front())));
        return o;
    }
    einsum_groups::labels order;
    ints sizes, joined;
    auto const append = [&](einsum_groups::labels const& some) {
        for (auto const l : some)
            order.push_back(dim_of(l)), sizes.push_back(groups.sizes[static_cast<std::size_t>(l)]);
    };
    append(groups.batch);
    joined = sizes;
    append(first), append(second);
    joined.push_back(groups.product_of(first)), joined.push_back(groups.product_of(second));
    auto turned = viewed_as(o.value, order, b.type(v).rank());
    auto const in_order = b.unnamed(tensor_type{dtype::f32, sizes}),
               matrix = b.unnamed(tensor_type{dtype::f32, joined});
    turned.results = {in_order};
    b.add({&n, 1}, std::move(turned));
    b.add({&n, 1}, {.computes = view_shape{.reshape = true}, .operands = {{in_order, {}, {}}}, .results = {matrix}});
    o.value = matrix;
    for (std::size_t d = 0; d < joined.size(); ++d) o.access.push_back(static_cast<std::int8_t>(d));
    return o;
}
// A constant as one matrix `[k, n]`.
GSUB_LAZY [[nodiscard]] tensor constant_matrix(tensor const& t, einsum_groups const& groups) {
    ints strides(t.rank(), 1), sizes;
    for (auto d = t.rank(); d-- > 1;) strides[d - 1] = strides[d] * t.dims()[d];
    std::vector<std::int64_t> steps;
    for (auto const* const some : {&groups.summed, &groups.columns})
        for (auto const l : *some) {
            sizes.push_back(groups.sizes[static_cast<std::size_t>(l)]);
            steps.push_back(strides[static_cast<std::size_t>(groups.dims[1][static_cast<std::size_t>(l)])]);
        }
    std::int64_t const dims[] = {groups.product_of(groups.summed), groups.product_of(groups.columns)};
    auto out = tensor::uninitialized(dtype::f32, dims);
    box_index at{sizes};
    for (auto& y : out.mutable_data<float>()) {
        std::int64_t from = 0;
        for (std::size_t d = 0; d < steps.size(); ++d) from += at[d] * steps[d];
        y = t.data<float>()[static_cast<std::size_t>(from)];
        at.next();
    }
    return out;
}

// A contraction of two operands as a product of matrices: labels of both and of the result are batches, those of one
// and of the result its rows or columns, those of both alone are summed.
struct einsum_product {
    einsum_groups groups{};
    einsum_groups::labels of_result{}, order{}; ///< labels of the graph's result, and of the product's
    ints joined{};                              ///< dimensions of the product
    bool swapped = false;                       ///< the second operand gives the rows
    kernels::matmul_shape s{};
    [[nodiscard]] bool is_result() const { return std::ranges::equal(order, of_result); }
    /// Whether what the product computes is what the graph has.
    [[nodiscard]] bool is_direct(ints const& of_graph) const {
        return of_graph == joined && groups.rows.size() <= 1 && groups.columns.size() <= 1 && is_result();
    }
};
GSUB_LAZY [[nodiscard]] std::optional<einsum_product> read_einsum_product(any_graph const& g, node_id n) {
    auto const& out = g.type({n, 0});
    if (g.operand_count(n) != 2 || out.element != dtype::f32 || *out.elements() == 0) return std::nullopt;
    for (auto v : g.operands(n))
        if (*g.type(v).elements() == 0) return std::nullopt;
    auto groups = read_groups(g, n, false);
    if (!groups) return std::nullopt;
    einsum_product p;
    // Columns are what ends the result, if that may be: then a permutation of the rest is no copy.
    auto const terms =
        read_einsum(g.attributes<ops::einsum>(n).equation,
                    std::vector<std::size_t>{g.type(g.operand(n, 0)).rank(), g.type(g.operand(n, 1)).rank()});
    for (auto const l : terms.result) // of dimensions of more than one element
        if (groups->sizes[static_cast<std::size_t>(l)] != 1) p.of_result.push_back(l);
    p.swapped = !p.of_result.empty() && groups->has(0, p.of_result.back()) && !groups->has(1, p.of_result.back());
    if (p.swapped) groups = read_groups(g, n, true);
    p.groups = std::move(*groups);
    p.order = p.groups.batch;
    for (auto const* const some : {&p.groups.rows, &p.groups.columns})
        for (auto const l : *some) p.order.push_back(l);
    auto& s = p.s;
    s.m = p.groups.product_of(p.groups.rows), s.n = p.groups.product_of(p.groups.columns);
    s.k = p.groups.product_of(p.groups.summed);
    for (auto const l : p.groups.batch) s.batch.push_back(p.groups.sizes[static_cast<std::size_t>(l)]);
    s.constant = p.groups.batch.empty() && g.constant(g.operand(n, !p.swapped));
    p.joined = ints(s.batch.begin(), s.batch.end());
    p.joined.push_back(s.m), p.joined.push_back(s.n);
    return p;
}
GSUB_LAZY [[nodiscard]] kernel_group match_einsum(fusion_scope const& s, node_id n) {
    auto const p = read_einsum_product(s.graph(), n);
    if (!p) return {};
    if (!p->is_direct(s.type({n, 0}).sizes())) return {n};
    return group_of_product(s, n, p->s, {});
}

GSUB_LAZY [[nodiscard]] bool fuse_einsum(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    value_id const result{n, 0};
    auto const& out = g.type(result);
    auto p = read_einsum_product(g, n);
    if (!p) return false;
    auto const& [groups, of_result, order, joined, swapped, shape] = *p;
    auto s = shape;
    auto const x = g.operand(n, swapped), y = g.operand(n, !swapped);
    kernel_op op{.operands = {matrix_operand(b, n, x, 0, groups, groups.rows, groups.summed)}};
    if (s.constant) {
        auto const weights = *b.constant_of(y);
        auto const matrix = groups.summed.size() == 1 && groups.columns.size() == 1 && weights.rank() == 2;
        auto const value = matrix ? b.operand(y) : b.constant(constant_matrix(weights, groups), {});
        auto const turned = matrix && groups.has(1, groups.columns[0]) &&
                            groups.dims[1][static_cast<std::size_t>(groups.columns[0])] == 0;
        op.operands.push_back({value, {}, weight_packing{.transposed = turned}});
    } else {
        op.operands.push_back(matrix_operand(b, n, y, 1, groups, groups.summed, groups.columns));
    }
    if (p->is_direct(out.sizes())) return add_product(b, n, std::move(s), std::move(op));
    // The product as it is computed, and what the graph means by it, views.
    ints apart(s.batch.begin(), s.batch.end());
    for (auto const* const some : {&groups.rows, &groups.columns})
        for (auto const l : *some) apart.push_back(groups.sizes[static_cast<std::size_t>(l)]);
    auto value = b.unnamed(tensor_type{dtype::f32, joined});
    op.computes = std::move(s);
    op.results = {value};
    b.add({&n, 1}, std::move(op));
    auto const reshaped = [&](kernel_value_id to) {
        b.add({&n, 1}, {.computes = view_shape{.reshape = true}, .operands = {{value, {}, {}}}, .results = {to}});
        value = to;
    };
    if (apart != joined && !p->is_result()) reshaped(b.unnamed(tensor_type{dtype::f32, apart}));
    if (!p->is_result()) {
        einsum_groups::labels from;
        ints sizes;
        for (auto const l : of_result) {
            from.push_back(static_cast<std::int32_t>(std::find(order.begin(), order.end(), l) - order.begin()));
            sizes.push_back(groups.sizes[static_cast<std::size_t>(l)]);
        }
        auto turned = viewed_as(value, from, apart.size());
        auto const last = out.sizes() == sizes;
        value = last ? b.result(result) : b.unnamed(tensor_type{dtype::f32, sizes});
        turned.results = {value};
        b.add({&n, 1}, std::move(turned));
        if (last) return true;
    }
    reshaped(b.result(result));
    return true;
}

} // namespace gsub::detail
