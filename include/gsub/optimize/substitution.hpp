// Graph substitution as a search problem: states are graphs, moves are matches of rules.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/core/sharing_executor.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/optimize/search_log.hpp>
#include <gsub/rewrite/engine/matcher.hpp>
#include <gsub/search/concepts.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

/// A byte counter: adds its bytes to a shared sum for as long as it lives.
class counted_bytes {
public:
    using sum = std::shared_ptr<std::atomic<std::uint64_t>>;
    counted_bytes() = default;
    counted_bytes(sum all, std::uint64_t bytes) : all_(std::move(all)), bytes_(bytes) { *all_ += bytes_; }
    counted_bytes(counted_bytes&& other) noexcept : all_(std::move(other.all_)), bytes_(other.bytes_) {}
    counted_bytes& operator=(counted_bytes&& other) noexcept {
        std::swap(all_, other.all_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~counted_bytes() {
        if (all_) *all_ -= bytes_;
    }

private:
    sum all_;
    std::uint64_t bytes_ = 0;
};

} // namespace detail

/// The search problem over rewrites of a graph. A waiting state shares its parent's graph and stores where a rule
/// matches in it; its expansion finds the match again and makes the graph. Costs are rounded to 2^-40 of the start's
/// cost, so that sums do not depend on their order, and equal costs are equal.
class substitution_problem {
public:
    /// A graph in canonical form with the cost of each node.
    struct costed_graph {
        any_graph graph;
        std::vector<double> node_cost;   ///< by node id, in ticks; empty where the model is not additive
        double total = 0;                ///< in ticks
        detail::counted_bytes counted{}; ///< in `shared_bytes`
    };
    /// A move of an expanded graph: its hash, the cost that it leads to, the nodes that it reads and changes.
    struct known_move {
        std::uint64_t id = 0;    ///< hash of rule and match
        double cost = 0;         ///< of the graph that it leads to, in ticks
        std::uint32_t place = 0; ///< among the moves of the graph; `elsewhere`: it was not made from here
        node_signature reads, changes;
    };
    /// A negative match: a node at which no pattern matches, and the nodes that decide so.
    struct negative_match {
        node_id anchor;
        node_signature by;
    };
    /// Expansion cache: moves and negative matches of an expanded graph, for the graphs made from it.
    struct expansion_cache {
        std::vector<known_move> moves;         ///< by id
        std::vector<negative_match> negatives; ///< by anchor
        detail::counted_bytes counted;         ///< in `shared_bytes`
    };
    struct state {
        std::shared_ptr<costed_graph const> parent; ///< the state's own graph where there is no move
        rule_program const* rule = nullptr;         ///< the move's; null: there is none
        node_id anchor{}, site{};                   ///< where the rule matches, and what the move is called after
        std::shared_ptr<state const> before{};      ///< the state in which the move was made, null for the start
        double cost = 0;                            ///< in ticks
        hash128 key{};
        std::uint64_t move_id = 0;                             ///< tells it from other moves of the rule at that place
        std::shared_ptr<expansion_cache const> parent_cache{}; ///< null: nothing is known
        hash128 path{};                                        ///< see `extend_path`
        search_log::successor const* deferred =
            nullptr; ///< known from a log alone: no parent and no move, see `reconstructed`
    };

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
    [[nodiscard]] double in_units(double ticks) const noexcept { return ticks / ticks_per_unit_; }
    [[nodiscard]] double in_ticks(double units) const noexcept { return units * ticks_per_unit_; }
    /// Matches whose rewrite could not be applied.
    [[nodiscard]] std::uint64_t inapplicable() const noexcept { return inapplicable_; }
    /// Expanded states whose successors were known.
    [[nodiscard]] std::uint64_t remembered() const noexcept { return remembered_; }
    /// Moves left out because they have been made in another order.
    [[nodiscard]] std::uint64_t reordered() const noexcept { return reordered_; }

private:
    static constexpr std::uint32_t elsewhere = 0xffffffffu;
    /// A move and, unless it was made elsewhere, where it leads.
    struct found_move {
        known_move what;
        state next;
    };
    /// Scratch graphs of one thread.
    struct worker {
        any_graph scratch;
        any_graph cheapest; ///< successor that it has made of a state; likely to be expanded next
        double cost_of_cheapest = 0;
        hash128 path_of_cheapest{}; ///< none: there is no such graph
    };
    /// Moves and negative matches at some of a graph's nodes.
    struct match_batch {
        std::vector<found_move> found{};
        std::vector<negative_match> negatives{};
        std::uint64_t inapplicable = 0;
        std::exception_ptr failure{}; ///< what ended the work on it
    };
    /// The expansion under way: a state, its graph, and the move that led to it.
    struct expansion {
        state const& what;
        std::shared_ptr<costed_graph const> graph;
        cost::grouped_costs known = {};    ///< of the graph, by a model that groups
        known_move const* by = nullptr;    ///< the move that led to it, null where it is not known
        double by_cost = 0;                ///< of the graph in which that was made
        std::vector<node_id> anchors = {}; ///< nodes at which rules may match
    };
    GSUB_LAZY void for_each_successor(state const& s, function_ref<bool(state&&)> emit);
    GSUB_LAZY void make_successors(state const& s, function_ref<bool(state&&)> emit);
    /// Finds the move `id` of a rule at a node, into `out`.
    GSUB_LAZY void find_move(any_graph const& g, rule_program const& rule, node_id anchor, std::uint64_t id,
                             std::optional<match>& out) const;
    GSUB_LAZY [[nodiscard]] std::uint64_t move_id(match const& m) const;
    /// Costs of a state's graph; `known` gets the model's memory of it.
    GSUB_LAZY [[nodiscard]] std::shared_ptr<costed_graph const> costed(state const& s, any_graph g,
                                                                       cost::grouped_costs& known) const;
    GSUB_LAZY [[nodiscard]] std::shared_ptr<costed_graph const> materialized(state const& s,
                                                                             cost::grouped_costs& known);
    GSUB_LAZY [[nodiscard]] std::shared_ptr<costed_graph const> materialize(state const& s,
                                                                            cost::grouped_costs& known) const;
    GSUB_LAZY [[nodiscard]] expansion begin_expansion(state const& s);
    /// Finds the successors at some of the anchors, in their order.
    GSUB_LAZY void find_successors(expansion const& here, std::span<node_id const> anchors, worker& w,
                                   match_batch& out) const;
    GSUB_LAZY void find_successors(expansion const& here, node_id anchor, worker& w, match_batch& out) const;
    GSUB_LAZY [[nodiscard]] bool wants_help(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] bool successor(expansion const& here, match const& m, node_id anchor, worker& w,
                                           found_move& out) const;
    GSUB_LAZY [[nodiscard]] known_move const* made_before(expansion const& here, std::uint64_t id) const;
    GSUB_LAZY [[nodiscard]] node_signature const* still_negative(expansion const& here, node_id anchor) const;
    GSUB_LAZY [[nodiscard]] double ticks(any_graph const& g, node_id n, double cost) const;
    GSUB_LAZY [[nodiscard]] double ticks(any_graph const& g) const;
    GSUB_LAZY void compute_costs(costed_graph& p) const;
    GSUB_LAZY void update_costs(any_graph const& g, void const* memory, function_ref<void(node_id, double)> f) const;

    cost::any_cost const* model_;
    rule_index const* rules_;
    sharing_executor* threads_; // null: the caller's alone
    search_log const* known_;
    bool ordered_;
    double ticks_per_unit_ = 1;
    std::shared_ptr<costed_graph const> start_;
    search_identity identity_;
    std::map<hash128, std::shared_ptr<state const>>
        reconstructed_;                            // by path: what was noted and had to be reconstructed
    std::vector<std::unique_ptr<worker>> workers_; // the caller's first
    /// By path, a grouping model's memories of the graphs expanded last.
    std::vector<std::pair<hash128, std::shared_ptr<void const>>> memories_;
    std::chrono::duration<double, std::nano> distance_{0}; // how long a cache line of another thread takes to come
    std::chrono::duration<double, std::nano> usual_{0};    // how long expansions take
    std::uint64_t expanded_ = 0;
    detail::counted_bytes::sum held_ = std::make_shared<std::atomic<std::uint64_t>>(0);
    std::uint64_t inapplicable_ = 0, reordered_ = 0, remembered_ = 0;
};

namespace detail {

/// Whether the match's conditions hold. Throws `search::failed_move`, which names rule and place, where the rule's code
/// throws.
GSUB_LAZY bool fires(match const& m);

} // namespace detail

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
