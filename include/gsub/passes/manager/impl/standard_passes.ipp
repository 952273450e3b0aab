#pragma once

#include <gsub/passes/annotate/annotate_spans.hpp>
#include <gsub/passes/canonicalize/canonicalize_cast.hpp>
#include <gsub/passes/canonicalize/canonicalize_ops.hpp>
#include <gsub/passes/combine/batching_ops.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/eliminate/eliminate_common_subexpr.hpp>
#include <gsub/passes/eliminate/remove_unused_functions.hpp>
#include <gsub/passes/fold/backward_fold_scale_axis.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/fold/fold_explicit_padding.hpp>
#include <gsub/passes/fold/forward_fold_scale_axis.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/fuse/merge_composite.hpp>
#include <gsub/passes/gradient/first_order_gradient.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/passes/layout/convert_layout.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/passes/normal_form/to_a_normal_form.hpp>
#include <gsub/passes/normal_form/to_graph_normal_form.hpp>
#include <gsub/passes/partition/annotate_target.hpp>
#include <gsub/passes/partition/merge_compiler_regions.hpp>
#include <gsub/passes/partition/partition_graph.hpp>
#include <gsub/passes/precision/fake_quantization_to_integer.hpp>
#include <gsub/passes/precision/to_mixed_precision.hpp>
#include <gsub/passes/simplify/dynamic_to_static.hpp>
#include <gsub/passes/simplify/fast_math.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>
#include <gsub/passes/simplify/simplify_fc_transpose.hpp>
#include <gsub/passes/simplify/simplify_inference.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace gsub::passes {

namespace detail {

// Without a target no layout is desired.
struct no_layout {
    std::optional<layout> operator()(layout_query const&) const { return std::nullopt; }
};

} // namespace detail

GSUB_LAZY_BODY std::vector<pass_list> standard_lists() {
    return {
        {"none", "", "no pass: every operator is a kernel of its own, on row-major values"},
        {"default",
         "fold-constant, simplify-expr(signed-zeros), convert-layout, fold-constant, fold-explicit-padding, "
         "alter-op-layout, fuse-ops",
         "what a build does where no list is given"},
        {"BL",
         "alter-op-layout, canonicalize-cast, canonicalize-ops, convert-layout, defuse-ops, eliminate-common-subexpr",
         "the passes of level 3, in alphabetical order"},
        {"tvm_o0", "simplify-inference, simplify-expr", "what TVM 0.8 runs at level 0, which groups nothing"},
        {"tvm_o1", "remove-unused-functions, simplify-inference, simplify-expr, fuse-ops",
         "what TVM 0.8 runs at level 1"},
        {"tvm_o2",
         "remove-unused-functions, simplify-inference, dynamic-to-static, simplify-expr, fold-constant, fuse-ops",
         "what TVM 0.8 runs at level 2"},
        {"tvm_o3",
         "remove-unused-functions, simplify-inference, dynamic-to-static, eliminate-common-subexpr, simplify-expr, "
         "fold-constant, backward-fold-scale-axis, forward-fold-scale-axis, fold-constant, canonicalize-cast, "
         "canonicalize-ops, alter-op-layout, fold-constant, fuse-ops",
         "what TVM 0.8 runs at level 3"},
        {"tvm_o4",
         "remove-unused-functions, simplify-inference, dynamic-to-static, eliminate-common-subexpr, simplify-expr, "
         "combine-parallel-conv2d, combine-parallel-dense, combine-parallel-batch-matmul, fold-constant, "
         "backward-fold-scale-axis, forward-fold-scale-axis, fold-constant, canonicalize-cast, canonicalize-ops, "
         "alter-op-layout, fast-math, fold-constant, fuse-ops",
         "what TVM 0.8 runs at level 4"},
        {"AS-0",
         "alter-op-layout, fuse-ops, simplify-expr, fold-constant, dead-code-elimination, merge-composite, fast-math, "
         "remove-unused-functions",
         "chosen by architecture, first order"},
        {"AS-1",
         "simplify-expr, fuse-ops, alter-op-layout, merge-composite, fast-math, dead-code-elimination, fold-constant, "
         "remove-unused-functions",
         "chosen by architecture, second order"},
        {"PO-0",
         "alter-op-layout, combine-parallel-conv2d, defuse-ops, dynamic-to-static, canonicalize-ops, canonicalize-cast",
         "chosen at random"},
        {"PO-1",
         "canonicalize-cast, alter-op-layout, defuse-ops, combine-parallel-conv2d, partition-graph, "
         "fake-quantization-to-integer",
         "chosen at random"},
        {"PO-2",
         "to-mixed-precision, combine-parallel-conv2d, eliminate-common-subexpr, simplify-fc-transpose, "
         "canonicalize-ops, defuse-ops, to-graph-normal-form, to-graph-normal-form",
         "chosen at random"},
        {"PO-3",
         "combine-parallel-dense, fake-quantization-to-integer, alter-op-layout, combine-parallel-conv2d, "
         "to-graph-normal-form, canonicalize-ops",
         "chosen at random"},
    };
}

GSUB_LAZY_BODY pass_manager standard_passes() {
    pass_manager all;
    all.add(alter_op_layout{detail::no_layout{}}).add(dead_code_elimination{}).add(defuse_ops{}).add(fuse_ops{});
    all.add(backward_fold_scale_axis{}).add(forward_fold_scale_axis{}).add(fold_explicit_padding{});
    all.add(combine_parallel_conv2d{}).add(combine_parallel_dense{}).add(combine_parallel_batch_matmul{});
    all.add(batching_ops{}).add(convert_layout{});
    all.add(simplify_inference{}).add(simplify_expr{}).add(fold_constant{}).add(eliminate_common_subexpr{});
    all.add(canonicalize_ops{}).add(canonicalize_cast{});
    all.add(merge_composite{}).add(annotate_target{}).add(merge_compiler_regions{}).add(partition_graph{});
    all.add(remove_unused_functions{}).add(annotate_spans{}).add(to_a_normal_form{}).add(to_graph_normal_form{});
    all.add(first_order_gradient{});
    all.add(dynamic_to_static{}).add(simplify_fc_transpose{}).add(fast_math{}).add(to_mixed_precision{});
    all.add(fake_quantization_to_integer{});
    for (auto& list : standard_lists()) all.add_list(std::move(list));
    return all;
}

} // namespace gsub::passes
