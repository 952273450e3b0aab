#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/patch.hpp>

namespace gsub {

GSUB_INLINE type_id graph_patch::type_of(value_id v) const {
    if (!v.valid()) return {};
    return v.node.index < base_ ? graph_->type_of(v) : nodes_[v.node.index - base_].results[v.port];
}

GSUB_INLINE value_id graph_patch::append(std::uint16_t row, attributes_id attributes,
                                         std::span<value_id const> operands, std::span<type_id const> results) {
    if (failed()) return {};
    if (nodes_.empty()) nodes_.reserve(8);
    nodes_.push_back({row, attributes, small_vector<value_id, 4>(operands), small_vector<type_id, 2>(results)});
    return {{base_ + static_cast<std::uint32_t>(nodes_.size() - 1)}, 0};
}

GSUB_INLINE void graph_patch::on_ill_typed(std::uint16_t row, std::string_view reason) {
    fail(format_text("{}: {}", operators().ops[row].name, reason));
}

GSUB_INLINE result<void> graph_patch::apply_to(any_graph& g, shared_interior policy) const {
    auto const refuse = [&](std::string_view reason) {
        return error{problem{errors::illegal_graph,
                             site_.index < g.capacity() ? g.display_name(site_) : "", // erased nodes keep their names
                             std::string{rule_},
                             std::string{reason},
                             {}}};
    };
    if (failed()) return refuse(reason_);
    GSUB_ASSERT(g.capacity() == base_, "a patch is applied to the graph state that it was prepared for");
    for (auto const& [from, to] : replacements_) {
        if (!to.valid()) return refuse("a replacement value is missing");
        if (!compatible(*type_of(from), *type_of(to)))
            return refuse(format_text("a value of type {} would become one of type {}", to_string(*type_of(from)),
                                      to_string(*type_of(to))));
    }
    for (auto const& n : nodes_) g.append_node(n.row, n.attributes, 0, n.operands, n.results);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) g.inherit_sources({base_ + i}, as_span(covered_));
    auto misplaced = false; // an existing value behind one of its new users
    for (auto const& r : replacements_) {
        auto const from = r.from, to = r.to;
        if (from == to) continue;
        g.replace_uses(from, to, base_);
        if (to.node.index < base_)
            g.for_each_use(to, [&](use u) { misplaced |= u.user.index < base_ && g.place(u.user) < g.place(to.node); });
    }
    for (auto const& [from, to] : replacements_) g.erase_unused(from.node);
    for (auto n : covered_)
        if (g.live(n)) g.erase_unused(n);
    if (policy == shared_interior::refuse)
        for (auto n : covered_)
            if (g.live(n)) return refuse(format_text("{} is used outside of the match", g.display_name(n)));
    // New nodes nobody uses (a split part that stays unread) go again.
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) g.erase_unused({base_ + i});
    if (misplaced ? !g.sort() : !g.restore_order(base_)) return refuse("it would close a cycle");
    return {};
}

} // namespace gsub
