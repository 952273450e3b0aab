// SimplifyFCTranspose: stores weights of matrix products transposed.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Replaces `MatMul(x, Transpose(w))`, or such a `Gemm`, of a constant matrix w by a product with a constant `w.T`,
/// made once for all products that read it. w and its Transpose stay where something else reads them. Elements only
/// move, so no bit changes. Outcome: `matches` counts the products. *Errors* `usage` as `evaluators_of`. *Complexity*
/// O(n + e) and the elements of the weights. *Source* TVM's SimplifyFCTranspose, with a check of the permutation.
struct simplify_fc_transpose {
    /// Whether a `Gemm` that reads a constant matrix transposed by its attribute `transB` gets `w.T` too.
    bool gemm_attribute = false;

    static constexpr auto facts = pass_facts("simplify-fc-transpose", exactness::bit_exact,
                                             "stores weights of matrix products the way these read them",
                                             {.tvm_name = "SimplifyFCTranspose",
                                              .level = 4,
                                              .classes = {"MN", "BR"},
                                              .required = {"dead-code-elimination"}});
    static bool may_apply(op_histogram const& counts) { return counts.any_of<ops::transpose, ops::gemm>(); }
    /// `gemm`, or nothing.
    GSUB_LAZY static result<simplify_fc_transpose> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/simplify/impl/simplify_fc_transpose.ipp>
#endif
