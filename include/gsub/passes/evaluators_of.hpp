// Eval tables for passes that compute.
#pragma once

#include <gsub/eval/evaluate.hpp>
#include <gsub/passes/pass.hpp>

#include <span>

namespace gsub {

/// The eval table of a graph: the context's, or that of the standard operators. *Errors* throws `error` (`usage`) for a
/// graph over another set where the context has none.
GSUB_LAZY [[nodiscard]] eval_table evaluators_of(pass_context const& cx, any_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/evaluators_of.ipp>
#endif
