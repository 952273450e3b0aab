// `relative_cost`: a weighted mean of several cost models, each relative to its cost of a start graph.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>

#include <vector>

namespace gsub::cost {

/// A cost model and its weight.
struct weighted_cost {
    any_cost model;
    double weight = 1; ///< >= 0, without a unit
};

/// Relative cost model, in percent of `start`: the weighted mean of each model's cost of a graph over its cost of
/// `start`. So `start` itself costs 100 %, seconds and joules may stand side by side, and only the ratios of the
/// weights count. Models of weight 0 are left out. Additive where all models are and at most one of them groups nodes;
/// safe for several threads where all are; by the clock where one is. Refers to what the models refer to. Sums are
/// taken in the order given, so another order may differ in the last digit. *Errors* `usage` where a weight is negative
/// or not finite, or none is above 0; `unsupported` where `start` costs nothing under a model, so that no ratio exists;
/// those of the models are thrown.
[[nodiscard]] result<any_cost> relative_cost(std::vector<weighted_cost> terms, any_graph const& start);

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/relative.ipp>
#endif
