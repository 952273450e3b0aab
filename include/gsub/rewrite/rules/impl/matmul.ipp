#pragma once

#include <gsub/rewrite/engine/impl/rewrite.ipp>
#include <gsub/rewrite/rules/matmul.hpp>

namespace gsub::rules::matrix::detail {

GSUB_INLINE bool swaps_last_two(ints const& perm) noexcept {
    auto const rank = perm.size();
    if (rank < 2) return false;
    for (std::size_t i = 0; i + 2 < rank; ++i)
        if (perm[i] != static_cast<std::int64_t>(i)) return false;
    return perm[rank - 2] == static_cast<std::int64_t>(rank - 1);
}

GSUB_INLINE bool is_row_bias(match const& m, value_id bias, node_id product) {
    if (!bias.valid()) return true;
    auto const &t = m.type(bias), &y = m.type_of_label(product);
    return t.ranked && t.rank() == 1 && y.ranked && y.rank() == 2 && provably_equal(t.dims[0], y.dims[1]);
}

GSUB_INLINE bool is_along(match const& m, value_id factor, node_id product, std::size_t from_last) {
    auto const &k_type = m.type(factor), &y = m.type_of_label(product);
    if (!k_type.is_static() || !y.ranked || k_type.rank() > y.rank()) return false;
    for (std::size_t i = 0; i < k_type.rank(); ++i) {
        auto const at = k_type.rank() - 1 - i; // counted from the last
        if (!(k_type.dims[i] == dim{1}) &&
            !(at == from_last && provably_equal(k_type.dims[i], y.dims[y.rank() - 1 - at])))
            return false;
    }
    return true;
}

// Sizes of the last dimension of some values.
GSUB_INLINE ints last_sizes(rewrite& r, std::initializer_list<value_id> values) {
    ints out;
    for (auto v : values) out.push_back(r.sizes(v).back());
    return out;
}

// The parts of a product along its columns become the roots.
GSUB_INLINE void split_columns(rewrite& r, value_id product, ints const& columns) {
    if (r.failed()) return;
    auto const axis = static_cast<std::int64_t>(r.type(product).rank()) - 1;
    auto const parts = r.add<ops::split>({.axis = axis, .sizes = columns}, {product}, columns.size());
    for (std::uint32_t i = 0; i < columns.size(); ++i) r.replace_root(i, rewrite::port(parts, i));
}

GSUB_INLINE void merge_matmul_siblings(rewrite& r) {
    auto const left = r[a], right = r[b];
    auto const both = r.add<ops::concat>({.axis = -1}, {left, right});
    split_columns(r, r.add<ops::mat_mul>(r[x], both), last_sizes(r, {left, right}));
}

GSUB_INLINE void merge_three_matmuls(rewrite& r) {
    auto const first = r[a], second = r[b], third = r[e];
    auto const all = r.add<ops::concat>({.axis = -1}, {first, second, third});
    split_columns(r, r.add<ops::mat_mul>(r[x], all), last_sizes(r, {first, second, third}));
}

GSUB_INLINE void merge_gemm_siblings(rewrite& r) {
    auto const& attributes = r.attributes<ops::gemm>(c);
    auto const left = r[a], right = r[b];
    auto const columns_of = [&](value_id v) { return r.sizes(v)[attributes.transpose_b ? 0 : 1]; };
    ints const columns{columns_of(left), columns_of(right)};
    auto const both = r.add<ops::concat>({.axis = attributes.transpose_b ? 0 : 1}, {left, right});
    value_id bias;
    if (r[p].valid() || r[q].valid()) {
        auto const element = r.type(left).element;
        bias = r.add<ops::concat>(
            {.axis = 0}, {r.bias_or_zeros(r[p], element, columns[0]), r.bias_or_zeros(r[q], element, columns[1])});
    }
    split_columns(r, r.add<ops::gemm>(attributes, {r[x], both, bias}), columns);
}

// [x y] [a; b]
GSUB_INLINE value_id product_of_both(rewrite& r) {
    auto const left = r.add<ops::concat>({.axis = -1}, {r[x], r[y]});
    return r.add<ops::mat_mul>(left, r.add<ops::concat>({.axis = -2}, {r[a], r[b]}));
}
GSUB_INLINE void sum_of_products(rewrite& r) {
    r.replace_root(0, product_of_both(r));
}
GSUB_INLINE void sum_of_biased_products(rewrite& r) {
    r.replace_root(0, r.add<ops::add>(product_of_both(r), r.add<ops::add>(r[k], r[l])));
}

GSUB_INLINE void merge_gemm_sum(rewrite& r) {
    auto const& attributes = r.attributes<ops::gemm>(c);
    auto const left = r.add<ops::concat>({.axis = attributes.transpose_a ? 0 : 1}, {r[x], r[y]});
    auto const right = r.add<ops::concat>({.axis = attributes.transpose_b ? 1 : 0}, {r[a], r[b]});
    auto const bias = r[p].valid() && r[q].valid() ? r.add<ops::add>(r[p], r[q]) : r[p].valid() ? r[p] : r[q];
    r.replace_root(0, r.add<ops::gemm>(attributes, {left, right, bias}));
}

GSUB_INLINE void merge_matmul_rows(rewrite& r) {
    auto const rows_of = [&](value_id v) {
        auto const sizes = r.sizes(v);
        return sizes.size() < 2 ? 1 : sizes[sizes.size() - 2];
    };
    ints const rows{rows_of(r[x]), rows_of(r[y])};
    auto const both = r.add<ops::mat_mul>(r.add<ops::concat>({.axis = -2}, {r[x], r[y]}), r[a]);
    auto const parts = r.add<ops::split>({.axis = -2, .sizes = rows}, {both}, 2);
    for (std::uint32_t i = 0; i < 2; ++i) r.replace_root(i, rewrite::port(parts, i));
}

GSUB_INLINE void matmul_before_split(rewrite& r) {
    auto const& m = r.matched();
    auto const parts = r.like(m.node(s), {r.add<ops::mat_mul>(r[x], r[a])});
    for (std::uint32_t i = 0; i < m.roots().size(); ++i) r.replace_root(i, rewrite::port(parts, i));
}

GSUB_INLINE void scale_into_columns(rewrite& r) {
    auto const factor = r.reshaped(r[k], {product(r.sizes(r[k]))});
    r.replace_root(0, r.add<ops::mat_mul>(r[x], r.add<ops::mul>(r[a], factor)));
}
GSUB_INLINE void scale_into_rows(rewrite& r) {
    auto const factor = r.reshaped(r[k], {product(r.sizes(r[k])), 1});
    r.replace_root(0, r.add<ops::mat_mul>(r.add<ops::mul>(r[a], factor), r[x]));
}

GSUB_INLINE void scale_into_query(rewrite& r) {
    auto const& m = r.matched();
    auto const factor = r.reshaped(r[k], {});
    auto const scaled = [&](value_id v) { return r.like(m.node(n), {v, factor}); };
    auto const query = r.add<ops::add>(r.add<ops::mat_mul>(r[x], scaled(r[a])), scaled(r[b]));
    auto const heads = r.like(m.node(t), {r.like(m.node(u), {query})});
    r.replace_root(0, r.add<ops::mat_mul>(heads, r[y]));
}

GSUB_INLINE ints composed_permutation(ints const& outer, ints const& inner) {
    // Result dimension i is dimension inner[outer[i]] of x.
    ints perm;
    for (auto i : outer) perm.push_back(inner[static_cast<std::size_t>(i)]);
    return perm;
}

GSUB_INLINE void compose_transposes(rewrite& r) {
    auto const perm = composed_permutation(r.attributes<ops::transpose>(t).perm, r.attributes<ops::transpose>(u).perm);
    r.replace_root(0, r.add<ops::transpose>({.perm = perm}, {r[x]}));
}

// A value with its last two dimensions swapped.
GSUB_INLINE value_id transposed(rewrite& r, value_id v) {
    if (r.failed()) return {};
    ints perm;
    for (std::size_t i = 0; i < r.type(v).rank(); ++i) perm.push_back(static_cast<std::int64_t>(i));
    if (perm.size() < 2) return r.fail("a vector has no transpose"), value_id{};
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return r.add<ops::transpose>({.perm = perm}, {v});
}

GSUB_INLINE void transpose_of_product(rewrite& r) {
    r.replace_root(0, r.add<ops::mat_mul>(transposed(r, r[b]), transposed(r, r[a])));
}
GSUB_INLINE void product_of_transposes(rewrite& r) {
    r.replace_root(0, transposed(r, r.add<ops::mat_mul>(r[b], r[a])));
}

GSUB_INLINE void transposed_left_of_gemm(rewrite& r) {
    auto attributes = r.attributes<ops::gemm>(c);
    attributes.transpose_a = !attributes.transpose_a;
    r.replace_root(0, r.add<ops::gemm>(attributes, {r[a], r[b], r[p]}));
}
GSUB_INLINE void transposed_right_of_gemm(rewrite& r) {
    auto attributes = r.attributes<ops::gemm>(c);
    attributes.transpose_b = !attributes.transpose_b;
    r.replace_root(0, r.add<ops::gemm>(attributes, {r[a], r[b], r[p]}));
}
GSUB_INLINE void transposed_left_of_matmul(rewrite& r) {
    r.replace_root(0, r.add<ops::gemm>({.transpose_a = true}, {r[a], r[b]}));
}
GSUB_INLINE void transposed_right_of_matmul(rewrite& r) {
    r.replace_root(0, r.add<ops::gemm>({.transpose_b = true}, {r[a], r[b]}));
}

} // namespace gsub::rules::matrix::detail
