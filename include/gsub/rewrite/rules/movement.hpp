// Data-movement rules: elementwise operators through concat, split, reshape and transpose; reordering of parts.
#pragma once

#include <gsub/rewrite/rules/impl/rule_words.hpp>

namespace gsub::rules::movement {

using namespace words;

namespace detail {
replacement_function unary_into_concat, unary_out_of_concat, unary_before_split, unary_after_split, group_activations,
    binary_into_concat, binary_out_of_concat, binary_before_split, constant_into_concat, bn_into_concat,
    reorder_conv_outputs, reorder_conv_inputs, reorder_matmul_columns, reorder_matmul_rows;

/// Axis of a concat or split, counted from the first dimension; nothing where it is unknown.
[[nodiscard]] std::optional<std::size_t> axis_of(match const& m, node_id n);
/// Whether the values that a binary operator reads beside the parts of a split can be concatenated along its axis,
/// counted from the last dimension: each has the size of its part there, and all are equal in the other dimensions.
[[nodiscard]] bool parts_fit(match const& m, std::span<value_id const> parts, node_id whole, std::size_t ports);
/// Whether the values `y` fit so together.
[[nodiscard]] bool others_fit(match const& m);
/// Whether a constant can be cut like the operands of a concat.
[[nodiscard]] bool constant_is_cut(match const& m);
/// Whether the operands of a concat are all parts of one split on one axis in another order.
[[nodiscard]] bool other_order(match const& m);
/// Whether the parts and the concat are along this axis.
[[nodiscard]] bool reorders_along(match const& m, std::size_t axis);
/// Whether the parts are columns of a value, put together as such; the right operand of the product is a matrix.
[[nodiscard]] bool reorders_columns(match const& m, tensor_type const& value);
/// Whether the operands beside the parts of a split are constants, or parts of one split in any order.
[[nodiscard]] bool others_are_together(match const& m);
/// For each part of a split, the number of the first part with an equal reader: the same operator and attributes.
[[nodiscard]] small_vector<std::uint32_t, 8> first_alike(match const& m);
inline constexpr rule_condition reorders_channels{"the parts are channels, put together as such",
                                                  [](match const& m) { return reorders_along(m, 1); }};
inline constexpr rule_condition cut_along_axis{"the other operand can be cut along the axis", constant_is_cut};
inline constexpr rule_condition together_for_free{"the other operands are constant, or parts of one split",
                                                  others_are_together};
} // namespace detail

inline constexpr provenance elementwise{"law 15: an elementwise operator sees elements, not places"};
inline constexpr provenance sliced{"law 15: per-channel constants are sliced"};
inline constexpr provenance sliced_reversed{"law 15: per-channel constants are sliced, reversed"};

/// Unary f through concat (law 15): f(concat(x...)) = concat(f(x)...), both ways, for elementwise f.
inline constexpr auto unary_into_concat =
    rule<"unary_into_concat">(unary[u](concat[j](each(x))), built_by<detail::unary_into_concat>, elementwise);
inline constexpr auto unary_out_of_concat = rule<"unary_out_of_concat">(
    concat[j](each(unary[u](x))), built_by<detail::unary_out_of_concat>, where(same_operator(u)), elementwise);

/// Unary f through split (law 15): the parts of f(x) are f of the parts of x.
inline constexpr auto unary_before_split =
    rule<"unary_before_split">(every_part(split[s](x), unary[u](part)), built_by<detail::unary_before_split>,
                               where(same_operator(u)), elementwise);
inline constexpr auto unary_after_split =
    rule<"unary_after_split">(split[s](unary[u](x)), built_by<detail::unary_after_split>, elementwise);

/// Activation grouping (law 15): where several operators read the parts of a split, as the gates of a recurrent cell,
/// puts the parts of one operator side by side, so that it runs once. `reorder_matmul_columns` moves the order into the
/// weights.
inline constexpr auto group_activations =
    rule<"group_activations">(every_part(split[s](x), unary[u](part)), built_by<detail::group_activations>,
                              prefer(condition("some of the operators are alike, and some are not",
                                               [](match const& m) {
                                                   auto const first = detail::first_alike(m);
                                                   std::size_t kinds = 0;
                                                   for (std::uint32_t i = 0; i < first.size(); ++i)
                                                       kinds += first[i] == i;
                                                   return kinds > 1 && kinds < first.size();
                                               })),
                              provenance{"law 15, and parts in another order"});

/// Elementwise f through reshape and transpose (law 15).
inline constexpr auto unary_into_reshape =
    rule<"unary_into_reshape">(unary[u](reshape[s](x)), reshape[s](unary[u](x)), elementwise);
inline constexpr auto unary_out_of_reshape =
    rule<"unary_out_of_reshape">(reshape[s](unary[u](x)), unary[u](reshape[s](x)), elementwise);
inline constexpr auto unary_into_transpose =
    rule<"unary_into_transpose">(unary[u](transpose[s](x)), transpose[s](unary[u](x)), elementwise);
inline constexpr auto unary_out_of_transpose =
    rule<"unary_out_of_transpose">(transpose[s](unary[u](x)), unary[u](transpose[s](x)), elementwise);

inline constexpr auto binary_into_transpose = rule<"binary_into_transpose">(
    binary[u](transpose[s](x), transpose[l](y)), transpose[s](binary[u](x, y)),
    where(condition(
        "the permutations are equal",
        [](match const& m) { return m.attributes<ops::transpose>(s).perm == m.attributes<ops::transpose>(l).perm; })),
    elementwise);

/// Binary f through concat (law 15): f(concat(x...), concat(y...)) = concat(f(x, y)...) where both are cut alike.
inline constexpr auto binary_into_concat = rule<"binary_into_concat">(
    binary[u](concat[j](each(x)), concat[l](each(y))), built_by<detail::binary_into_concat>,
    where(condition("both operands are cut alike",
                    [](match const& m) {
                        auto const p = m.all(x), q = m.all(y);
                        if (detail::axis_of(m, m.node(j)) != detail::axis_of(m, m.node(l)) || p.size() != q.size())
                            return false;
                        for (std::size_t i = 0; i < p.size(); ++i)
                            if (!equal_static_types(m.type(p[i]), m.type(q[i]))) return false;
                        return true;
                    })),
    elementwise);
inline constexpr auto binary_out_of_concat = rule<"binary_out_of_concat">(
    concat[j](each(binary[u](x, y))), built_by<detail::binary_out_of_concat>,
    where(same_operator(u), condition("the operands of each have one type",
                                      [](match const& m) {
                                          auto const p = m.all(x), q = m.all(y);
                                          for (std::size_t i = 0; i < p.size(); ++i)
                                              if (!equal_static_types(m.type(p[i]), m.type(q[i]))) return false;
                                          return true;
                                      })),
    elementwise);

/// Constants through concat (law 15): they are cut like the operands that they meet.
inline constexpr auto add_into_concat =
    rule<"add_into_concat">(add[u](concat[j](each(x)), k), built_by<detail::constant_into_concat>,
                            where(detail::cut_along_axis), prefer(constant(k)), sliced);
inline constexpr auto mul_into_concat =
    rule<"mul_into_concat">(mul[u](concat[j](each(x)), k), built_by<detail::constant_into_concat>,
                            where(detail::cut_along_axis), prefer(constant(k)), sliced);

/// Sums and products through split (law 15): those on all parts are one on the whole.
inline constexpr auto add_before_split =
    rule<"add_before_split">(every_part(split[s](x), add[u](part, y)), built_by<detail::binary_before_split>,
                             where(condition("the addends fit together as the parts do", detail::others_fit)),
                             prefer(detail::together_for_free), sliced_reversed);
inline constexpr auto mul_before_split =
    rule<"mul_before_split">(every_part(split[s](x), mul[u](part, y)), built_by<detail::binary_before_split>,
                             where(condition("the factors fit together as the parts do", detail::others_fit)),
                             prefer(detail::together_for_free), sliced_reversed);

/// Batch norm through concat of channels (law 15).
inline constexpr auto bn_into_concat = rule<"bn_into_concat">(
    batch_norm[n](concat[j](each(x)), scale, shift, mean, variance), built_by<detail::bn_into_concat>,
    where(condition("the operands stand side by side in their channels",
                    [](match const& m) { return detail::axis_of(m, m.node(j)) == std::size_t{1}; })),
    prefer(constant(scale, shift, mean, variance)), provenance{"law 15: statistics are sliced"});

/// Weight reordering (law 14): parts in another order permute the weight's outputs, inputs, columns or rows.
inline constexpr auto reorder_conv_outputs = rule<"reorder_conv_outputs">(
    concat[j](all_parts(split[s](conv[c](x, w, b)))), built_by<detail::reorder_conv_outputs>,
    where(detail::reorders_channels, ungrouped(c)),
    prefer(condition("the order differs", detail::other_order), constant(w), constant_if_given(b)),
    provenance{"law 14: outputs of a convolution in another order"});
inline constexpr auto reorder_conv_inputs =
    rule<"reorder_conv_inputs">(conv[c](concat[j](all_parts(split[s](x))), w, b), built_by<detail::reorder_conv_inputs>,
                                where(detail::reorders_channels, ungrouped(c)),
                                prefer(condition("the order differs", detail::other_order), constant(w)),
                                provenance{"law 14: a sum over channels in another order"});
inline constexpr auto reorder_matmul_columns = rule<"reorder_matmul_columns">(
    concat[j](all_parts(split[s](mat_mul[c](x, w)))), built_by<detail::reorder_matmul_columns>,
    where(condition("the parts are columns of a matrix, put together as such",
                    [](match const& m) { return detail::reorders_columns(m, m.type_of_label(m.node(c))); })),
    prefer(condition("the order differs", detail::other_order), constant(w)),
    provenance{"law 14: columns of a product in another order"});
inline constexpr auto reorder_matmul_rows =
    rule<"reorder_matmul_rows">(mat_mul[c](concat[j](all_parts(split[s](x))), w), built_by<detail::reorder_matmul_rows>,
                                where(condition("the parts are columns of the left operand, put together as such",
                                                [](match const& m) { return detail::reorders_columns(m, m.type(x)); })),
                                prefer(condition("the order differs", detail::other_order), constant(w)),
                                provenance{"law 14: a sum over the inner dimension in another order"});

/// Factoring (law 24): k x + k y = k (x + y), whatever broadcasts.
inline constexpr auto factor_sum =
    rule<"factor_sum">(sum_of(mul[c](k, x), mul[d](k, y)), mul(k, add(x, y)), prefer(in_order(c, d)),
                       provenance{"law 24: products distribute over sums"});
inline constexpr auto factor_difference = rule<"factor_difference">(
    sub(mul[c](k, x), mul[d](k, y)), mul(k, sub(x, y)), provenance{"law 24: products distribute over differences"});

/// All rules of this header.
[[nodiscard]] constexpr auto all() noexcept {
    return rule_list(unary_into_concat, unary_out_of_concat, unary_before_split, unary_after_split, group_activations,
                     unary_into_reshape, unary_out_of_reshape, unary_into_transpose, unary_out_of_transpose,
                     binary_into_transpose, binary_into_concat, binary_out_of_concat, add_into_concat, mul_into_concat,
                     add_before_split, mul_before_split, bn_into_concat, reorder_conv_outputs, reorder_conv_inputs,
                     reorder_matmul_columns, reorder_matmul_rows, factor_sum, factor_difference);
}

} // namespace gsub::rules::movement

#ifndef GSUB_COMPILED
#include <gsub/rewrite/rules/impl/movement.ipp>
#endif
