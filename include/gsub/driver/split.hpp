// Searching a large graph part by part: cut where few rewrites are lost, equal parts searched once.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/observer.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/rewrite/matcher.hpp>
#include <gsub/search/concepts.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gsub {

/// A thing that the search does. Costs are in the model's unit.
struct search_event {
    enum class kind : std::uint8_t {
        begin,       ///< a search begins: of the graph, or of a part, whose costs and steps follow
        expand,      ///< the successors of a state are made; those that wait or are refused follow
        admit,       ///< a successor will wait
        refuse,      ///< a successor costs too much
        improvement, ///< the best cost so far has fallen
        stop,        ///< the end of all searches, and why
    };
    kind what = kind::expand;
    std::uint64_t steps = 0; ///< number of the expansion, from 0 on; of `improvement` and `stop`: how many there were
    double cost = 0;         ///< of the state; of `improvement` and `stop`: the best so far
    std::string_view rule, site; ///< of `admit` and `refuse`: the rewrite that leads to the state
    search::stop_reason why = search::stop_reason::exhausted; ///< of `stop`
};
[[nodiscard]] constexpr std::string_view to_string(search_event::kind k) noexcept {
    constexpr std::string_view names[] = {"begin", "expand", "admit", "refuse", "improvement", "stop"};
    return names[static_cast<std::size_t>(k)];
}

/// Hears of everything that a search does, as it does it. What it is told lives for the length of the call. An error
/// that it throws ends the search, and the call that searches gives it back.
class search_listener {
public:
    search_listener() = default;
    search_listener(search_listener const&) = delete;
    search_listener& operator=(search_listener const&) = delete;
    virtual ~search_listener() = default;
    virtual void on_event(search_event const& e) = 0;
};

/// Who hears of a search, and who lends it threads. Each may be null.
struct search_audience {
    observer* watch = nullptr;
    search_listener* trace = nullptr;
    executor* threads = nullptr;
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
struct made_rewrite {
    std::shared_ptr<any_graph const> before;
    std::shared_ptr<match const> what;
};

/// What searches have made of a graph. Costs are in the model's unit.
struct searched {
    any_graph best;
    search::statistics stats;           ///< of all searches together; costs are those of the whole graph
    std::vector<made_rewrite> rewrites; ///< one for each step of `stats.path`
    std::uint64_t inapplicable = 0;     ///< matches whose rewrite was ill-typed, shared or cyclic
    split_report split;
};

/// One relaxed search from a graph in normal form.
[[nodiscard]] searched search_part(any_graph const& start, cost::any_cost const& model, rule_index const& rules,
                                   search::options const& options, search_audience const& told = {});

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
[[nodiscard]] graph_parts split_graph(any_graph const& g, rule_index const& rules, std::size_t bound,
                                      std::span<std::uint32_t const> piece = {});

/// A part as a graph of its own: its inputs are the values that it reads, its outputs those that are read outside of
/// it; constants and arithmetic on constants are taken along, shared. *Requires* nodes in the order of `g`, as in a
/// part.
[[nodiscard]] any_graph part_as_graph(any_graph const& g, std::span<node_id const> nodes);

/// Searches a graph in normal form and canonical order. Where it has more kernels than `bound`, and the model
/// is additive: its parts first, each like a graph of its own; then windows across the cuts, which are parts of the
/// result, cut elsewhere; then the whole, with what is left of the budget. Parts, and windows after them, get three
/// quarters of what there is, divided by their numbers of kernels; of time, what one leaves goes to those after it.
/// With threads, parts are searched side by side where there are enough of them, no one listens, and memory is not
/// limited; the result is the same. Parts that are equal but for the elements of their constants are searched once; the
/// others repeat the rewrites found, where each matches, else they are searched too. Where all this ends before the
/// budget does, the rest goes to a search of the whole from the start, and the better result counts. *Source* Jia et
/// al., "Optimizing DNN computation with relaxed graph substitutions", SysML 2019, section 5.
[[nodiscard]] searched search_graph(any_graph start, cost::any_cost const& model, rule_index const& rules,
                                    search::options const& options, std::size_t bound,
                                    search_audience const& told = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/split.ipp>
#endif
