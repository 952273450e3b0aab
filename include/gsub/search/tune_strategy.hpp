// tune_strategy: finds alpha and sigma of evolution strategies for a set of problems, by evolution strategies.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/minimize.hpp>
#include <gsub/search/product_space.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::search {

/// Tuning problem: runs an evolution strategy with options and says how well it did, the less the better, in a scale
/// in which the problems of a set can be added. It must take alpha, sigma and the seed from the options, and may be
/// called by several threads.
using strategy_problem = std::function<double(evolution_options const&)>;

/// Options of tuning. The search for constants is an evolution search itself.
struct strategy_tuning {
    std::pair<double, double> alpha{1e-3, 10}; ///< from, to: above 0, rising
    std::pair<double, double> sigma{1e-2, 1};  ///< from, to: above 0, rising
    std::size_t seeds = 5;                     ///< runs of each problem, at least 1
    evolution_options base{};                  ///< what runs have else; seeds count up from its own
    evolution_options search{.population = 16};
    minimize_options limits{.budget = 300};
};

/// Result of tuning.
struct tuned_strategy {
    evolution_options best;              ///< `base` with the constants found
    double score = 0;                    ///< mean over all problems and seeds
    minimum<product_space::point> found; ///< points are the natural logarithms of alpha and sigma
};

/// Finds the alpha and sigma with the least mean score over problems and seeds, in steps of their logarithms. All
/// constants are tried with the same seeds. The first tried are those of `base`.
/// *Requires* a problem, ranges and seeds as said there. *Errors* `usage` where a problem gives NaN, or where its score
/// is +infinity for all constants tried. *Complexity* problems * seeds runs a step.
/// *Source* Tuna, section IV: the strategy is a black-box problem itself with respect to alpha and sigma.
GSUB_LAZY [[nodiscard]] tuned_strategy tune_strategy(std::span<strategy_problem const> problems,
                                                     strategy_tuning const& options = {});

} // namespace gsub::search

#ifndef GSUB_COMPILED
#include <gsub/search/impl/tune_strategy.ipp>
#endif
