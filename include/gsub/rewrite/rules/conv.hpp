// Convolution rules: batch-norm, scale, bias and activation folding; kernel enlargement; merging; composition.
#pragma once

#include <gsub/rewrite/rules/impl/rule_words.hpp>

namespace gsub::rules::convolution {

using namespace words;

namespace detail {

/// Batch norm as y = x * factor + offset, both [channels]:
/// factor = scale / sqrt(variance + epsilon), offset = shift - mean * factor.
struct affine {
    value_id factor, offset;
};
[[nodiscard]] affine normalisation(rewrite& r);
/// The same for operands outside a match.
[[nodiscard]] affine normalisation(node_sink& sink, double epsilon, value_id scale, value_id shift, value_id mean,
                                   value_id variance);

/// Scales outputs: w[o,i,...] times factor[o].
[[nodiscard]] value_id scaled_outputs(rewrite& r, value_id weight, value_id factor);
/// A per-channel factor or addend as a vector [channels] or [1].
[[nodiscard]] value_id channel_vector(rewrite& r, value_id v);
/// Attributes of a convolution with another activation.
[[nodiscard]] attributes_of<ops::conv> with_activation(attributes_of<ops::conv> a, activation act, double min = 0,
                                                       double max = 0);

replacement_function fuse_conv_bn, fuse_bn_conv, fuse_matmul_bn, fuse_gemm_bn, fuse_conv_scale, fuse_conv_shift,
    fuse_conv_clip, unfuse_conv_activation, enlarge_conv, merge_conv_siblings, enlarge_and_merge_convs, enlarge_to_hull,
    merge_convs_in_hull, add_identity, add_fuse, compose_pointwise_outer, compose_pointwise_inner;

/// Whether the kernel of `c` is that of `d` cropped by whole taps on its sides, under d's pads.
[[nodiscard]] bool window_extends(match const& m);
/// Whether the kernels of `c` and `d` have a common hull: both, enlarged by whole taps on their sides, are one window.
[[nodiscard]] bool windows_meet(match const& m);
/// Whether neither kernel is the other one cropped, as far as taps go.
[[nodiscard]] bool each_reaches_further(match const& m);

/// Applies `w.conv` with the attributes of c and an activation.
template <activation Act>
struct activated {
    auto operator()(match const& m) const { return with_activation(m.attributes<ops::conv>(c), Act); }
};

} // namespace detail

/// Batch-norm folding (law 1): a linear convolution and a batch norm are one convolution.
/// W'[o] = W[o] * factor[o], b' = (b - mean) * factor + shift.
inline constexpr auto fuse_conv_bn = rule<"fuse_conv_bn">(
    batch_norm[n](conv[c](x, w, b), scale, shift, mean, variance), built_by<detail::fuse_conv_bn>, where(linear(c)),
    prefer(constant(w, scale, shift, mean, variance), constant_if_given(b)),
    provenance{"law 1: a normalisation is a scale and a shift a channel, which pass into weight and bias"});

/// Batch-norm folding in front of a convolution (law 1): sound without pads only, since pads are zero after the norm.
inline constexpr auto fuse_bn_conv = rule<"fuse_bn_conv">(
    conv[c](batch_norm[n](x, scale, shift, mean, variance), w, b), built_by<detail::fuse_bn_conv>, where(unpadded(c)),
    prefer(constant(w, scale, shift, mean, variance), constant_if_given(b)),
    provenance{"law 1: the scale of an input channel passes into the weight, its shift into the bias"});

/// Batch-norm folding into a matrix product (law 1), with columns as channels.
inline constexpr auto fuse_matmul_bn = rule<"fuse_matmul_bn">(
    batch_norm[n](mat_mul[c](x, w), scale, shift, mean, variance), built_by<detail::fuse_matmul_bn>,
    where(condition("both operands are matrices",
                    [](match const& m) {
                        return m.type(x).ranked && m.type(x).rank() == 2 && m.type(w).ranked && m.type(w).rank() == 2;
                    })),
    prefer(constant(w, scale, shift, mean, variance)), provenance{"law 1 for matrix products"});

inline constexpr auto fuse_gemm_bn = rule<"fuse_gemm_bn">(
    batch_norm[n](gemm[c](x, w, b), scale, shift, mean, variance), built_by<detail::fuse_gemm_bn>,
    prefer(constant(w, scale, shift, mean, variance), constant_if_given(b)), provenance{"law 1 for matrix products"});

/// Scale folding (law 2): a per-channel factor passes into weight and bias.
inline constexpr auto fuse_conv_scale = rule<"fuse_conv_scale">(
    mul(conv[c](x, w, b), k), built_by<detail::fuse_conv_scale>, where(linear(c), per_channel(k, c)),
    prefer(constant(w, k), constant_if_given(b)), provenance{"law 2: convolution is linear in its weight"});

/// Bias folding (law 2): a per-channel addend passes into the bias.
inline constexpr auto fuse_conv_shift = rule<"fuse_conv_shift">(
    sum_of(conv[c](x, w, b), k), built_by<detail::fuse_conv_shift>, where(linear(c), per_channel(k, c)),
    prefer(constant(k), constant_if_given(b)), provenance{"law 2: the bias is where the sum starts"});

/// Activation fusion (law 3): the convolution applies it as it stores the sum.
inline constexpr auto fuse_conv_relu =
    rule<"fuse_conv_relu">(relu(conv[c](x, w, b)), conv[c].with(detail::activated<activation::relu>{})(x, w, b),
                           where(linear(c)), provenance{"law 3: the activation attribute means the operator"});
inline constexpr auto fuse_conv_sigmoid = rule<"fuse_conv_sigmoid">(
    sigmoid(conv[c](x, w, b)), conv[c].with(detail::activated<activation::sigmoid>{})(x, w, b), where(linear(c)),
    provenance{"law 3: the activation attribute means the operator"});
inline constexpr auto fuse_conv_tanh =
    rule<"fuse_conv_tanh">(tanh(conv[c](x, w, b)), conv[c].with(detail::activated<activation::tanh>{})(x, w, b),
                           where(linear(c)), provenance{"law 3: the activation attribute means the operator"});
inline constexpr auto fuse_conv_clip =
    rule<"fuse_conv_clip">(clip[n](conv[c](x, w, b)), built_by<detail::fuse_conv_clip>, where(linear(c)),
                           provenance{"law 3: the activation attribute means the operator"});

/// Activation unfusion (law 3), to open up other rules.
inline constexpr auto unfuse_conv_activation =
    rule<"unfuse_conv_activation">(
        conv[c](x, w, b), built_by<detail::unfuse_conv_activation>,
        prefer(condition("there is an activation",
                         [](match const& m) { return m.attributes<ops::conv>(c).act != activation::none; })),
        provenance{"law 3, reversed"})
        .as(rule_kind::internal);

/// Kernel enlargement (law 4): zeros around a kernel, and as many pads, change nothing. Only to the window of a
/// sibling, so that the two can merge. W'[o,i,r+t,s+l] = W[o,i,r,s]; pads grow by dilation times the added taps
/// (equation 3.3 of the report on relaxed substitution in ONNX, side by side).
inline constexpr auto enlarge_conv = rule<"enlarge_conv">(
    roots(conv[c](x, w, b), context(conv[d](x, v, a))), built_by<detail::enlarge_conv>,
    where(condition("the sibling's window is this one with whole taps added on its sides", detail::window_extends)),
    prefer(constant(w), condition("the sibling's kernel is larger, its strides, dilations and groups are equal",
                                  [](match const& m) {
                                      auto const &p = m.attributes<ops::conv>(c), &q = m.attributes<ops::conv>(d);
                                      return p.strides == q.strides && p.dilations == q.dilations && p.group == 1 &&
                                             q.group == 1 && !(m.type(w).dims.size() != m.type(v).dims.size()) &&
                                             !std::equal(m.type(w).dims.begin() + 2, m.type(w).dims.end(),
                                                         m.type(v).dims.begin() + 2);
                                  })),
    provenance{"law 4: MetaFlow's enlarge_conv with explicit pads"});

/// Enlargement to the hull (law 4): where each of two windows reaches further than the other on some side, one grows to
/// the window around both, and the rule above enlarges the other to it.
inline constexpr auto enlarge_to_hull = rule<"enlarge_to_hull">(
    roots(conv[c](x, w, b), context(conv[d](x, v, a))), built_by<detail::enlarge_to_hull>,
    where(
        condition("both windows become the one around them by whole taps added on their sides", detail::windows_meet)),
    prefer(in_order(c, d), constant(w, v), same_steps(c, d), ungrouped(c), ungrouped(d),
           condition("each window reaches further than the other", detail::each_reaches_further)),
    provenance{"law 4: a 1x3 kernel beside a 3x1 kernel, both as 3x3"});

/// Sibling merging (law 5): convolutions of one input with one window are one convolution with both sets of outputs.
inline constexpr auto merge_conv_siblings = rule<"merge_conv_siblings">(
    roots(conv[c](x, w, a), conv[d](x, v, b)), built_by<detail::merge_conv_siblings>,
    where(same_window(c, d), same_activation(c, d), same_kernel_size(w, v), ungrouped(c), ungrouped(d)),
    prefer(in_order(c, d), constant(w, v), constant_if_given(a, b)),
    provenance{"law 5: outputs of a convolution do not depend on each other"});

/// Laws 4 and 5 in one step: enlarges, then merges.
inline constexpr auto enlarge_and_merge_convs =
    rule<"enlarge_and_merge_convs">(
        roots(conv[c](x, w, b), conv[d](x, v, a)), built_by<detail::enlarge_and_merge_convs>,
        where(condition("the second window is the first with whole taps added on its sides", detail::window_extends),
              same_steps(c, d), same_activation(c, d), ungrouped(c), ungrouped(d)),
        prefer(constant(w, v), constant_if_given(a, b),
               condition("the kernels differ", [](match const& m) { return !same_kernel_size(w, v).holds(m); })),
        provenance{"laws 4 and 5"})
        .as(rule_kind::macro);

inline constexpr auto merge_convs_in_hull =
    rule<"merge_convs_in_hull">(
        roots(conv[c](x, w, b), conv[d](x, v, a)), built_by<detail::merge_convs_in_hull>,
        where(condition("both windows become the one around them by whole taps added on their sides",
                        detail::windows_meet),
              same_steps(c, d), same_activation(c, d), ungrouped(c), ungrouped(d)),
        prefer(in_order(c, d), constant(w, v), constant_if_given(a, b),
               condition("each window reaches further than the other", detail::each_reaches_further)),
        provenance{"laws 4 and 5"})
        .as(rule_kind::macro);

/// Identity folding (law 9): conv(x) + x is a convolution whose centre tap has one more. W'[o,o,centre] += 1.
inline constexpr auto add_identity =
    rule<"add_identity">(sum_of(conv[c](x, w, b), x), built_by<detail::add_identity>,
                         where(linear(c), unit_stride(c), has_centre_tap(c, w), has_type_of(x, c)), prefer(constant(w)),
                         provenance{"law 9: the identity is a convolution"});

/// Addend folding (law 10): conv(x) + y is a convolution of x and y concatenated, with identity kernels for y.
inline constexpr auto add_fuse = rule<"add_fuse">(
    sum_of(conv[c](x, w, b), y), built_by<detail::add_fuse>,
    where(linear(c), ungrouped(c), unit_stride(c), has_centre_tap(c, w), has_type_of(y, c),
          condition("x and y differ in their channels only",
                    [](match const& m) {
                        auto const &p = m.type(x), &q = m.type(y);
                        return p.ranked && differ_only_at(p, q, p.rank() - 2);
                    })),
    prefer(constant(w), condition("x and y are parts of one split, so that putting them together is free",
                                  [](match const& m) {
                                      auto const p = m[x], q = m[y];
                                      return p.node == q.node && m.graph().is<ops::split>(p.node);
                                  })),
    provenance{
        "law 10: figure 3.1 of the report on relaxed substitution in ONNX, the addition through identity kernels"});

/// Convolution composition (law 11), pointwise after any. W' = V * W, b' = V * a + b; strides multiply.
inline constexpr auto compose_pointwise_outer = rule<"compose_pointwise_outer">(
    conv[d](conv[c](x, w, a), v, b), built_by<detail::compose_pointwise_outer>,
    where(linear(c), ungrouped(c), ungrouped(d), pointwise(v), unpadded(d)),
    prefer(constant(w, v), constant_if_given(a, b)), provenance{"law 11: products of matrices associate"});

/// Convolution composition (law 11), any after pointwise. The inner bias would meet the outer pads, which are zero
/// after it.
inline constexpr auto compose_pointwise_inner = rule<"compose_pointwise_inner">(
    conv[d](conv[c](x, w, a), v, b), built_by<detail::compose_pointwise_inner>,
    where(linear(c), ungrouped(c), ungrouped(d), pointwise(w), unit_stride(c), unpadded(c),
          condition("the inner convolution has no bias, or the outer one no pads",
                    [](match const& m) { return !m.has(a) || all_equal(m.attributes<ops::conv>(d).pads, 0); })),
    prefer(constant(w, v), constant_if_given(a, b)), provenance{"law 11: products of matrices associate"});

/// All rules of this header.
[[nodiscard]] constexpr auto all() noexcept {
    return rule_list(fuse_conv_bn, fuse_bn_conv, fuse_matmul_bn, fuse_gemm_bn, fuse_conv_scale, fuse_conv_shift,
                     fuse_conv_relu, fuse_conv_sigmoid, fuse_conv_tanh, fuse_conv_clip, unfuse_conv_activation,
                     enlarge_conv, enlarge_to_hull, merge_conv_siblings, enlarge_and_merge_convs, merge_convs_in_hull,
                     add_identity, add_fuse, compose_pointwise_outer, compose_pointwise_inner);
}

} // namespace gsub::rules::convolution

#ifndef GSUB_COMPILED
#include <gsub/rewrite/rules/impl/conv.ipp>
#endif
