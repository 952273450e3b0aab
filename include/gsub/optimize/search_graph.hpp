// search_graph: searches a large graph part by part, equal parts once.
#pragma once

#include <gsub/cost/concepts.hpp>
#include <gsub/optimize/search_part.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/search/concepts.hpp>

#include <cstddef>

namespace gsub {

/// Searches a graph in canonical form and canonical order. Where the graph has more kernels than `bound`, and the model
/// is additive, it searches the parts first, each as a graph of its own; then windows across the cuts, which are parts
/// of the result, cut elsewhere; then the whole, with the rest of the budget. Parts, and windows after them, get three
/// quarters of what there is, divided by their numbers of kernels; time that one leaves goes to those after it. With
/// threads, parts are searched in parallel where there are enough of them, no `trace` or `replay` is set, and memory is
/// not limited; the result is the same. Parts that are equal but for the elements of their constants are searched once;
/// the others repeat the rewrites found, where each matches, else they are searched too. Budget that is left in the end
/// goes to a search of the whole from the start, and the better result counts. A whole of more than 4096 kernels is not
/// searched, and once 2^23 nodes have been costed in graphs with a part replaced, the parts that are left stay as they
/// are: both are noted, and the reason to stop is `steps`. *Source* Jia et al., "Optimizing DNN
/// computation with relaxed graph substitutions", SysML 2019, section 5.
GSUB_LAZY [[nodiscard]] search_result search_graph(any_graph start, cost::any_cost const& model,
                                                   rule_index const& rules, search::options const& options,
                                                   std::size_t bound, search_hooks const& hooks = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/search_graph.ipp>
#endif
