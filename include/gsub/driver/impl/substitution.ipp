#pragma once

#include <gsub/core/message.hpp>
#include <gsub/driver/substitution.hpp>
#include <gsub/rewrite/normal_form.hpp>
#include <gsub/rewrite/rewrite.hpp>

#include <algorithm>
#include <cmath>

namespace gsub {

namespace detail {

// A price that is one: an error naming node and unit otherwise.
GSUB_INLINE double checked_price(double price, any_graph const& g, node_id n, std::string_view unit) {
    if (price >= 0 && std::isfinite(price)) return price;
    throw error{problem{error_code::internal,
                        n.valid() ? g.display_name(n) : "",
                        n.valid() ? std::string{g.op(n).name} : "",
                        message({"the cost model gives ", price, " ", unit, "; prices are finite and >= 0"}),
                        {}}};
}

// The graph with the rewrite made, in normal form; false where the rewrite does not apply.
GSUB_INLINE bool apply_match(any_graph& g, match const& m) {
    auto const patch = prepare(m);
    if (patch.failed()) return false;
    g.start_journal();
    if (!patch.apply_to(g, shared_interior::refuse)) return false;
    normalize_changes(g);
    return true;
}

} // namespace detail

GSUB_INLINE substitution_problem::substitution_problem(any_graph start, cost::any_cost const& model,
                                                       rule_index const& rules)
    : model_(&model), rules_(&rules) {
    auto const cost = detail::checked_price(model.of_graph(start), start, {}, model.unit);
    // A power of two, so that scaling is exact: about 2^40 ticks for the start.
    ticks_per_unit_ = cost > 0 ? std::ldexp(1.0, 40 - std::ilogb(cost)) : 1;
    auto first = std::make_shared<priced_graph>(priced_graph{std::move(start), {}, 0});
    first->graph.rehash();
    price(*first);
    start_ = std::move(first);
}

GSUB_INLINE double substitution_problem::ticks(any_graph const& g, node_id n) const {
    return std::nearbyint(detail::checked_price(model_->of_node(g, n), g, n, model_->unit) * ticks_per_unit_);
}
GSUB_INLINE double substitution_problem::ticks(any_graph const& g) const {
    return std::nearbyint(detail::checked_price(model_->of_graph(g), g, {}, model_->unit) * ticks_per_unit_);
}

GSUB_INLINE void substitution_problem::price(priced_graph& p) const {
    if (!model_->of_node) {
        p.total = ticks(p.graph);
        return;
    }
    p.node_cost.assign(p.graph.capacity(), 0);
    p.total = 0;
    for (auto n : p.graph.order()) p.total += p.node_cost[n.index] = ticks(p.graph, n);
}

GSUB_INLINE std::string substitution_problem::label(state const& s) const {
    return s.move ? message({s.move->rule().name, "(", s.move->graph().display_name(s.move->site()), ")"})
                  : std::string{};
}

GSUB_INLINE std::shared_ptr<substitution_problem::priced_graph const> substitution_problem::open(state const& s) const {
    if (!s.move) return s.parent;
    auto made = std::make_shared<priced_graph>(priced_graph{s.parent->graph, {}, 0});
    GSUB_ASSERT(detail::apply_match(made->graph, *s.move), "a rewrite that applied once applies again");
    made->graph.rehash();
    price(*made);
    return made;
}

GSUB_INLINE std::optional<substitution_problem::state>
substitution_problem::successor(std::shared_ptr<priced_graph const> const& from, match const& m) {
    auto g = from->graph;
    if (!detail::apply_match(g, m)) {
        ++inapplicable_;
        return std::nullopt;
    }
    g.rehash();
    state next{from, std::make_shared<match const>(m), nullptr, 0, g.hash()};
    if (!model_->of_node) {
        next.cost = ticks(g);
        return next;
    }
    // What the rewrite took away, added, or gave other operands.
    auto const& changes = g.changes();
    auto const known = from->node_cost.size();
    next.cost = from->total;
    for (auto n : changes.erased)
        if (n.index < known) next.cost -= from->node_cost[n.index];
    for (auto n : changes.added)
        if (g.live(n)) next.cost += ticks(g, n);
    auto rewired = changes.rewired;
    std::sort(rewired.begin(), rewired.end());
    rewired.erase(std::unique(rewired.begin(), rewired.end()), rewired.end());
    for (auto n : rewired)
        if (g.live(n) && n.index < known) next.cost += ticks(g, n) - from->node_cost[n.index];
    return next;
}

} // namespace gsub
