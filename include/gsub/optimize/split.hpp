// Searching a large graph part by part: cut where few rewrites are lost, equal parts searched once.
#pragma once

#include <gsub/core/observer.hpp>
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/optimize/search_log.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/search/concepts.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gsub {

/// Who hears of a search, who lends it threads, and what is known before. Each may be null.
struct search_hooks {
    observer* observe = nullptr;
    search_observer* trace = nullptr;
    sharing_executor* threads = nullptr; ///< the search is a task of it; threads without one help
    search_log const* known = nullptr;   ///< expansions found there are not made again; the search is the same
    search_replay* replay = nullptr;     ///< in place of searching: the results are found there, rewritten and checked
};

/// How a search was divided. See `search_graph`.
struct split_report {
    std::string_view why_whole;                    ///< why the graph was searched as a whole alone; empty: it was split
    bool better_whole = false;                     ///< the whole, searched from the start, ended better than the parts
    std::size_t bound = 0;                         ///< kernels in a part at most
    std::size_t parts = 0, distinct_parts = 0;     ///< the latter were searched, the others are equal to one of them
    std::size_t windows = 0, distinct_windows = 0; ///< the same of what was searched across the cuts
    std::vector<std::uint64_t> cuts;               ///< weights of the cuts between the parts, see `split_graph`
};

/// A rewrite on the way to a result: a match, and the graph in which it was made.
struct applied_rewrite {
    std::shared_ptr<any_graph const> before;
    std::shared_ptr<match const> what;
};

/// What searches have made of a graph. Costs are in the model's unit.
struct search_result {
    any_graph best;
    search::statistics stats;              ///< of all searches together; costs are those of the whole graph
    std::vector<applied_rewrite> rewrites; ///< one for each step of `stats.path`
    std::uint64_t inapplicable = 0;        ///< matches whose rewrite was ill-typed, shared or cyclic
    std::uint64_t remembered = 0;          ///< of the states expanded, those whose successors were known before
    split_report split;
};

/// One relaxed search from a graph in canonical form. *Errors* throws `error` (`invalid_input`) naming the rewrite
/// where what is known or replayed is not true of the graph, though its identity is that of the search.
GSUB_LAZY [[nodiscard]] search_result search_part(any_graph const& start, cost::any_cost const& model,
                                                  rule_index const& rules, search::options const& options,
                                                  search_hooks const& hooks = {});

/// Convex parts of a graph, each with `bound` kernels at most; an edge between two parts leads from the earlier to the
/// later one. Constants, inputs and nodes that gsub does not look into (opaque ones, calls, `If`) are in no part, and
/// no path between two nodes of a part goes through one of the latter.
struct graph_parts {
    std::vector<std::vector<node_id>> parts; ///< in the order of the graph
    std::vector<std::uint64_t> cuts;         ///< what each cut weighs, see `split_graph`
};

/// Cuts a graph so that little is lost when its parts are rewritten one by one. A cut weighs 1 for each match that it
/// goes through, and for each value 4, and 1 more where an operator other than a product is its only reader, which may
/// be fused with it later. `piece`, if not empty, has a number for each node id: values between different numbers weigh
/// 64 more, so that the cuts go elsewhere than between those pieces. *Complexity* that of `find_matches` and
/// `search::split`.
GSUB_LAZY [[nodiscard]] graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                                std::span<std::uint32_t const> piece = {});

/// A part as a graph of its own: its inputs are the values that it reads, its outputs those that are read outside of
/// it; constants and arithmetic on constants are taken along, shared. *Requires* nodes in the order of `g`, as in a
/// part.
GSUB_LAZY [[nodiscard]] any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes);

/// Searches a graph in canonical form and canonical order. Where it has more kernels than `bound`, and the model
/// is additive: its parts first, each like a graph of its own; then windows across the cuts, which are parts of the
/// result, cut elsewhere; then the whole, with what is left of the budget. Parts, and windows after them, get three
/// quarters of what there is, divided by their numbers of kernels; of time, what one leaves goes to those after it.
/// With threads, parts are searched side by side where there are enough of them, no one listens, and memory is not
/// limited; the result is the same. Parts that are equal but for the elements of their constants are searched once; the
/// others repeat the rewrites found, where each matches, else they are searched too. Where all this ends before the
/// budget does, the rest goes to a search of the whole from the start, and the better result counts. *Source* Jia et
/// al., "Optimizing DNN computation with relaxed graph substitutions", SysML 2019, section 5.
GSUB_LAZY [[nodiscard]] search_result search_graph(any_graph start, cost::any_cost const& model,
                                                   rule_index const& rules, search::options const& options,
                                                   std::size_t bound, search_hooks const& hooks = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/split.ipp>
#endif
