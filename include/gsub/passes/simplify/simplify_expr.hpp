// SimplifyExpr: simplifies small expressions.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Simplifies expressions to a fixed point:
/// - `x + 0`, `x - 0`, `x * 1`, `x / 1` are x, where the result has its type;
/// - views of views (`Reshape`, `Flatten`, `Squeeze`, `Unsqueeze`) of known sizes become one, those that change nothing
///   vanish; `Squeeze` and `Unsqueeze` of the same axes cancel, whatever the sizes;
/// - transposes of transposes become one, those that change nothing vanish; layout transforms likewise;
/// - a `Cast` to its operand's type vanishes, one after a lossless cast reads that cast's operand;
/// - a broadcasting operator reads the operand of an `Expand`, or one number instead of a tensor filled with it;
/// - `Identity`, `Dropout`, `Pad` and `Slice` that change nothing vanish.
///
/// The sign of zero may change: `x + 0` gives 0 for x = -0, x itself gives -0. With `signed_zeros`, additions that
/// would change it stay. Nothing else changes a bit. The pass has no law that rounds otherwise (merged constants,
/// reciprocal roots). Outcome: `matches` counts nodes simplified. *Complexity* O((n + e) log n), and one scan of each
/// constant addend or factor. *Source* TVM's SimplifyExpr.
struct simplify_expr {
    bool signed_zeros = false; ///< whether -0 stays -0

    // What may differ is the sign of zero.
    static constexpr auto facts =
        pass_facts("simplify-expr", exactness::reassociating, "writes small expressions shorter",
                   {.tvm_name = "SimplifyExpr", .classes = {"RN", "MN", "SSD"}});
    /// `signed-zeros`, or nothing. *Errors* `usage` for another text.
    GSUB_LAZY static result<simplify_expr> from_text(std::string_view text);
    /// What `from_text` reads.
    [[nodiscard]] std::string_view arguments() const noexcept { return signed_zeros ? "signed-zeros" : ""; }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/simplify/impl/simplify_expr.ipp>
#endif
