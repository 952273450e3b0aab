// CombineParallelBatchMatmul: combines batched matrix products of one left operand.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Combines products `ops::mat_mul` of one left operand with right operands of three dimensions or more that differ in
/// their columns only: concatenates the right operands, computed ones too, and splits the result. It also combines what
/// follows, as in `combine_parallel_dense`. Computed right operands must all be nearer to the inputs than any of the
/// products (by the longest path), so that none depends on another. Outcome: `matches` counts the groups that were
/// combined. *Complexity* O((n + e) log n). *Source* TVM's CombineParallelBatchMatmul.
struct combine_parallel_batch_matmul {
    std::size_t min_branches = 3; ///< at least 2

    static constexpr auto facts = pass_facts("combine-parallel-batch-matmul", exactness::reassociating,
                                             "joins products of stacks of matrices that share their left operand",
                                             {.tvm_name = "CombineParallelBatchMatmul", .level = 4});
    static bool may_apply(op_histogram const& ops) { return ops.count<gsub::ops::mat_mul>() > 1; }
    /// The number of branches.
    GSUB_LAZY static result<combine_parallel_batch_matmul> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/combine/impl/combine_parallel_batch_matmul.ipp>
#include <gsub/passes/combine/impl/sibling_combiner.ipp>
#endif
