// BatchingOps: runs all CombineParallel passes.
#pragma once

#include <gsub/passes/combine/combine_parallel_batch_matmul.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/combine/combine_parallel_dense.hpp>

namespace gsub::passes {

/// Runs `combine_parallel_conv2d`, `combine_parallel_dense` and `combine_parallel_batch_matmul`, in this order, with
/// their defaults. Outcome: the sum. *Source* TVM's BatchingOps.
struct batching_ops {
    static constexpr auto facts =
        pass_facts("batching-ops", exactness::reassociating, "joins convolutions and products that read one value",
                   {.tvm_name = "BatchingOps", .level = 4, .classes = {"BR"}});
    static bool may_apply(op_histogram const& ops) {
        return combine_parallel_conv2d::may_apply(ops) || combine_parallel_dense::may_apply(ops) ||
               combine_parallel_batch_matmul::may_apply(ops);
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const {
        return capture([&] {
            auto outcome = combine_parallel_conv2d{}(g, cx).value();
            outcome += combine_parallel_dense{}(g, cx).value();
            return outcome += combine_parallel_batch_matmul{}(g, cx).value();
        });
    }
};

} // namespace gsub::passes
