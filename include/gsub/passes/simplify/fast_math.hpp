// FastMath: approximates transcendental functions.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Replaces `Exp`, `Tanh`, `Erf` and `Softmax` of f32 by `ops::fast_exp` and so on, whose errors
/// `eval/evaluate_fast.hpp` states, for the reference runtime; kernels compute them with fewer terms
/// (`codegen/cpp/vector_math.hpp` has their errors, at most 1.3e-5). Other element types stay exact, and so does weight
/// arithmetic, which runs once. Files get the exact operators: ONNX has no others. Outcome: `matches` counts operators.
/// *Complexity* O(n). *Source* TVM's FastMath.
struct fast_math {
    static constexpr auto facts =
        pass_facts("fast-math", exactness::approximate, "approximates exponentials, tanh, erf and softmax",
                   {.tvm_name = "FastMath",
                    .level = 4,
                    .classes = {"MN", "BR", "SSD"},
                    .tolerance = 1e-4,
                    .enters_primitive = true});
    static bool may_apply(op_histogram const& counts) {
        return counts.any_of<ops::exp, ops::tanh, ops::erf, ops::softmax>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/simplify/impl/fast_math.ipp>
#endif
