// Matrix-product rules: merging, summing, associating, transposing.
#pragma once

#include <gsub/rewrite/rules/impl/rule_words.hpp>

namespace gsub::rules::matrix {

using namespace words;
// Further words that these rules are written with.
inline constexpr auto a = var<"a">;
inline constexpr auto b = var<"b">;
inline constexpr auto e = var<"e">;
inline constexpr auto p = maybe<"p">;
inline constexpr auto q = maybe<"q">;
inline constexpr auto l = var<"l">;
inline constexpr auto f = label<"f">;
inline constexpr auto t = label<"t">;

namespace detail {
replacement_function merge_matmul_siblings, merge_three_matmuls, merge_gemm_siblings, sum_of_products,
    sum_of_biased_products, merge_gemm_sum, merge_matmul_rows, matmul_before_split, scale_into_columns, scale_into_rows,
    scale_into_query, compose_transposes, transpose_of_product, product_of_transposes, transposed_left_of_gemm,
    transposed_right_of_gemm, transposed_left_of_matmul, transposed_right_of_matmul;

/// The permutation of `transpose{outer}(transpose{inner}(x))`.
[[nodiscard]] ints composed_permutation(ints const& outer, ints const& inner);
/// Whether a permutation swaps the last two dimensions and keeps the others.
[[nodiscard]] bool swaps_last_two(ints const& perm) noexcept;
/// Whether the bias of a product is one number a column, or absent.
[[nodiscard]] bool is_row_bias(match const& m, value_id bias, node_id product);
} // namespace detail

namespace detail {
/// Gemms that differ in their operands only.
inline constexpr rule_condition same_factors{"factors and transpositions are equal", equal_attributes};
/// Right operands that can be concatenated along their columns.
inline constexpr rule_condition same_but_columns{
    "the right operands are matrices, or stacks of them, that differ in their columns only", [](match const& m) {
        return m.type(a).ranked && m.type(a).rank() >= 2 && differ_only_at(m.type(a), m.type(b), 0);
    }};
inline constexpr rule_condition left_side_by_side{"the left operands differ in their columns only", [](match const& m) {
                                                      return m.type(x).ranked && m.type(x).rank() >= 2 &&
                                                             differ_only_at(m.type(x), m.type(y), 0);
                                                  }};
inline constexpr rule_condition right_on_top{"the right operands differ in their rows only", [](match const& m) {
                                                 return m.type(a).ranked && m.type(a).rank() >= 2 &&
                                                        differ_only_at(m.type(a), m.type(b), 1);
                                             }};
/// Whether a factor is one number a position along a dimension of a product, counted from the last, or one number.
[[nodiscard]] bool is_along(match const& m, value_id factor, node_id product, std::size_t from_last);
inline constexpr rule_condition one_number{"the factor is one number", [](match const& m) {
                                               return m.type(k).elements() == std::int64_t{1} &&
                                                      m.type_of_label(m.node(d)).ranked &&
                                                      m.type(k).rank() <= m.type_of_label(m.node(d)).rank();
                                           }};
inline constexpr rule_condition transposes_matrix{
    "the transposition swaps the last two dimensions",
    [](match const& m) { return swaps_last_two(m.attributes<ops::transpose>(t).perm); }};
} // namespace detail

/// Sibling merging (law 17): products with one left operand are one product with the right operands concatenated.
inline constexpr auto merge_matmul_siblings = rule<"merge_matmul_siblings">(
    roots(mat_mul[c](x, a), mat_mul[d](x, b)), built_by<detail::merge_matmul_siblings>, where(detail::same_but_columns),
    prefer(in_order(c, d)), provenance{"law 17: columns of a product do not depend on each other"});

/// Sibling merging of three products (law 17): query, key and value of an attention.
inline constexpr auto merge_three_matmuls =
    rule<"merge_three_matmuls">(
        roots(mat_mul[c](x, a), mat_mul[d](x, b), mat_mul[f](x, e)), built_by<detail::merge_three_matmuls>,
        where(detail::same_but_columns,
              condition("the third right operand differs from them in its columns only",
                        [](match const& m) { return differ_only_at(m.type(a), m.type(e), 0); })),
        prefer(in_order(c, d), in_order(d, f), constant(a, b, e)), provenance{"law 17, three at a time"})
        .as(rule_kind::macro);

/// Sibling merging (law 17) for products with factors, transposed operands and biases.
inline constexpr auto merge_gemm_siblings = rule<"merge_gemm_siblings">(
    roots(gemm[c](x, a, p), gemm[d](x, b, q)), built_by<detail::merge_gemm_siblings>,
    where(detail::same_factors, condition("the biases are one number a column",
                                          [](match const& m) {
                                              return detail::is_row_bias(m, m[p], m.node(c)) &&
                                                     detail::is_row_bias(m, m[q], m.node(d));
                                          })),
    prefer(in_order(c, d), constant(a, b), constant_if_given(p, q)),
    provenance{"law 17: columns of a product do not depend on each other"});

/// Sum merging (law 19): a sum of products is one product of the concatenated operands.
inline constexpr auto merge_matmul_sum =
    rule<"merge_matmul_sum">(sum_of(mat_mul[c](x, a), mat_mul[d](y, b)), built_by<detail::sum_of_products>,
                             where(detail::left_side_by_side, detail::right_on_top), prefer(constant(a, b)),
                             provenance{"law 19: the sum over the inner dimension in two parts"});

/// Biased sum merging (laws 19 and 25): (x a + k) + (y b + l) = [x y] [a; b] + (k + l).
inline constexpr auto merge_biased_sum =
    rule<"merge_biased_sum">(
        add(add(mat_mul[c](x, a), k), add(mat_mul[d](y, b), l)), built_by<detail::sum_of_biased_products>,
        where(detail::left_side_by_side, detail::right_on_top), prefer(in_order(c, d), constant(a, b, k, l)),
        provenance{"law 19, and sums in another order"})
        .as(rule_kind::macro);

/// Sum merging (law 19) for products with factors, transposed operands and biases.
inline constexpr auto merge_gemm_sum = rule<"merge_gemm_sum">(
    sum_of(gemm[c](x, a, p), gemm[d](y, b, q)), built_by<detail::merge_gemm_sum>,
    where(detail::same_factors,
          condition("the left operands differ in their inner dimension only",
                    [](match const& m) {
                        return differ_only_at(m.type(x), m.type(y), m.attributes<ops::gemm>(c).transpose_a ? 1 : 0);
                    }),
          condition("the right operands differ in their inner dimension only",
                    [](match const& m) {
                        return differ_only_at(m.type(a), m.type(b), m.attributes<ops::gemm>(c).transpose_b ? 0 : 1);
                    })),
    prefer(in_order(c, d), constant(a, b), constant_if_given(p, q)),
    provenance{"law 19: the sum over the inner dimension in two parts"});

/// Row merging (law 18): products with one right operand are one product with the left operands stacked.
inline constexpr auto merge_matmul_rows = rule<"merge_matmul_rows">(
    roots(mat_mul[c](x, a), mat_mul[d](y, a)), built_by<detail::merge_matmul_rows>,
    where(condition("the left operands are matrices, or stacks of them, that differ in their rows only",
                    [](match const& m) {
                        return m.type(x).ranked && m.type(x).rank() >= 2 && differ_only_at(m.type(x), m.type(y), 1);
                    }),
          matrices(a)),
    prefer(in_order(c, d), constant(a), outweighs(a, x, y)),
    provenance{"law 18: rows of a product do not depend on each other"});

/// Row merging of a split (law 18): the left operands are the parts of one value, so nothing is concatenated.
inline constexpr auto matmul_before_split = rule<"matmul_before_split">(
    every_part(split[s](x), mat_mul[c](part, a)), built_by<detail::matmul_before_split>,
    where(same_value(a),
          condition("the right operand is a matrix",
                    [](match const& m) { return m.type(a).ranked && m.type(a).rank() == 2; }),
          condition("the left operand is not cut along its columns",
                    [](match const& m) {
                        auto const& whole = m.type(x);
                        if (!whole.ranked) return false;
                        auto const axis = normalized_axis(m.attributes<ops::split>(s).axis, whole.rank());
                        return axis && *axis + 1 < whole.rank();
                    })),
    provenance{"law 18: rows of a product do not depend on each other"});

/// Distributivity (law 20): x a + x b = x (a + b), and x a + y a = (x + y) a.
inline constexpr auto factor_left_operand = rule<"factor_left_operand">(
    sum_of(mat_mul[c](x, a), mat_mul[d](x, b)), mat_mul(x, add(a, b)),
    where(condition("the right operands have one type",
                    [](match const& m) { return equal_static_types(m.type(a), m.type(b)); })),
    prefer(in_order(c, d), constant(a, b)), provenance{"law 20: products distribute over sums"});
inline constexpr auto factor_right_operand = rule<"factor_right_operand">(
    sum_of(mat_mul[c](x, a), mat_mul[d](y, a)), mat_mul(add(x, y), a), where(matrices(x, y, a)), prefer(in_order(c, d)),
    provenance{"law 20: products distribute over sums"});

/// Scale folding (law 23): c (x a) = x (c a), with c per column or one number.
inline constexpr auto scale_into_columns = rule<"scale_into_columns">(
    mul(mat_mul[c](x, a), k), built_by<detail::scale_into_columns>,
    where(condition("the factor is one number a column",
                    [](match const& m) { return detail::is_along(m, m[k], m.node(c), 0); }),
          matrices(a)),
    prefer(constant(a, k)), provenance{"law 23: the product is linear in its right operand"});
/// Scale folding into the left operand (law 23), per row or one number.
inline constexpr auto scale_into_rows =
    rule<"scale_into_rows">(mul(mat_mul[c](a, x), k), built_by<detail::scale_into_rows>,
                            where(condition("the factor is one number a row",
                                            [](match const& m) { return detail::is_along(m, m[k], m.node(c), 1); }),
                                  matrices(a, x)),
                            prefer(constant(a, k)), provenance{"law 23: the product is linear in its left operand"});
/// Attention-scale folding (law 23): the factor of the scores passes through the heads into the query's weight and
/// bias.
inline constexpr auto scale_into_query =
    rule<"scale_into_query">(mul[n](mat_mul[d](transpose[t](reshape[u](add(mat_mul[c](x, a), b))), y), k),
                             built_by<detail::scale_into_query>, where(detail::one_number), prefer(constant(a, b, k)),
                             provenance{"law 23: the factor of the scores in the query"})
        .as(rule_kind::macro);
inline constexpr auto divide_into_query =
    rule<"divide_into_query">(div[n](mat_mul[d](transpose[t](reshape[u](add(mat_mul[c](x, a), b))), y), k),
                              built_by<detail::scale_into_query>, where(detail::one_number), prefer(constant(a, b, k)),
                              provenance{"law 23: the divisor of the scores in the query"})
        .as(rule_kind::macro);

/// Associativity (law 21): (x a) b = x (a b).
inline constexpr auto associate_right =
    rule<"associate_right">(mat_mul(mat_mul(x, a), b), mat_mul(x, mat_mul(a, b)), where(matrices(x, a, b)),
                            prefer(constant(a, b)), provenance{"law 21: products of matrices associate"});
inline constexpr auto associate_left =
    rule<"associate_left">(mat_mul(x, mat_mul(a, b)), mat_mul(mat_mul(x, a), b), where(matrices(x, a, b)),
                           provenance{"law 21: products of matrices associate"});

/// Transpose composition (law 22); the identity is a canonicalization pattern.
inline constexpr auto compose_transposes = rule<"compose_transposes">(
    transpose[t](transpose[u](x)), built_by<detail::compose_transposes>, provenance{"law 22: permutations compose"});

/// Transpose of a product (law 22): transpose(a b) = transpose(b) transpose(a), both ways.
inline constexpr auto transpose_of_product = rule<"transpose_of_product">(
    transpose[t](mat_mul(a, b)), built_by<detail::transpose_of_product>,
    where(detail::transposes_matrix, matrices(a, b)), provenance{"law 22: the transpose of a product"});
inline constexpr auto product_of_transposes = rule<"product_of_transposes">(
    mat_mul(transpose[t](a), transpose[u](b)), built_by<detail::product_of_transposes>,
    where(detail::transposes_matrix,
          condition("the second transposition swaps the last two dimensions",
                    [](match const& m) { return detail::swaps_last_two(m.attributes<ops::transpose>(u).perm); })),
    provenance{"law 22: the transpose of a product"});

/// Transpose folding (law 22): a transposed operand of a product becomes its flag.
inline constexpr auto transposed_left_of_gemm =
    rule<"transposed_left_of_gemm">(gemm[c](transpose[t](a), b, p), built_by<detail::transposed_left_of_gemm>,
                                    where(detail::transposes_matrix), provenance{"law 22: into the product's flags"});
inline constexpr auto transposed_right_of_gemm =
    rule<"transposed_right_of_gemm">(gemm[c](a, transpose[t](b), p), built_by<detail::transposed_right_of_gemm>,
                                     where(detail::transposes_matrix), provenance{"law 22: into the product's flags"});
inline constexpr auto transposed_left_of_matmul = rule<"transposed_left_of_matmul">(
    mat_mul[c](transpose[t](a), b), built_by<detail::transposed_left_of_matmul>,
    where(detail::transposes_matrix, condition("both operands are matrices",
                                               [](match const& m) {
                                                   return m.type(a).ranked && m.type(a).rank() == 2 &&
                                                          m.type(b).ranked && m.type(b).rank() == 2;
                                               })),
    provenance{"law 22: into the product's flags"});
inline constexpr auto transposed_right_of_matmul = rule<"transposed_right_of_matmul">(
    mat_mul[c](a, transpose[t](b)), built_by<detail::transposed_right_of_matmul>,
    where(detail::transposes_matrix, condition("both operands are matrices",
                                               [](match const& m) {
                                                   return m.type(a).ranked && m.type(a).rank() == 2 &&
                                                          m.type(b).ranked && m.type(b).rank() == 2;
                                               })),
    provenance{"law 22: into the product's flags"});

/// All rules of this header.
[[nodiscard]] constexpr auto all() noexcept {
    return rule_list(merge_matmul_siblings, merge_three_matmuls, merge_gemm_siblings, merge_matmul_sum,
                     merge_biased_sum, merge_gemm_sum, merge_matmul_rows, matmul_before_split, factor_left_operand,
                     factor_right_operand, scale_into_columns, scale_into_rows, scale_into_query, divide_into_query,
                     associate_right, associate_left, compose_transposes, transpose_of_product, product_of_transposes,
                     transposed_left_of_gemm, transposed_right_of_gemm, transposed_left_of_matmul,
                     transposed_right_of_matmul);
}

} // namespace gsub::rules::matrix

#ifndef GSUB_COMPILED
#include <gsub/rewrite/rules/impl/matmul.ipp>
#endif
