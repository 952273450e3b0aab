// CombineParallelDense: combines matrix products of one value.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Combines products of one value with constant matrices, `ops::mat_mul` or `ops::gemm` with equal attributes:
/// concatenates the matrices and splits the result along its columns. With `to_batch`, stacks matrices of one shape
/// into one batched product and splits the result along the batch (`ops::mat_mul` alone). It also combines what follows
/// in all branches alike, as in `combine_parallel_conv2d`; a scalar is repeated for its branch where it must be.
/// Outcome: `matches` counts the groups that were combined. *Complexity* O((n + e) log n). *Source* TVM's
/// CombineParallelDense, which stacks by default.
struct combine_parallel_dense {
    std::size_t min_branches = 3; ///< at least 2
    bool to_batch = false;

    static constexpr auto facts =
        pass_facts("combine-parallel-dense", exactness::reassociating, "joins matrix products that read one value",
                   {.tvm_name = "CombineParallelDense", .level = 4, .classes = {"RN"}});
    static bool may_apply(op_histogram const& ops) {
        return ops.count<gsub::ops::mat_mul>() > 1 || ops.count<gsub::ops::gemm>() > 1;
    }
    /// The number of branches, `batch`, or both: `3,batch`.
    GSUB_LAZY static result<combine_parallel_dense> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/combine/impl/combine_parallel_dense.ipp>
#include <gsub/passes/combine/impl/sibling_combiner.ipp>
#endif
