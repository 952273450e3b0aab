#pragma once

#include <gsub/core/format.hpp>
#include <gsub/optimize/impl/successor_generator.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/search/concepts.hpp>

#include <exception>
#include <new>
#include <utility>

namespace gsub::detail {

// What a rule's own code does at a match; where that throws, the move fails and is named.
template <class F>
bool by_rule(match const& m, F const& code) {
    try {
        return code();
    } catch (std::bad_alloc const&) { // no fault of the rule
        throw;
    } catch (std::exception const& e) {
        throw search::failed_move{
            format_text("rule {} at {}: {}", m.rule().name, quoted{m.graph().display_name(m.site())}, e.what())};
    }
}
GSUB_LAZY_BODY bool fires(match const& m) {
    return by_rule(m, [&] { return !first_failure(m); });
}

GSUB_LAZY_BODY bool apply_match(any_graph& g, match const& m) {
    auto const patch = prepare(m);
    if (patch.failed()) return false;
    g.start_journal();
    if (!patch.apply_to(g, shared_interior::refuse)) return false;
    canonicalize_changes(g);
    return true;
}

// All nodes that a match stands on but for constants: who reads these does not matter to rewrites.
GSUB_LAZY node_signature nodes_of(match const& m) {
    node_signature out;
    auto const& g = m.graph();
    for (auto v : m.roots()) out.add(v.node);
    for (auto n : m.covered()) out.add(n);
    m.for_each_binding([&](binding const& b) {
        if (b.value.valid() && !g.is<ops::constant>(b.value.node)) out.add(b.value.node);
    });
    return out;
}

// The nodes of `before` that a rewrite has changed: those gone, with other operands, or with other readers.
GSUB_LAZY node_signature nodes_changed(any_graph const& before, any_graph const& after) {
    node_signature out;
    auto const known = before.capacity();
    auto const add = [&](node_id n) {
        if (n.index < known) out.add(n);
    };
    auto const add_operands = [&](any_graph const& g, node_id n) {
        for (auto v : g.operands(n))
            if (v.valid()) add(v.node);
    };
    auto const& changes = after.changes();
    for (auto const* list : {&changes.erased, &changes.rewired, &changes.added})
        for (auto n : *list) {
            add(n);
            if (n.index < known && before.live(n)) add_operands(before, n);
            if (after.live(n)) add_operands(after, n);
        }
    return out;
}

GSUB_LAZY_BODY std::vector<node_id> successor_generator::anchors(any_graph const& g) const {
    std::vector<node_id> out;
    out.reserve(g.size());
    for (auto n : g.order())
        if (n != g.return_node() && !g.constant(n) && !rules_->anchored_at(g.op(n)).empty()) out.push_back(n);
    return out;
}

GSUB_LAZY_BODY std::uint64_t successor_generator::move_id(match const& m) const {
    hasher h{static_cast<std::uint64_t>(&m.rule() - rules_->rules().data())};
    for (auto v : m.roots()) h.add(v.node.index).add(v.port);
    m.for_each_binding([&](binding const& b) { h.add(b.name).add(b.value.node.index).add(b.value.port).add(b.index); });
    for (auto v : m.addends()) h.add(v.node.index).add(v.port);
    return h.finish().low;
}

GSUB_LAZY_BODY std::optional<match> successor_generator::find_move(any_graph const& g, rule_program const& rule,
                                                                   node_id anchor, std::uint64_t id) const {
    std::optional<match> out;
    find_matches_at(g, rule, anchor, [&](match const& m) {
        if (!out && move_id(m) == id) out = m;
    });
    return out;
}

GSUB_LAZY_BODY std::optional<std::pair<node_id, match>>
successor_generator::find_move(any_graph const& g, std::string_view rule, std::uint64_t id) const {
    for (auto n : anchors(g))
        for (auto const* candidate : rules_->anchored_at(g.op(n)))
            if (candidate->name == rule)
                if (auto move = find_move(g, *candidate, n, id)) return std::pair{n, *std::move(move)};
    return std::nullopt;
}

GSUB_LAZY_BODY bool successor_generator::make(expansion const& here, match const& m, node_id anchor, scratch_graphs& w,
                                              found_move& out) const {
    auto const& from = *here.graph;
    auto& scratch = w.scratch;
    scratch = from.graph;
    if (!by_rule(m, [&] { return apply_match(scratch, m); })) return false;
    scratch.rehash();
    auto& next = out.next;
    next = {.parent = here.graph,
            .rule = &m.rule(),
            .anchor = anchor,
            .site = m.site(),
            .cost = here.costs.after(from, here.known.memory.get(), scratch),
            .key = scratch.hash(),
            .move_id = out.what.id,
            .path = extend_path(here.what.path, out.what.id)};
    out.what.cost = next.cost;
    if (one_order_) out.what.reads = nodes_of(m);
    out.what.changes = nodes_changed(from.graph, scratch);
    if (w.path_of_cheapest == hash128{} || next.cost < w.cost_of_cheapest) {
        std::swap(scratch, w.cheapest);
        w.cost_of_cheapest = next.cost;
        w.path_of_cheapest = next.path;
    }
    return true;
}

// The move of the parent by which the same rewrites have been made in the other order, if there is one.
GSUB_LAZY_BODY known_move const* successor_generator::made_before(expansion const& here, std::uint64_t id) const {
    auto const* by = here.by;
    if (!one_order_ || !by || by->id == id) return nullptr;
    auto const* other = here.what.parent_cache->find_move(id);
    return other && other->comes_before(*by) && other->independent_of(*by) ? other : nullptr;
}

GSUB_LAZY_BODY void successor_generator::find_at(expansion const& here, node_id anchor, scratch_graphs& w,
                                                 match_batch& out) const {
    // Known from before the last move, where that left alone what decided it.
    auto const* negative = here.by ? here.what.parent_cache->find_negative(anchor) : nullptr;
    if (negative && !negative->meets(here.by->changes)) {
        out.negatives.push_back({anchor, *negative});
        return;
    }
    auto const& g = here.graph->graph;
    node_signature looked_at;
    auto negatives = true;
    for (auto const* rule : rules_->anchored_at(g.op(anchor))) {
        auto const found_match = [&](match const& m) {
            negatives = false;
            if (!fires(m)) return;
            found_move found{{.id = move_id(m), .reads = {}, .changes = {}}, {}};
            if (auto const* other = made_before(here, found.what.id)) {
                found.what = *other;
                found.what.place = known_move::elsewhere;
                // What one move changes the cost by, it does beside the other.
                found.what.cost += here.what.cost - here.by_cost;
                out.found.push_back(std::move(found));
            } else if (make(here, m, anchor, w, found)) {
                out.found.push_back(std::move(found));
            } else {
                ++out.inapplicable;
            }
        };
        find_pattern_at(g, *rule, anchor, found_match, &looked_at);
    }
    if (negatives) out.negatives.push_back({anchor, looked_at});
}

GSUB_LAZY_BODY void successor_generator::find(expansion const& here, std::span<node_id const> anchors,
                                              scratch_graphs& w, match_batch& out) const {
    match_batch found; // here, so that no other thread's cache holds what is written often
    try {
        for (auto n : anchors) find_at(here, n, w, found);
    } catch (...) { found.failure = std::current_exception(); }
    out = std::move(found);
}

} // namespace gsub::detail
