#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/optimize/impl/incremental_costs.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::detail {

GSUB_LAZY_BODY double checked_cost(double cost, any_graph const& g, node_id n, std::string_view unit) {
    if (cost >= 0 && std::isfinite(cost)) return cost;
    throw error{problem{errors::cost_value,
                        n.valid() ? g.display_name(n) : "",
                        n.valid() ? std::string{g.op(n).name} : "",
                        format_text("the cost model gives {} {}; costs are finite and >= 0", cost, unit),
                        {}}};
}

/// The nodes that changes in a graph's journal have left with other values or other readers.
struct journal_changes {
    std::vector<node_id> values, readers;
    explicit journal_changes(any_graph const& g)
        : values(g.changes().added.begin(), g.changes().added.end()),
          readers(g.changes().released.begin(), g.changes().released.end()) {
        append(values, g.changes().rewired);
        once(values, g);
        for (auto n : values)
            for (auto v : g.operands(n))
                if (v.valid()) readers.push_back(v.node);
        once(readers, g);
    }
    [[nodiscard]] changed_nodes nodes() const { return {as_span(values), as_span(readers)}; }

private:
    static void once(std::vector<node_id>& nodes, any_graph const& g) {
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        std::erase_if(nodes, [&](node_id n) { return !g.live(n); });
    }
};

GSUB_LAZY_BODY incremental_costs::incremental_costs(cost::any_cost const& model, any_graph const& start)
    : model_(&model), start_(checked_cost(model.of_graph(start), start, {}, model.unit)) {
    // A power of two, so that scaling is exact: about 2^40 ticks for the start.
    if (start_ > 0) ticks_per_unit_ = std::ldexp(1.0, 40 - std::ilogb(start_));
}

GSUB_LAZY_BODY hash128 incremental_costs::identity(costed_graph const& start) const {
    hasher h;
    h.add(model_->unit).add(model_->parameters).add_real(ticks_per_unit_).add_real(start.total);
    h.add(model_->of_node != nullptr).add(model_->of_groups != nullptr);
    for (auto ticks : start.node_cost) h.add_real(ticks);
    return h.finish();
}

GSUB_LAZY_BODY double incremental_costs::ticks(any_graph const& g, node_id n, double cost) const {
    return std::nearbyint(checked_cost(cost, g, n, model_->unit) * ticks_per_unit_);
}
GSUB_LAZY_BODY double incremental_costs::ticks(any_graph const& g) const {
    return std::nearbyint(checked_cost(model_->of_graph(g), g, {}, model_->unit) * ticks_per_unit_);
}

GSUB_LAZY_BODY void incremental_costs::compute(costed_graph& p) const {
    if (!model_->is_sum()) {
        p.total = ticks(p.graph);
        return;
    }
    p.node_cost.assign(p.graph.capacity(), 0);
    p.total = 0;
    auto const set = [&](node_id n, double ticks) { p.total += p.node_cost[n.index] = ticks; };
    if (model_->of_groups)
        for (auto const& cost : model_->of_groups(p.graph)) set(cost.node, ticks(p.graph, cost.node, cost.amount));
    else
        for (auto n : p.graph.order()) set(n, ticks(p.graph, n, model_->of_node(p.graph, n)));
}

// Calls `f(node, ticks)` for each node whose cost may differ from what it was before the changes in the graph's
// journal, by the model's memory of the graph before them.
GSUB_LAZY_BODY void incremental_costs::update(any_graph const& g, void const* memory,
                                              function_ref<void(node_id, double)> f) const {
    journal_changes const changed{g};
    if (!model_->of_groups_near)
        for (auto n : changed.values) f(n, ticks(g, n, model_->of_node(g, n)));
    else
        for (auto const& p : model_->of_groups_near(g, memory, changed.nodes())) f(p.node, ticks(g, p.node, p.amount));
}

GSUB_LAZY_BODY double incremental_costs::after(costed_graph const& before, void const* memory,
                                               any_graph const& made) const {
    if (!model_->is_sum()) return ticks(made);
    auto total = before.total;
    // What the rewrite took away, added, or gave other operands.
    auto const cost_before = [&](node_id n) {
        return n.index < before.node_cost.size() ? before.node_cost[n.index] : 0;
    };
    for (auto n : made.changes().erased) total -= cost_before(n);
    update(made, memory, [&](node_id n, double ticks) { total += ticks - cost_before(n); });
    return total;
}

GSUB_LAZY_BODY void incremental_costs::compute_from_parent(costed_graph& made, substitution_state const& s,
                                                           cost::grouped_costs& known) const {
    if (!model_->is_sum()) return;
    auto const& g = made.graph;
    made.node_cost = s.parent->node_cost;
    made.node_cost.resize(g.capacity(), 0);
    for (auto n : g.changes().erased) made.node_cost[n.index] = 0;
    auto const set = [&](node_id n, double ticks) { made.node_cost[n.index] = ticks; };
    auto const before = std::find_if(memories_.begin(), memories_.end(),
                                     [&](auto const& m) { return s.before && m.first == s.before->path; });
    if (model_->remembered && before != memories_.end()) {
        journal_changes const changed{g};
        known = model_->remembered_near(g, before->second.get(), changed.nodes());
    } else if (model_->remembered) {
        known = model_->remembered(g);
        update(g, known.memory.get(), set); // of what is in no group
    } else {
        update(g, nullptr, set);
    }
    for (auto const& p : known.nodes) set(p.node, ticks(g, p.node, p.amount));
}

GSUB_LAZY_BODY cost::grouped_costs incremental_costs::remember(any_graph const& g) const {
    return model_->remembered ? model_->remembered(g) : cost::grouped_costs{};
}

GSUB_LAZY_BODY void incremental_costs::keep(hash128 path, std::shared_ptr<void const> memory) {
    constexpr std::size_t kept = 16; // most states are expanded soon after those that they were made of
    if (memories_.size() == kept) memories_.erase(memories_.begin());
    memories_.emplace_back(path, std::move(memory));
}

} // namespace gsub::detail
