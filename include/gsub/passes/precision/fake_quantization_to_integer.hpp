// FakeQuantizationToInteger: computes with integers between dequantize and quantize.
#pragma once

#include <gsub/ir/ops/ops_quantized.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Rewrites each region between a `quantize` and the bounding `dequantize`s above it to integers, if every operator
/// between has an integer rule; otherwise the region stays whole. A convolution in front of the `quantize` becomes one
/// `qlinear_conv`. All other sums are in i32, then dequantized and quantized; where type and scale are right already,
/// the `quantize` vanishes. Values that others read too keep their floating form for those.
///
/// Rules: operators that move elements, `split` and `max_pool` pass through, `pad` and `clip` with their numbers
/// quantized, `relu`; `conv`, `gemm`, `mat_mul` (weights with a scale each, or one a channel of a convolution; biases
/// in the scale of the sum); `concat`, each part brought to the scale of the result where they differ; `add`, `sub`
/// (both sides in 2^-20 of the larger scale), `mul`; `global_average_pool`; `average_pool`, of windows of one size.
/// Scales and zero points must be constants; those of activations are one number each. Results differ by a step where a
/// sum lies next to the middle between two steps. Outcome: `matches` counts `quantize`s rewritten, `skipped` those
/// left, by reason. *Complexity* O(n + e). *Source* TVM's FakeQuantizationToInteger.
struct fake_quantization_to_integer {
    static constexpr auto facts =
        pass_facts("fake-quantization-to-integer", exactness::precision_changing,
                   "computes with integers between dequantizing and quantizing",
                   {.tvm_name = "FakeQuantizationToInteger", .classes = {"AD"}, .aliases = {"FQ2I"}});
    static bool may_apply(op_histogram const& counts) {
        return counts.any_of<ops::quantize>() && counts.any_of<ops::dequantize>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/precision/impl/fake_quantization_to_integer.ipp>
#include <gsub/passes/precision/impl/quantized_values.ipp>
#endif
