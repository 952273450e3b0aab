// Convolution-merging rules: convolutions that share a weight, an input or a sum, and groups.
#pragma once

#include <gsub/rewrite/rules/impl/rule_words.hpp>

namespace gsub::rules::merging {

using namespace words;

namespace detail {
replacement_function merge_conv_batch, conv_before_split, merge_conv_sum, split_conv_inputs, part_conv_inputs,
    add_conv_weights, merge_grouped_siblings, widen_groups;

/// Whether a split has axis 0, or a concat axis 1, counted from either end.
[[nodiscard]] bool splits_batch(match const& m);
[[nodiscard]] bool joins_channels(match const& m);

inline constexpr rule_condition inputs_side_by_side{
    "the inputs differ in their channels only", [](match const& m) {
        return m.type(x).ranked && m.type(x).rank() > 2 && differ_only_at(m.type(x), m.type(y), m.type(x).rank() - 2);
    }};
inline constexpr rule_condition same_weight_type{
    "the weights have one type", [](match const& m) { return equal_static_types(m.type(w), m.type(v)); }};
} // namespace detail

/// Batch merging (law 6): convolutions with one weight are one convolution of the inputs concatenated along the batch.
inline constexpr auto merge_conv_batch = rule<"merge_conv_batch">(
    roots(conv[c](x, w, b), conv[d](y, w, b)), built_by<detail::merge_conv_batch>,
    where(condition("the attributes are equal", equal_attributes),
          condition(
              "both have the bias, or none",
              [](match const& m) { return m.graph().operand_count(m.node(c)) == m.graph().operand_count(m.node(d)); }),
          condition("the inputs differ in their batch only",
                    [](match const& m) {
                        return m.type(x).ranked && differ_only_at(m.type(x), m.type(y), m.type(x).rank() - 1);
                    })),
    prefer(in_order(c, d), constant(w), constant_if_given(b), outweighs(w, x, y)),
    provenance{"law 6: images of a batch do not depend on each other"});

/// Batch merging of a split (law 6): the inputs are the parts of one batch, so nothing is concatenated.
inline constexpr auto conv_before_split =
    rule<"conv_before_split">(every_part(split[s](x), conv[c](part, w, b)), built_by<detail::conv_before_split>,
                              where(condition("the input is cut along its batch", detail::splits_batch),
                                    same_operator(c), same_value(w), same_value(b)),
                              provenance{"law 6: images of a batch do not depend on each other"});

/// Sum merging (law 7): a sum of convolutions is one convolution of the concatenated inputs. W' = [W V], b' = a + b.
inline constexpr auto merge_conv_sum =
    rule<"merge_conv_sum">(sum_of(conv[c](x, w, a), conv[d](y, v, b)), built_by<detail::merge_conv_sum>,
                           where(linear(c), linear(d), ungrouped(c), ungrouped(d), same_window(c, d),
                                 same_kernel_size(w, v), detail::inputs_side_by_side,
                                 condition("there are as many outputs",
                                           [](match const& m) {
                                               return m.type(w).ranked && m.type(v).ranked &&
                                                      m.type(w).rank() == m.type(v).rank() &&
                                                      provably_equal(m.type(w).dims[0], m.type(v).dims[0]);
                                           })),
                           prefer(in_order(c, d), constant(w, v), constant_if_given(a, b)),
                           provenance{"law 7: the sum over input channels in two parts"});

/// Input splitting (law 7 reversed): opens up other rules.
inline constexpr auto split_conv_inputs =
    rule<"split_conv_inputs">(
        conv[c](concat[j](each(x)), w, b), built_by<detail::split_conv_inputs>,
        where(linear(c), ungrouped(c),
              condition("the operands stand side by side in their channels", detail::joins_channels)),
        prefer(constant(w)), provenance{"law 7, reversed"})
        .as(rule_kind::internal);

/// Input splitting beside a sibling (law 7 reversed): splits off a part that has a convolution of its own with the same
/// window, so that this convolution and the sibling can become one.
inline constexpr auto part_conv_inputs = rule<"part_conv_inputs">(
    roots(conv[c](concat[j](each(x)), w, b), context(conv[d](some(x), v, a))), built_by<detail::part_conv_inputs>,
    where(linear(c), ungrouped(c),
          condition("the operands stand side by side in their channels", detail::joins_channels)),
    prefer(linear(d), ungrouped(d), same_window(c, d), same_kernel_size(w, v), constant(w, v),
           condition("there are several operands", [](match const& m) { return m.all(x).size() > 1; })),
    provenance{"law 7, reversed where laws 5 or 8 go on"});

/// Weight addition (law 8): a sum of convolutions of one input is one convolution with the sum of the weights, in any
/// number of groups.
inline constexpr auto add_conv_weights =
    rule<"add_conv_weights">(sum_of(conv[c](x, w, a), conv[d](x, v, b)), built_by<detail::add_conv_weights>,
                             where(linear(c), linear(d), same_window(c, d), detail::same_weight_type),
                             prefer(in_order(c, d), constant(w, v), constant_if_given(a, b)),
                             provenance{"law 8: convolution is linear in its weight"});

/// Sibling merging of grouped convolutions (law 5): the outputs of the two interleave group by group and are taken
/// apart again. Internal, since that is a copy, which cost models that take splits for views do not see.
inline constexpr auto merge_grouped_siblings =
    rule<"merge_grouped_siblings">(
        roots(conv[c](x, w, a), conv[d](x, v, b)), built_by<detail::merge_grouped_siblings>,
        where(same_window(c, d), same_activation(c, d), same_kernel_size(w, v),
              condition(
                  "there are as many groups",
                  [](match const& m) { return m.attributes<ops::conv>(c).group == m.attributes<ops::conv>(d).group; })),
        prefer(
            in_order(c, d), constant(w, v), constant_if_given(a, b),
            condition("there are several groups", [](match const& m) { return m.attributes<ops::conv>(c).group > 1; })),
        provenance{"law 5: outputs of a convolution do not depend on each other, within each group"})
        .as(rule_kind::internal);

/// Group widening (law 13): two neighbouring groups are one group, with zeros where an output does not see an input.
/// W'[o, (q mod 2) I + i] = W[o, i] for output o of group q. Only measured times tell whether that pays.
inline constexpr auto widen_groups =
    rule<"widen_groups">(conv[c](x, w, b), built_by<detail::widen_groups>,
                         where(condition("the number of groups is even",
                                         [](match const& m) { return m.attributes<ops::conv>(c).group % 2 == 0; })),
                         prefer(constant(w), condition("a group has several channels and at most 64",
                                                       [](match const& m) {
                                                           auto const& t = m.type(w);
                                                           return t.is_static() && t.dims[1].size() > 1 &&
                                                                  t.dims[1].size() <= 64;
                                                       })),
                         provenance{"law 13: a group is a block of a block-diagonal weight"})
        .as(rule_kind::timed);

/// All rules of this header.
[[nodiscard]] constexpr auto all() noexcept {
    return rule_list(merge_conv_batch, conv_before_split, merge_conv_sum, split_conv_inputs, part_conv_inputs,
                     add_conv_weights, merge_grouped_siblings, widen_groups);
}

} // namespace gsub::rules::merging

#ifndef GSUB_COMPILED
#include <gsub/rewrite/rules/impl/merge.ipp>
#endif
