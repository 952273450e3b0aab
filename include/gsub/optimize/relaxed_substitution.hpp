// RelaxedSubstitution: relaxed graph substitution as a pass of a pipeline.
#pragma once

#include <gsub/cost/lowered.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/passes/pass.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace gsub {

/// Settings of the pass: alpha, rules by name, search budget.
struct substitution_settings {
    double alpha = 1.05;       ///< how far the search may climb above the best cost, at least 1
    std::string rules = "all"; ///< a choice of the library's, see `choose_rules`
    search::budget budget{};

    /// Reads `alpha=1.05 steps=1000 rules=all`, each at most once, in any order. *Errors* `usage`, naming what is
    /// wrong.
    GSUB_LAZY [[nodiscard]] static result<substitution_settings> parse(std::string_view text);
};

namespace detail {
GSUB_LAZY [[nodiscard]] pass_outcome substitute(any_graph& g, pass_context const& cx, cost::any_cost const& model,
                                                substitution_settings const& settings);
} // namespace detail

/// Default cost model of the pass: `cost::lowered::of` the graph and the machine of its context.
struct predicted_time {};

/// Relaxed graph substitution: searches for a cheaper graph under a cost model, `pipeline{simplify_expr{},
/// relaxed_substitution{model}, fuse_ops{}}`. It is `optimize` with the options of a pass. It leaves weight arithmetic
/// to a `fold_constant` after it. Outcome: `matches` counts the rewrites on the path to the result. It leaves a graph
/// whose types name layouts as it is: layouts come after the search. *Errors* those of `optimize`, and of
/// `choose_rules`. *Complexity* that of the search. *Source* Jia et al., "Optimizing DNN computation with relaxed graph
/// substitutions", 2019.
template <class Cost = predicted_time>
struct relaxed_substitution {
    Cost cost{};
    substitution_settings settings{};

    static constexpr auto facts = pass_facts("relaxed-substitution", exactness::reassociating,
                                             "searches for a cheaper graph by substitution rules", {.level = 3});
    /// Reads settings by `substitution_settings::parse`; the cost model is the default one.
    static result<relaxed_substitution> from_text(std::string_view text) {
        auto read = substitution_settings::parse(text);
        if (!read) return read.error();
        return relaxed_substitution{Cost{}, std::move(*read)};
    }
    result<pass_outcome> operator()(any_graph& g, pass_context& cx) const {
        return capture([&] {
            if constexpr (std::same_as<Cost, predicted_time>) {
                auto const model = cost::lowered::of(g, cx.machine);
                return detail::substitute(g, cx, cost::erase(model), settings);
            } else {
                return detail::substitute(g, cx, cost::erase(cost), settings);
            }
        });
    }
};
template <class Cost>
relaxed_substitution(Cost) -> relaxed_substitution<Cost>;
template <class Cost>
relaxed_substitution(Cost, substitution_settings) -> relaxed_substitution<Cost>;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/relaxed_substitution.ipp>
#endif
