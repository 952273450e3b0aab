// BatchingOps: runs all CombineParallel passes.
#pragma once

#include <gsub/passes/combine/combine_parallel_batch_matmul.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/combine/combine_parallel_dense.hpp>

#include <array>

namespace gsub::passes {

/// Runs `combine_parallel_conv2d`, `combine_parallel_dense` and `combine_parallel_batch_matmul`, in this order, with
/// their defaults. Outcome: the sum. *Source* TVM's BatchingOps.
struct batching_ops {
    static constexpr std::string_view name = "batching-ops";
    static constexpr std::string_view tvm_name = "BatchingOps";
    static constexpr std::string_view effect = "joins convolutions and products that read one value";
    static constexpr auto exact = exactness::reassociating;
    static constexpr int level = 4;
    static constexpr std::array<std::string_view, 1> classes{"BR"};
    static bool may_apply(op_histogram const& ops) {
        return combine_parallel_conv2d::may_apply(ops) || combine_parallel_dense::may_apply(ops) ||
               combine_parallel_batch_matmul::may_apply(ops);
    }
    result<pass_outcome> operator()(any_graph& g, pass_context& cx) const {
        return capture([&] {
            auto outcome = combine_parallel_conv2d{}(g, cx).value();
            outcome += combine_parallel_dense{}(g, cx).value();
            return outcome += combine_parallel_batch_matmul{}(g, cx).value();
        });
    }
};

} // namespace gsub::passes
