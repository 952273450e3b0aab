// FastMath: approximates transcendental functions.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>

namespace gsub::passes {

/// Replaces `Exp`, `Tanh`, `Erf` and `Softmax` of f32 by `ops::fast_exp` and so on, whose errors
/// `eval/evaluate_fast.hpp` states, for the reference runtime; kernels compute them with fewer terms
/// (`codegen/cpp/vector_math.hpp` has their errors, at most 1.3e-5). Other element types stay exact, and so does weight
/// arithmetic, which runs once. Files get the exact operators: ONNX has no others. Outcome: `matches` counts operators.
/// *Complexity* O(n). *Source* TVM's FastMath.
struct fast_math {
    static constexpr std::string_view name = "fast-math";
    static constexpr std::string_view tvm_name = "FastMath";
    static constexpr std::string_view effect = "approximates exponentials, tanh, erf and softmax";
    static constexpr auto exact = exactness::approximate;
    static constexpr double tolerance = 1e-4;
    static constexpr int level = 4;
    static constexpr std::array<std::string_view, 3> classes{"MN", "BR", "SSD"};
    static constexpr bool enters_primitive = true;
    static bool may_apply(op_histogram const& counts) {
        return counts.any_of<ops::exp, ops::tanh, ops::erf, ops::softmax>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/simplify/impl/fast_math.ipp>
#endif
