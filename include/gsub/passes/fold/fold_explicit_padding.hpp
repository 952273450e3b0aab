// FoldExplicitPadding: folds pads into the convolutions and pools that read them.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Folds an `ops::pad` with constant widths into the convolutions and pools that read it, whose pads grow by its
/// widths. Zeros fold into a convolution, but for one by constant weights that are not finite; into an average pool
/// that counts its pads, or has none; into a max pool whose operand is known to have no negative element. The lowest
/// number folds into a max pool, whose windows must each see an element. Pools that round up stay. Several pads in a
/// row all fold. A pad with other readers stays for them. Outcome: `matches` counts the pads that were folded, once for
/// each reader. *Complexity* O((n + e) log n). *Source* TVM's FoldExplicitPadding.
struct fold_explicit_padding {
    static constexpr auto facts =
        pass_facts("fold-explicit-padding", exactness::reassociating, "folds borders into the windows that read them",
                   {.tvm_name = "FoldExplicitPadding", .classes = {"RN", "SSD"}});
    static bool may_apply(op_histogram const& ops) {
        return ops.any_of<gsub::ops::pad>() &&
               ops.any_of<gsub::ops::conv, gsub::ops::average_pool, gsub::ops::max_pool>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fold/impl/fold_explicit_padding.ipp>
#endif
