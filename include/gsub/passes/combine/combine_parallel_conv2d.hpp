// CombineParallelConv2D: combines convolutions of one value.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Combines convolutions that read one value with equal attributes and kernel sizes, ungrouped, with constant weights:
/// concatenates weights and biases, and splits the result. It also combines what follows in all branches alike, step by
/// step: an elementwise operator that alone reads the branch, with equal attributes, and with a constant of the
/// branch's channels where it has two operands. `fold-constant` computes the weight arithmetic. Whether it pays depends
/// on the machine: a wide convolution may be slower than several. Outcome: `matches` counts the groups that were
/// combined. *Complexity* O((n + e) log n). *Source* TVM's CombineParallelConv2D.
struct combine_parallel_conv2d {
    std::size_t min_branches = 3; ///< at least 2

    static constexpr auto facts =
        pass_facts("combine-parallel-conv2d", exactness::reassociating, "joins convolutions that read one value",
                   {.tvm_name = "CombineParallelConv2D", .level = 4, .classes = {"RN"}});
    static bool may_apply(op_histogram const& ops) { return ops.count<gsub::ops::conv>() > 1; }
    /// The number of branches.
    GSUB_LAZY static result<combine_parallel_conv2d> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/combine/impl/combine_parallel_conv2d.ipp>
#include <gsub/passes/combine/impl/sibling_combiner.ipp>
#endif
