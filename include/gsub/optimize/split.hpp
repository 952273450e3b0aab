// Graph splitting: cuts a large graph where few rewrites are lost, and searches equal parts once.
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

/// Search hooks: observers, executor, and logs to resume or replay. Each may be null.
struct search_hooks {
    observer* observe = nullptr;
    search_observer* trace = nullptr;
    sharing_executor* threads = nullptr; ///< the search is a task of it; threads without a task help
    search_log const* known = nullptr;   ///< expansions found there are not made again; the search is the same
    search_replay* replay = nullptr;     ///< in place of searching: its rewrites are made again and checked
};

/// Report of a split search: parts, windows and cuts. See `search_graph`.
struct split_report {
    std::string_view why_whole;                    ///< why the graph was searched as a whole alone; empty: it was split
    bool better_whole = false;                     ///< the whole, searched from the start, ended better than the parts
    std::size_t bound = 0;                         ///< most kernels in a part
    std::size_t parts = 0, distinct_parts = 0;     ///< the latter were searched, the others are equal to one of them
    std::size_t windows = 0, distinct_windows = 0; ///< the same of what was searched across the cuts
    std::vector<std::uint64_t> cuts;               ///< weights of the cuts between the parts, see `split_graph`
};

/// A rewrite on the path to a result: a match, and the graph in which it was made.
struct applied_rewrite {
    std::shared_ptr<any_graph const> before;
    std::shared_ptr<match const> what;
};

/// Result of a search: the best graph, and the rewrites that lead to it. Costs are in the model's unit.
struct search_result {
    any_graph best;
    search::statistics stats;              ///< of all searches together; costs are those of the whole graph
    std::vector<applied_rewrite> rewrites; ///< one for each step of `stats.path`
    std::uint64_t inapplicable = 0;        ///< matches whose rewrite was ill-typed, shared or cyclic
    std::uint64_t remembered = 0;          ///< expanded states whose successors were known
    split_report split;
};

/// Runs one relaxed search from a graph in canonical form. *Errors* throws `error` (`invalid_input`) naming the rewrite
/// where the known or replayed log is not true of the graph, though its identity is that of the search.
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

/// Splits a graph so that little is lost when its parts are rewritten one by one. A cut weighs 1 for each match that it
/// goes through, and 4 for each value, or 5 where the value's only reader is an operator other than a product, which
/// may be fused with it later. `piece`, if not empty, has a number for each node id: values between different numbers
/// weigh 64 more, so that cuts avoid the borders of those pieces. *Complexity* that of `find_matches` and
/// `search::split`.
GSUB_LAZY [[nodiscard]] graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                                std::span<std::uint32_t const> piece = {});

/// Extracts a part as a graph of its own: its inputs are the values that it reads, its outputs those that are read
/// outside of it; it takes constants and arithmetic on constants along, shared. *Requires* nodes in the order of `g`,
/// as in a part.
GSUB_LAZY [[nodiscard]] any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes);

/// Searches a graph in canonical form and canonical order. Where the graph has more kernels than `bound`, and the model
/// is additive, it searches the parts first, each as a graph of its own; then windows across the cuts, which are parts
/// of the result, cut elsewhere; then the whole, with the rest of the budget. Parts, and windows after them, get three
/// quarters of what there is, divided by their numbers of kernels; time that one leaves goes to those after it. With
/// threads, parts are searched in parallel where there are enough of them, no `trace` or `replay` is set, and memory is
/// not limited; the result is the same. Parts that are equal but for the elements of their constants are searched once;
/// the others repeat the rewrites found, where each matches, else they are searched too. Budget that is left in the end
/// goes to a search of the whole from the start, and the better result counts. *Source* Jia et al., "Optimizing DNN
/// computation with relaxed graph substitutions", SysML 2019, section 5.
GSUB_LAZY [[nodiscard]] search_result search_graph(any_graph start, cost::any_cost const& model,
                                                   rule_index const& rules, search::options const& options,
                                                   std::size_t bound, search_hooks const& hooks = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/split.ipp>
#endif
