// Pooling rules: pools through concat, average pools as convolutions, subsampling moved towards the inputs.
#pragma once

#include <gsub/rewrite/rules/impl/rule_words.hpp>

namespace gsub::rules::pooling {

using namespace words;
// Further words that these rules are written with.
inline constexpr auto z = var<"z">;
inline constexpr auto k = maybe<"k">;
inline constexpr auto e = label<"e">; // a sibling of `c`
inline constexpr auto s = label<"s">; // a normalisation
inline constexpr auto t = label<"t">; // a sum
inline constexpr auto result_of_u = var<"u">;

namespace detail {
replacement_function pool_into_concat, pool_out_of_concat, average_pool_as_conv, average_pool_as_depthwise,
    compose_pool_pointwise, pointwise_before_pool, pool_before_pointwise, subsample_before_pointwise,
    subsample_before_binary, subsample_into_conv, subsample_into_max_pool, subsample_into_average_pool, strides_through;

/// Whether a concat joins batch or channels, across which pooling does not look.
[[nodiscard]] bool joins_batch_or_channels(match const& m);
/// Whether the inputs of the pools in a concat can be concatenated like their results.
[[nodiscard]] bool inputs_fit(match const& m);
/// Whether every window of an average pool has one divisor: pads count, or there are none.
[[nodiscard]] bool counts_all_taps(match const& m);
/// Whether the mean of one number over each window is that number.
[[nodiscard]] bool keeps_constants(attributes_of<ops::average_pool> const& pool);
/// Whether a convolution of the pooled input has so few multiplications that saving a kernel outweighs them.
[[nodiscard]] bool has_few_products(match const& m);
/// Whether the window of `n` is that of `d` cropped by whole taps on its sides, so that the two can merge.
[[nodiscard]] bool fits_into_sibling(match const& m);
/// Whether the pool `n` only subsamples: its window is one pixel without pads, which ends with the image whatever
/// `ceil_mode` says.
[[nodiscard]] bool is_subsampling(match const& m);
/// Whether each operand of `u` has the rank of the result, or one number for all pixels.
[[nodiscard]] bool operands_have_pixels(match const& m);

inline constexpr rule_condition in_batch_or_channels{"the operands stand side by side in batch or channels",
                                                     joins_batch_or_channels};
inline constexpr rule_condition fit_together{"the inputs differ where they are put together only", inputs_fit};
inline constexpr rule_condition same_divisor{"pads count in the mean, or there are none", counts_all_taps};
inline constexpr rule_condition bias_stays{
    "there is no bias, or the mean of one number is that number", [](match const& m) {
        return !m.value(decltype(b)::name).valid() || keeps_constants(m.attributes<ops::average_pool>(n));
    }};
inline constexpr rule_condition several_taps{"the window has several taps", [](match const& m) {
                                                 return !all_equal(m.attributes<ops::average_pool>(n).kernel_shape, 1);
                                             }};
inline constexpr rule_condition whole_windows{"windows do not reach beyond the pads", [](match const& m) {
                                                  return !m.attributes<ops::average_pool>(n).ceil_mode;
                                              }};
template <class Op>
constexpr rule_condition whole_windows_before() noexcept {
    return {"windows of the pooling before do not reach beyond the pads",
            [](match const& m) { return !m.attributes<Op>(l).ceil_mode; }};
}
inline constexpr rule_condition one_pixel{"the window is one pixel", is_subsampling};
inline constexpr rule_condition strided{
    "there are strides", [](match const& m) { return !all_equal(m.attributes<ops::conv>(c).strides, 1); }};
inline constexpr rule_condition equal_strides{"the strides are equal", [](match const& m) {
                                                  return m.attributes<ops::conv>(c).strides ==
                                                         m.attributes<ops::conv>(e).strides;
                                              }};
inline constexpr rule_condition equal_terms{
    "both terms have the type of the sum", [](match const& m) {
        auto const sum = m.node(t);
        return equal_static_types(m.type(m.graph().operand(sum, 0)), m.type_of_label(sum)) &&
               equal_static_types(m.type(m.graph().operand(sum, 1)), m.type_of_label(sum));
    }};
/// Booleans have no mean.
inline constexpr rule_condition element_stays{"the operands have the element type of the result", [](match const& m) {
                                                  auto const stays = [&](name_hash name) {
                                                      auto const operand = m.value(name);
                                                      return !operand.valid() || m.type(operand).element ==
                                                                                     m.type_of_label(m.node(u)).element;
                                                  };
                                                  return stays(decltype(x)::name) && stays(decltype(y)::name);
                                              }};
} // namespace detail

inline constexpr provenance per_channel{"law 16: pooling looks at one channel at a time"};

/// Pool through concat (law 16): pooling looks at one channel of one image.
inline constexpr auto max_pool_into_concat = rule<"max_pool_into_concat">(
    max_pool[n](concat[j](each(x))), built_by<detail::pool_into_concat>, where(detail::in_batch_or_channels),
    prefer(condition("no places of maxima are asked for",
                     [](match const& m) { return m.graph().result_count(m.node(n)) == 1; })),
    per_channel);
inline constexpr auto max_pool_out_of_concat = rule<"max_pool_out_of_concat">(
    concat[j](each(max_pool[n](x))), built_by<detail::pool_out_of_concat>,
    where(detail::in_batch_or_channels, detail::fit_together, same_operator(n)), per_channel);
inline constexpr auto average_pool_into_concat =
    rule<"average_pool_into_concat">(average_pool[n](concat[j](each(x))), built_by<detail::pool_into_concat>,
                                     where(detail::in_batch_or_channels), per_channel);
inline constexpr auto average_pool_out_of_concat = rule<"average_pool_out_of_concat">(
    concat[j](each(average_pool[n](x))), built_by<detail::pool_out_of_concat>,
    where(detail::in_batch_or_channels, detail::fit_together, same_operator(n)), per_channel);

/// Average pool as convolution (law 12): W[o,i,...] = [o = i] / taps. Only beside a convolution with which it can
/// merge.
inline constexpr auto average_pool_as_conv = rule<"average_pool_as_conv">(
    roots(average_pool[n](x), context(conv[d](x, v, b))), built_by<detail::average_pool_as_conv>,
    where(detail::same_divisor, detail::whole_windows),
    prefer(condition("a sibling convolution has its strides and dilations, one group and as large a window",
                     detail::fits_into_sibling),
           detail::several_taps),
    provenance{"law 12: the mean is a weighted sum"});

/// Average pool as depthwise convolution (law 12): W[c,0,...] = 1 / taps.
inline constexpr auto average_pool_as_depthwise =
    rule<"average_pool_as_depthwise">(average_pool[n](x), built_by<detail::average_pool_as_depthwise>,
                                      where(detail::same_divisor, detail::whole_windows), prefer(detail::several_taps),
                                      provenance{"law 12: the mean is a weighted sum"})
        .as(rule_kind::internal);

/// Composes an average pool and a pointwise convolution (laws 12 and 11). W'[o,i,...] = V[o,i] / taps, strides
/// multiply.
inline constexpr auto compose_pool_pointwise =
    rule<"compose_pool_pointwise">(
        conv[d](average_pool[n](x), v, b), built_by<detail::compose_pool_pointwise>,
        where(detail::same_divisor, detail::whole_windows, pointwise(v), unpadded(d)),
        prefer(constant(v), condition("the convolution has at most 2^24 products", detail::has_few_products),
               detail::several_taps),
        provenance{"laws 12 and 11"})
        .as(rule_kind::macro);

/// Pointwise convolution before average pool (law 12): a mean within channels and a sum over channels commute. The
/// cheaper order is the one with fewer pixels and channels to read: after a pool of stride 2 a pointwise convolution
/// has a quarter of the products; before it, it can merge with others of the same input. Pools of one pixel, which save
/// more the earlier they come, only move up.
inline constexpr auto pointwise_before_pool = rule<"pointwise_before_pool">(
    conv[d](average_pool[n](x), v, b), built_by<detail::pointwise_before_pool>,
    where(pointwise(v), unpadded(d), unit_stride(d), linear(d)), prefer(constant(v), detail::several_taps),
    provenance{"law 12: means of a channel and sums over channels commute"});
/// Average pool before pointwise convolution (law 12). A bias stays with the convolution, so a pool that counts pads
/// must have none to pass.
inline constexpr auto pool_before_pointwise = rule<"pool_before_pointwise">(
    average_pool[n](conv[d](x, v, b)), built_by<detail::pool_before_pointwise>,
    where(pointwise(v), unpadded(d), unit_stride(d), linear(d), detail::bias_stays), prefer(constant(v)),
    provenance{"law 12: means of a channel and sums over channels commute"});

/// Subsampling before pointwise convolution (law 12 with one tap): a strided one sees only the pixels that an average
/// pool of one tap keeps. Without strides it can merge with others of its size: the sum at the end of a residual block
/// is one convolution.
inline constexpr auto subsample_before_pointwise = rule<"subsample_before_pointwise">(
    conv[d](x, v, b), built_by<detail::subsample_before_pointwise>, where(pointwise(v), unpadded(d)),
    prefer(constant(v), condition("there are strides",
                                  [](match const& m) { return !all_equal(m.attributes<ops::conv>(d).strides, 1); })),
    provenance{"law 12: the mean of one pixel is that pixel"});

/// Subsampling further up (law 12 with one tap): pixels that nobody reads need not be computed. It passes elementwise
/// operators, and turns into strides of convolutions and pools. Where a stage of a network begins with strided
/// pointwise convolutions, the last block of the stage before then has a quarter of the multiplications.
inline constexpr auto subsample_before_unary = rule<"subsample_before_unary">(
    average_pool[n](unary[u](x)), unary[u](average_pool[n](x)), where(detail::one_pixel, detail::element_stays),
    provenance{"law 12: an elementwise operator sees pixels alone"});
inline constexpr auto subsample_before_binary = rule<"subsample_before_binary">(
    average_pool[n](binary[u](x, y)), built_by<detail::subsample_before_binary>,
    where(detail::one_pixel, detail::element_stays,
          condition("each operand has all dimensions, or one number for all pixels", detail::operands_have_pixels)),
    provenance{"law 12: an elementwise operator sees pixels alone"});
inline constexpr auto subsample_before_bn = rule<"subsample_before_bn">(
    average_pool[n](batch_norm[s](x, scale, shift, mean, variance)),
    batch_norm[s](average_pool[n](x), scale, shift, mean, variance), where(detail::one_pixel),
    prefer(constant(scale, shift, mean, variance)), provenance{"law 12: a normalisation sees pixels alone"});
inline constexpr auto subsample_into_conv =
    rule<"subsample_into_conv">(average_pool[n](conv[d](x, v, b)), built_by<detail::subsample_into_conv>,
                                where(detail::one_pixel), provenance{"law 12: strides multiply"});
inline constexpr auto subsample_into_max_pool = rule<"subsample_into_max_pool">(
    average_pool[n](max_pool[l](x)), built_by<detail::subsample_into_max_pool>,
    where(detail::one_pixel, detail::whole_windows_before<ops::max_pool>()), provenance{"law 12: strides multiply"});
inline constexpr auto subsample_into_average_pool = rule<"subsample_into_average_pool">(
    average_pool[n](average_pool[l](x)), built_by<detail::subsample_into_average_pool>,
    where(detail::one_pixel, detail::whole_windows_before<ops::average_pool>()),
    provenance{"law 12: strides multiply"});

/// Moves the strides of pointwise convolutions into the convolution whose pixels they skip, in one step, since single
/// steps would cost something. It passes the activation in a block, and the sum that ends a block before two
/// convolutions with equal strides.
inline constexpr auto strides_into_conv =
    rule<"strides_into_conv">(conv[c](conv[d](x, v, b), w, a), built_by<detail::strides_through>,
                              where(pointwise(w), unpadded(c)), prefer(constant(v, w), detail::strided),
                              provenance{"law 12 with one tap, and strides multiply"})
        .as(rule_kind::macro);
inline constexpr auto strides_through_unary =
    rule<"strides_through_unary">(conv[c](unary[u](conv[d](x, v, b)), w, a), built_by<detail::strides_through>,
                                  where(pointwise(w), unpadded(c)), prefer(constant(v, w), detail::strided),
                                  provenance{"law 12 with one tap, and strides multiply"})
        .as(rule_kind::macro);
inline constexpr auto strides_through_normalized_unary =
    rule<"strides_through_normalized_unary">(
        conv[c](unary[u](batch_norm[s](conv[d](x, v, b), scale, shift, mean, variance)), w, a),
        built_by<detail::strides_through>, where(pointwise(w), unpadded(c)), prefer(constant(v, w), detail::strided),
        provenance{"law 12 with one tap, and strides multiply"})
        .as(rule_kind::macro);
inline constexpr auto strides_through_sum =
    rule<"strides_through_sum">(
        roots(conv[c](unary[u](add[t](conv[d](x, v, b), y)), w, a), conv[e](result_of_u, z, k)),
        built_by<detail::strides_through>,
        where(pointwise(w), unpadded(c), pointwise(z), unpadded(e), detail::equal_strides, detail::equal_terms),
        prefer(constant(v, w, z), detail::strided, in_order(c, e)),
        provenance{"law 12 with one tap, and strides multiply"})
        .as(rule_kind::macro);
inline constexpr auto strides_through_normalized_sum =
    rule<"strides_through_normalized_sum">(
        roots(conv[c](unary[u](add[t](batch_norm[s](conv[d](x, v, b), scale, shift, mean, variance), y)), w, a),
              conv[e](result_of_u, z, k)),
        built_by<detail::strides_through>,
        where(pointwise(w), unpadded(c), pointwise(z), unpadded(e), detail::equal_strides, detail::equal_terms),
        prefer(constant(v, w, z), detail::strided, in_order(c, e)),
        provenance{"law 12 with one tap, and strides multiply"})
        .as(rule_kind::macro);

/// All rules of this header.
[[nodiscard]] constexpr auto all() noexcept {
    return rule_list(max_pool_into_concat, max_pool_out_of_concat, average_pool_into_concat, average_pool_out_of_concat,
                     average_pool_as_conv, average_pool_as_depthwise, compose_pool_pointwise, pointwise_before_pool,
                     pool_before_pointwise, subsample_before_pointwise, subsample_before_unary, subsample_before_binary,
                     subsample_before_bn, subsample_into_conv, subsample_into_max_pool, subsample_into_average_pool,
                     strides_into_conv, strides_through_unary, strides_through_normalized_unary, strides_through_sum,
                     strides_through_normalized_sum);
}

} // namespace gsub::rules::pooling

#ifndef GSUB_COMPILED
#include <gsub/rewrite/rules/impl/pool.ipp>
#endif
