// Graph substitution as a search problem: states are graphs, moves are matches of rules.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/optimize/impl/incremental_costs.hpp>
#include <gsub/optimize/impl/parallel_expander.hpp>
#include <gsub/optimize/impl/replay_source.hpp>
#include <gsub/optimize/impl/successor_generator.hpp>
#include <gsub/optimize/search_log.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/search/concepts.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gsub {

/// The search problem over rewrites of a graph. A waiting state shares its parent's graph and stores where a rule
/// matches in it; its expansion finds the match again and makes the graph. Costs are rounded to 2^-40 of the start's
/// cost, so that sums do not depend on their order, and equal costs are equal.
class substitution_problem {
public:
    using state = detail::substitution_state;
    using costed_graph = detail::costed_graph;
    using known_move = detail::known_move;
    using negative_match = detail::negative_match;
    using expansion_cache = detail::expansion_cache;

    /// `start` must be in canonical form; `model`, `rules` and `threads` must outlive the problem. With `threads`, of
    /// which a task runs the search, and a concurrent model, threads without a task help to make the successors of a
    /// state while that is faster; successors are the same, in the same order.
    ///
    /// `one_order`: partial-order reduction, which tries one order of independent moves. It leaves out a move that the
    /// parent had too where the graph that the move led to from there has been expanded already: the same rewrites were
    /// seen in the other order. This holds for searches that expand the cheapest state first, of equal ones that found
    /// first, admit by the best cost, and drop no state; such a search finds the same, and generates less.
    ///
    /// `known`: successors in this log are taken from it; it must outlive the problem and its states. Beyond the log
    /// all moves are tried, in every order.
    GSUB_LAZY substitution_problem(any_graph start, cost::any_cost const& model, rule_index const& rules,
                                   sharing_executor* threads = nullptr, explored_moves moves = explored_moves::every,
                                   search_log const* known = nullptr);

    [[nodiscard]] state start() const {
        return {.parent = start_, .cost = start_->total, .key = start_->graph.hash(), .path = identity_.hash()};
    }
    [[nodiscard]] search_identity const& identity() const noexcept { return identity_; }
    [[nodiscard]] double cost(state const& s) const noexcept { return s.cost; }
    [[nodiscard]] hash128 key(state const& s) const noexcept { return s.key; }
    /// `rule(site)`
    GSUB_LAZY [[nodiscard]] std::string label(state const& s) const;
    [[nodiscard]] std::uint64_t bytes(state const&) const noexcept { return sizeof(state); }

    /// Bytes of the parent graphs of waiting states, and of their expansion caches.
    [[nodiscard]] std::uint64_t shared_bytes() const noexcept { return *held_; }

    template <class Emit>
    void expand(state const& s, Emit&& emit) {
        for_each_successor(s, [&](state&& next) { return static_cast<bool>(emit(std::move(next))); });
    }

    /// The move that leads to a state. *Requires* a state with a rule.
    GSUB_LAZY [[nodiscard]] match move(state const& s) const;
    /// The state's graph, in canonical form. *Requires* a state with a parent, see `reconstructed`.
    GSUB_LAZY [[nodiscard]] std::shared_ptr<costed_graph const> materialize(state const& s) const;
    /// Deferred state: a successor known from a log alone, without parent and move.
    GSUB_LAZY [[nodiscard]] state deferred(std::shared_ptr<state const> before,
                                           search_log::successor const& next) const;
    /// Reconstructs a deferred state, and all before it, with parent and move by making the logged rewrites. *Errors*
    /// throws `error` (`invalid_input`) naming the rewrite that does not match, or does not lead where the log says.
    GSUB_LAZY [[nodiscard]] state reconstructed(state const& s);
    /// A cost in the model's unit.
    [[nodiscard]] double in_units(double ticks) const noexcept { return costs_.in_units(ticks); }
    [[nodiscard]] double in_ticks(double units) const noexcept { return costs_.in_ticks(units); }
    /// Matches whose rewrite could not be applied.
    [[nodiscard]] std::uint64_t inapplicable() const noexcept { return inapplicable_; }
    /// Expanded states whose successors were known.
    [[nodiscard]] std::uint64_t remembered() const noexcept { return remembered_; }
    /// Moves left out because they have been made in another order.
    [[nodiscard]] std::uint64_t reordered() const noexcept { return reordered_; }

private:
    GSUB_LAZY void for_each_successor(state const& s, function_ref<bool(state&&)> emit);
    GSUB_LAZY void make_successors(state const& s, function_ref<bool(state&&)> emit);
    GSUB_LAZY [[nodiscard]] detail::expansion begin_expansion(state const& s);
    /// The state's graph with its costs, of `made` where that has been made already; `known` gets the model's memory of
    /// it.
    GSUB_LAZY [[nodiscard]] std::shared_ptr<costed_graph const>
    materialize(state const& s, std::optional<any_graph> made, cost::grouped_costs& known) const;
    /// Makes a logged rewrite again, see `replay_source`.
    GSUB_LAZY [[nodiscard]] std::string repeat(std::shared_ptr<state const> const& from, state const& wanted,
                                               state& made);

    detail::incremental_costs costs_;
    detail::successor_generator successors_;
    detail::parallel_expander expander_;
    detail::replay_source replay_;
    std::shared_ptr<costed_graph const> start_;
    search_identity identity_;
    detail::counted_bytes::sum held_ = std::make_shared<std::atomic<std::uint64_t>>(0);
    std::uint64_t inapplicable_ = 0, reordered_ = 0, remembered_ = 0;
};

/// Exploration policy of a search: one order of independent moves is enough where it admits by the best cost, and drops
/// no waiting state.
[[nodiscard]] inline explored_moves moves_of(search::admission admit, bool plateau, std::size_t queue) noexcept {
    using enum explored_moves;
    if (admit == search::admission::first) return plateau ? until_no_dearer : until_cheaper;
    return admit == search::admission::best && queue == std::numeric_limits<std::size_t>::max() ? one_order : every;
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/substitution.ipp>
#endif
