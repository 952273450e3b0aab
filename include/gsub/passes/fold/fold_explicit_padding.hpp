// Borders put around values, folded into the windows that read them.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>

namespace gsub::passes {

/// Lets convolutions and pools read what a `ops::pad` with constant widths read, with its widths added to their own.
/// A border of zeros folds into a convolution; into a mean over windows that counts its border, or had none, and does
/// not round up; into a maximum over windows where no element is known to be negative. A border of the lowest number
/// folds into a maximum. Windows of a maximum must each see an element. Several borders in a row all fold. A border
/// with other readers stays for them.
/// Outcome: `matches` counts the borders that were folded, once for each reader. *Complexity* O((n + e) log n).
/// *Source* TVM's FoldExplicitPadding.
struct fold_explicit_padding {
    static constexpr std::string_view name = "fold-explicit-padding";
    static constexpr std::string_view effect = "folds borders into the windows that read them";
    static constexpr auto exact = exactness::reassociating;
    static constexpr std::array<std::string_view, 2> classes{"RN", "SSD"};
    static bool may_apply(op_histogram const& ops) {
        return ops.any_of<gsub::ops::pad>() &&
               ops.any_of<gsub::ops::conv, gsub::ops::average_pool, gsub::ops::max_pool>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fold/impl/fold_explicit_padding.ipp>
#endif
