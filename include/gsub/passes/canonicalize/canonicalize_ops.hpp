// CanonicalizeOps: brings biases into one form.
#pragma once

#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>
#include <gsub/ir/ops/ops_nn.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Takes biases out of operators, so that later passes see one form of addition. TVM's pass turns `bias_add` into
/// `add`; the graph has no such operator: biases are operands of others.
///
/// | from | to |
/// |---|---|
/// | `Conv(x, w, b)` | `Add(Conv(x, w), Unsqueeze(b))` |
/// | `Gemm(a, b, c)` with its factors and transpositions | `Add(MatMul(a', b'), c')` with `Transpose`, `Mul` |
/// | `Sum` of one or two | the operand, or `Add` |
///
/// Biases behind which a convolution applies an activation stay, and so do operators on 16-bit floats, which would be
/// rounded once more, products of integers with factors, and unknown ranks. Outcome: `matches` counts the operators
/// rewritten. *Complexity* O((n + e) log n). *Source* TVM's CanonicalizeOps.
struct canonicalize_ops {
    static constexpr auto facts =
        pass_facts("canonicalize-ops", exactness::reassociating, "adds biases by operators of their own",
                   {.tvm_name = "CanonicalizeOps", .level = 3, .classes = {"BL"}});
    static bool may_apply(op_histogram const& counts) { return counts.any_of<ops::conv, ops::gemm, ops::sum>(); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/canonicalize/impl/canonicalize_ops.ipp>
#endif
