// FirstOrderGradient: adds gradients by reverse-mode differentiation.
#pragma once

#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/pass.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// Adds to the outputs of every entry function the gradients of L, the sum of all elements of its floating-point
/// outputs, with respect to inputs or named constants. Gradients are ordinary operators and share what they can with
/// the results, none of which is computed twice.
///
/// Added outputs: for each name `x` in `with_respect_to`, one called `grad_x`, of the type of `x`; zeros where L does
/// not depend on it. The results come first, as before. Integer inputs have no gradient, and no output where
/// `with_respect_to` is empty.
///
/// Subgradients: 0 for `Relu` and `Abs` at 0, the inner one for `Clip` at a bound; the first maximum of a window gets
/// the whole gradient, equal maxima of a `ReduceMax` share it.
///
/// Composite operators and activations inside of convolutions on the way are replaced by their parts, results included.
/// Shapes that a rule needs must be fixed; sums over broadcast dimensions take fixed or named dimensions. The gradient
/// of `Gather` is a product with a matrix of ones and zeros, as long as the table is. A second run gives derivatives of
/// the gradients, which `of` picks: `of=grad_x`. Other functions stay as they are. *Errors* `usage` for a name that is
/// no floating-point input, constant or output; `unsupported` listing the operators on the way without a rule, and
/// where an entry function is called by another. Outcome: `matches` counts the gradients. *Complexity* O(n + e), one
/// rule per node. *Source* TVM's FirstOrderGradient.
struct first_order_gradient {
    std::vector<std::string> with_respect_to{}; ///< inputs or constants; empty: every floating-point input
    std::vector<std::string> of{};              ///< outputs that L sums; empty: every floating-point one
    bool seeds = false; ///< L is the sum of products with further inputs, `seed_y` of the type of output `y`
    std::span<gradient_rule const> rules{}; ///< beside the built-in ones, and before them; must outlive the pass

    static constexpr auto facts =
        pass_facts("first-order-gradient", exactness::reassociating, "adds gradients to the outputs",
                   {.tvm_name = "FirstOrderGradient",
                    .classes = {"MN"},
                    .required = {"simplify-inference"},
                    .preserves_semantics = false});
    /// Names of inputs and constants, `of=` with the name of an output, and `seeds`, with commas between them.
    GSUB_LAZY static result<first_order_gradient> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
    /// Adds gradients to one graph.
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/gradient/impl/first_order_gradient.ipp>
#include <gsub/passes/impl/argument_list.ipp>
#endif
