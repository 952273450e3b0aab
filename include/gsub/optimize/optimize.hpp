// `optimize`: relaxed graph substitution, that is canonicalization, search over rules, folding and verification.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/rules/standard_rules.hpp>
#include <gsub/search/concepts.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

/// Options of `optimize`.
struct optimize_options {
    double alpha = 1.05;            ///< how far the search may climb above the best cost, at least 1
    std::vector<double> schedule{}; ///< further values of alpha, rising; see `search::options`
    search::admission admit = search::admission::best;
    bool plateau = false; ///< moves of equal cost too
    search::budget budget{};
    std::size_t queue = std::numeric_limits<std::size_t>::max(); ///< most graphs that wait, at least 2
    std::size_t split = 48; ///< graphs of more kernels are searched in parts of at most so many; 0: never
    std::span<rule_program const>
        rules{}; ///< empty: all but internal ones, and timed ones where costs come from a clock
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of folded weights
    bool fold = true;    ///< compute weight arithmetic at the end; needed to save the graph
    bool verify = false; ///< compare the result with the original; see `verification_report`
    /// Verify that each graph on the way is legal in canonical form (`check`): the start, that before each applied
    /// rewrite, the result. Debug builds do it always.
    bool check = false;
    std::uint64_t seed = 1;      ///< of the inputs that verification uses
    executor* threads = nullptr; ///< for search, folding and verification; null: one thread. The result is the same
    observer* observe = nullptr;
    search_observer* trace = nullptr; ///< gets each event; null costs nothing
    std::stop_token stop{};
    /// Log of an earlier search of the same graph with the same rules, costs and admission: its expansions are not made
    /// again. The result is that of a search from the start; alpha and budgets are free.
    search_log const* resume = nullptr;
    /// Log of an earlier search, with the same `split` too, to replay in place of a search: each of its rewrites is
    /// made again, and its cost and graph are compared. `trace` gets no events.
    search_log const* replay = nullptr;
};

/// Result of checking one rewrite by itself: the part that it replaced against the replacement.
enum class rewrite_check : std::uint8_t {
    not_asked, ///< verification was not asked for
    equal,     ///< equal at random points of the prime field, with the values at the border free
    skipped,   ///< too large for that, or with operators that cannot be computed
    different, ///< a counterexample was found
};
[[nodiscard]] constexpr std::string_view to_string(rewrite_check c) noexcept {
    constexpr std::string_view names[] = {"not asked", "equal", "skipped", "different"};
    return names[static_cast<std::size_t>(c)];
}

/// A rewrite on the path to the result.
struct applied_rule {
    std::string rule;
    std::string site;      ///< the node that it was anchored at, by its name in the model
    double cost_after = 0; ///< of the graph, in the model's unit
    rewrite_check check = rewrite_check::not_asked;
};

/// Result of comparing the optimized graph with the original.
struct verification_report {
    bool attempted = false;
    bool equal = false; ///< every check succeeded; where the whole graph cannot be computed, every rewrite was checked
    bool different = false; ///< a check found a difference; neither: something could not be checked, see `notes`
    std::size_t rewrites_checked = 0; ///< rewrites whose region was compared in the prime field with its boundary free
    std::size_t rewrites_skipped = 0; ///< regions too large for that, or with operators that cannot be computed
    bool whole_in_field = false;      ///< the whole graph was compared in the field
    std::string reduced_to;           ///< the types of the inputs then, empty: the model's own
    bool on_numbers = false;          ///< both graphs were run on random inputs
    double max_relative_error = 0;    ///< largest over outputs of max |a - b| / max |b|, against double precision
    std::vector<std::string> notes;   ///< what could not be checked, and why; differences found
};

/// Report of `optimize`: costs, applied rewrites, statistics, verification.
struct optimize_report {
    std::string_view unit;  ///< of the costs
    double cost_before = 0; ///< of the graph as given
    double cost_start = 0;  ///< after canonicalization, where the search begins
    double cost_after = 0;
    std::size_t nodes_before = 0, nodes_after = 0; ///< kernels alone: no constants, weight arithmetic, inputs
    canonicalization_count canonicalized;
    std::vector<applied_rule> applied;
    search::statistics
        search; ///< of all searches together; `failed` where the code of a rule threw, named in `failure`
    split_report split;
    std::uint64_t inapplicable = 0; ///< matches whose rewrite was ill-typed, shared or cyclic
    std::uint64_t remembered = 0;   ///< expanded graphs whose successors `resume` knew
    bool replayed = false;          ///< nothing was searched; counts are those of the log
    verification_report verification;
};

/// Optimizes a graph under a type-erased cost model. Where nothing cheaper is found, canonicalization included, the
/// graph as given comes back; a model with an exact cost of whole graphs decides by that cost in the end, within its
/// resolution. *Errors* `usage` for alpha < 1, and for a log of another search, naming what differs; `invalid_input`
/// for a log that is not true of the graph; `unsupported` where folding exceeds its limit; `internal` where a cost is
/// negative or NaN, naming node and model. Where the code of a rule throws, the best graph so far comes back, and the
/// report says what was thrown.
GSUB_LAZY [[nodiscard]] result<std::pair<any_graph, optimize_report>>
optimize(any_graph const& g, cost::any_cost const& model, eval_table evaluators, optimize_options const& options);

/// An optimized graph with its report.
template <class OpSet>
struct optimized : basic_graph<OpSet> {
    optimize_report report;
    optimized(any_graph&& g, optimize_report&& r) : basic_graph<OpSet>(std::move(g)), report(std::move(r)) {}
};

/// Optimizes a graph: `optimize(g, cost::roofline{}, {.alpha = 1.05, .budget = 30s})`. The result computes what `g`
/// does. *Errors* as above. *Example* `examples/01_optimize.cpp`
template <class OpSet, class Cost>
[[nodiscard]] result<optimized<OpSet>> optimize(basic_graph<OpSet> const& g, Cost const& model,
                                                optimize_options const& options = {}) {
    auto done = optimize(g, cost::erase(model), table_of<eval_row, OpSet>(), options);
    if (!done) return done.error();
    return optimized<OpSet>{std::move(done->first), std::move(done->second)};
}

/// Optimizes a graph under its predicted time on this machine, `cost::lowered::of(g)`: costs are those of the kernels
/// that `build` would make here.
template <class OpSet>
[[nodiscard]] result<optimized<OpSet>> optimize(basic_graph<OpSet> const& g, optimize_options const& options = {}) {
    return optimize(g, cost::lowered::of(g), options);
}

/// Compares two graphs of one signature on numbers and in the prime field, as `optimize` does with `verify`.
GSUB_LAZY [[nodiscard]] verification_report verify_equal(any_graph const& original, any_graph const& rewritten,
                                                         eval_table evaluators, std::uint64_t seed = 1,
                                                         executor* threads = nullptr);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/optimize.ipp>
#include <gsub/optimize/impl/rewrite_check.ipp>
#include <gsub/optimize/impl/verify_equal.ipp>
#endif
