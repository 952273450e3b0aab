// search_part: one relaxed search, of a graph or a part of one, and what it gives.
#pragma once

#include <gsub/core/observer.hpp>
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/optimize/search_log.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/search/concepts.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
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

namespace detail {

/// Rule and site of a move's label, `rule(site)`.
GSUB_LAZY [[nodiscard]] std::pair<std::string_view, std::string_view> rule_and_site(std::string_view label);

} // namespace detail

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/search_part.ipp>
#endif
