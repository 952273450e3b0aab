// Small expressions written shorter.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>
#include <string_view>

namespace gsub::passes {

/// To a fixed point:
/// - `x + 0`, `x - 0`, `x * 1`, `x / 1` are x, where the result has its type;
/// - views of views (`Reshape`, `Flatten`, `Squeeze`, `Unsqueeze`) of known sizes are one, those that change nothing
///   are gone; `Squeeze` and `Unsqueeze` of the same axes cancel, whatever the sizes;
/// - transpositions of transpositions are one, those that change nothing are gone; changes of layout likewise;
/// - a `Cast` to the own type is gone, one behind a cast that loses nothing reads what that one reads;
/// - an operand of a broadcasting operator that was expanded, or filled with one number, beforehand is not;
/// - `Identity`, `Dropout`, `Pad` and `Slice` that change nothing are gone.
///
/// Zero is a number here, not its sign: `x + 0` gives 0 for x = -0, x itself gives -0. With `signed_zeros` additions
/// stay that would change it. Nothing else changes a bit. Laws that round otherwise (constants put together, reciprocal
/// roots) are none of this pass.
/// Outcome: `matches` counts nodes simplified. *Complexity* O((n + e) log n), and one look at each constant that is
/// added or multiplied by. *Source* TVM's SimplifyExpr.
struct simplify_expr {
    bool signed_zeros = false; ///< whether -0 stays -0

    static constexpr std::string_view name = "simplify-expr";
    static constexpr std::string_view effect = "writes small expressions shorter";
    static constexpr auto exact = exactness::reassociating; // the sign of zero
    static constexpr std::array<std::string_view, 3> classes{"RN", "MN", "SSD"};
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
