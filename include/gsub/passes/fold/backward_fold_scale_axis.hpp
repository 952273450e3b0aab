// BackwardFoldScaleAxis: folds scales into the weights in front of them.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Folds a multiplication by a constant, a scalar or per channel, into weight and bias of the convolution or matrix
/// product that computes its operand. On the way it passes additions (scaling both sides; a constant side is
/// multiplied), views, and ReLU where no factor is negative. Every value on the way must have this one reader. Weights
/// that others read too are scaled in a copy. `fold-constant` computes the weight arithmetic. Left alone: elements
/// other than f32 and f64, factors that are not finite or beyond 2^60 or below 2^-60 in size. Outcome: `matches` counts
/// the multiplications that were folded. *Complexity* O((n + e) log n), regions of at most 256 nodes. *Source* TVM's
/// BackwardFoldScaleAxis, which knows convolutions alone.
struct backward_fold_scale_axis {
    static constexpr auto facts = pass_facts(
        "backward-fold-scale-axis", exactness::reassociating, "folds scales into the weights in front of them",
        {.tvm_name = "BackwardFoldScaleAxis", .level = 3, .classes = {"RN", "MN", "SSD"}});
    static bool may_apply(op_histogram const& ops) {
        return ops.any_of<gsub::ops::mul>() && ops.any_of<gsub::ops::conv, gsub::ops::mat_mul, gsub::ops::gemm>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fold/impl/backward_fold_scale_axis.ipp>
#endif
