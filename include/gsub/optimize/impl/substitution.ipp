#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/optimize/impl/expansion_cache.ipp>
#include <gsub/optimize/impl/incremental_costs.ipp>
#include <gsub/optimize/impl/parallel_expander.ipp>
#include <gsub/optimize/impl/replay_source.ipp>
#include <gsub/optimize/impl/search_log.ipp>
#include <gsub/optimize/impl/successor_generator.ipp>
#include <gsub/optimize/substitution.hpp>

#include <exception>
#include <utility>

namespace gsub {

namespace detail {

// Of all that decides which rewrites are made of a graph, in which order, and what they are called: structure, ids, and
// the order of nodes and of readers.
GSUB_LAZY hash128 hash_with_ids(any_graph const& g) {
    hasher h{g.capacity()};
    h.add(g.hash());
    for (auto n : g.order()) {
        h.add(n.index).add(g.hash(n));
        for (auto v : g.operands(n)) h.add(v.node.index).add(v.port);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            g.for_each_use({n, port}, [&](use u) { h.add(u.user.index).add(u.operand); });
    }
    return h.finish();
}

} // namespace detail

GSUB_LAZY_BODY substitution_problem::substitution_problem(any_graph start, cost::any_cost const& model,
                                                          rule_index const& rules, sharing_executor* threads,
                                                          explored_moves moves, search_log const* known)
    : costs_(model, start),
      successors_(rules, moves == explored_moves::one_order),
      expander_(start.operators(), model.concurrent ? threads : nullptr),
      replay_(known) {
    auto first = std::make_shared<costed_graph>(costed_graph{std::move(start), {}, 0});
    first->graph.rehash();
    costs_.compute(*first);
    identity_ = {detail::hash_with_ids(first->graph),
                 rules.hash(),
                 costs_.identity(*first),
                 std::string{model.unit},
                 costs_.of_start(),
                 moves};
    start_ = std::move(first);
}

GSUB_LAZY_BODY std::string substitution_problem::label(state const& s) const {
    if (s.deferred) return format_text("{}({})", replay_.rule(s), replay_.site(s));
    return s.rule ? format_text("{}({})", s.rule->name, s.parent->graph.display_name(s.site)) : std::string{};
}

GSUB_LAZY_BODY match substitution_problem::move(state const& s) const {
    auto const out = successors_.find_move(s.parent->graph, *s.rule, s.anchor, s.move_id);
    GSUB_ASSERT(out, "a rule that matched once matches again");
    return *out;
}

GSUB_LAZY_BODY std::shared_ptr<substitution_problem::costed_graph const>
substitution_problem::materialize(state const& s) const {
    cost::grouped_costs known;
    return materialize(s, std::nullopt, known);
}
GSUB_LAZY_BODY std::shared_ptr<substitution_problem::costed_graph const>
substitution_problem::materialize(state const& s, std::optional<any_graph> made, cost::grouped_costs& known) const {
    if (!s.rule) {
        known = costs_.remember(s.parent->graph);
        return s.parent;
    }
    if (!made) {
        made = s.parent->graph;
        GSUB_ASSERT(detail::apply_match(*made, move(s)), "a rewrite that applied once applies again");
        made->rehash();
    }
    auto out = std::make_shared<costed_graph>(costed_graph{std::move(*made), {}, s.cost});
    out->counted = {held_, out->graph.own_bytes() + s.parent->node_cost.size() * sizeof(double)};
    costs_.compute_from_parent(*out, s, known);
    return out;
}

GSUB_LAZY_BODY substitution_problem::state substitution_problem::deferred(std::shared_ptr<state const> before,
                                                                          search_log::successor const& next) const {
    auto const path = extend_path(before->path, next.move);
    return {.parent = nullptr,
            .before = std::move(before),
            .cost = in_ticks(next.cost),
            .key = next.key,
            .move_id = next.move,
            .path = path,
            .deferred = &next};
}

GSUB_LAZY_BODY std::string substitution_problem::repeat(std::shared_ptr<state const> const& from, state const& wanted,
                                                        state& made) {
    detail::expansion here{*from, costs_, {}};
    here.graph = materialize(*from, std::nullopt, here.known);
    auto const move = successors_.find_move(here.graph->graph, replay_.rule(wanted), wanted.move_id);
    if (!move) return "does not match";
    auto const& [anchor, match] = *move;
    detail::found_move found{{.id = wanted.move_id, .reads = {}, .changes = {}}, {}};
    if (!successors_.make(here, match, anchor, expander_.own(), found)) return "cannot be applied";
    made = std::move(found.next);
    if (made.key != wanted.key) return "leads to another graph";
    if (made.cost != wanted.cost)
        return format_text("leads to a cost of {}, not of {}", in_units(made.cost), in_units(wanted.cost));
    return {};
}

GSUB_LAZY_BODY substitution_problem::state substitution_problem::reconstructed(state const& s) {
    if (!s.deferred) return s;
    return replay_.reconstruct(s, [&](std::shared_ptr<state const> const& from, state const& wanted, state& made) {
        return repeat(from, wanted, made);
    });
}

GSUB_LAZY_BODY void substitution_problem::for_each_successor(state const& s, function_ref<bool(state&&)> emit) {
    auto const* known = replay_.find(s.path);
    if (!known) return s.deferred ? make_successors(reconstructed(s), emit) : make_successors(s, emit);
    auto before = std::make_shared<state>(s);
    before->parent_cache = nullptr;
    // A search that goes on from the first cheaper graph says no at the last successor that its log notes.
    auto const successors = replay_.log().successors(*known);
    for (std::size_t i = 0; i < successors.size(); ++i)
        if (!emit(deferred(before, successors[i])) && i + 1 < successors.size()) return;
    inapplicable_ += known->failed;
    ++remembered_;
}

GSUB_LAZY_BODY detail::expansion substitution_problem::begin_expansion(state const& s) {
    detail::expansion here{s, costs_, {}};
    here.graph = materialize(s, s.rule ? expander_.take(s.path) : std::nullopt, here.known);
    if (here.known.memory) costs_.keep(s.path, here.known.memory);
    expander_.forget();
    if (s.parent_cache) {
        here.by = s.parent_cache->find_move(s.move_id);
        here.by_cost = s.parent->total;
    }
    here.anchors = successors_.anchors(here.graph->graph);
    return here;
}

GSUB_LAZY_BODY void substitution_problem::make_successors(state const& s, function_ref<bool(state&&)> emit) {
    auto before = std::make_shared<state>(s);
    before->parent_cache = nullptr; // of use to this expansion alone
    auto const cache = std::make_shared<expansion_cache>();
    std::uint32_t place = 0;
    expander_.expand(successors_, begin_expansion(s), [&](detail::match_batch& batch) {
        inapplicable_ += batch.inapplicable;
        if (batch.failure) std::rethrow_exception(batch.failure);
        append(cache->negatives, batch.negatives);
        for (auto& found : batch.found) {
            auto& what = found.what;
            if (what.place == known_move::elsewhere) {
                ++reordered_;
                // A kernel's cost need not be the sum of what two moves make of it.
                if (costs_.model().of_node) cache->moves.push_back(what);
                continue;
            }
            what.place = place++;
            cache->moves.push_back(what);
            found.next.before = before;
            found.next.parent_cache = cache;
            if (!emit(std::move(found.next))) return false;
        }
        return true;
    });
    cache->complete(held_);
}

} // namespace gsub
