// ForwardFoldScaleAxis: folds scales into the weights behind them.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/fold/backward_fold_scale_axis.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Folds a multiplication by a constant, a scalar or per channel, into the weights of all its readers: convolutions (of
/// one group, or depthwise) and matrix products. On the way it passes ReLU where no factor is negative, views, and,
/// where no factor is zero, additions of constants, which it divides by the factor. A single reader of another kind, or
/// a graph output, keeps it in place. `fold-constant` computes the weight arithmetic. Left alone: as in
/// `backward_fold_scale_axis`. Outcome: `matches` counts the multiplications that were folded. *Complexity* O((n + e)
/// log n), regions of at most 256 nodes. *Source* TVM's ForwardFoldScaleAxis.
struct forward_fold_scale_axis {
    static constexpr auto facts =
        pass_facts("forward-fold-scale-axis", exactness::reassociating, "folds scales into the weights behind them",
                   {.tvm_name = "ForwardFoldScaleAxis", .level = 3, .classes = {"BR"}});
    static bool may_apply(op_histogram const& ops) { return backward_fold_scale_axis::may_apply(ops); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fold/impl/forward_fold_scale_axis.ipp>
#endif
