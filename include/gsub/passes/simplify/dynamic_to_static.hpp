// DynamicToStatic: turns constant operands of dynamic operators into attributes.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Makes attributes of the shapes, axes, bounds, sizes and pads that `Reshape`, `Expand`, `ConstantOfShape`, `Slice`,
/// `Pad`, `Split`, `Squeeze`, `Unsqueeze` and the reductions read from operands, where constants and known dimensions
/// tell them, and replaces an `If` by the branch taken. One sweep propagates the elements of small integer tensors and
/// infers types again, so that what one operator makes known serves the next. Values that depend on floating-point
/// arithmetic are computed. Nodes left without a reader are erased; all else that could be folded stays for
/// `fold_constant`.
///
/// An operator of which only some settings are known stays. No number changes; types may say more than before. Outcome:
/// `matches` counts operators and branches. *Errors* `invalid_input` where functions call each other through `If` nodes
/// in a cycle, `usage` as `evaluators_of`. *Complexity* O(n + e) for each level of nested branches, and that of the
/// arithmetic. *Source* TVM's DynamicToStatic.
struct dynamic_to_static {
    static constexpr auto facts =
        pass_facts("dynamic-to-static", exactness::bit_exact, "makes settings that are known beforehand attributes",
                   {.tvm_name = "DynamicToStatic", .level = 2, .classes = {"AD"}});
    static bool may_apply(op_histogram const& counts) {
        return counts.any_of<ops::reshape, ops::expand, ops::fill, ops::slice, ops::pad, ops::split, ops::squeeze,
                             ops::unsqueeze, ops::reduce_sum, ops::reduce_mean, ops::reduce_max, ops::if_else>();
    }
    bool types_alone = false; ///< whether a function is made anew too where its types alone say more
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/simplify/impl/dynamic_to_static.ipp>
#endif
