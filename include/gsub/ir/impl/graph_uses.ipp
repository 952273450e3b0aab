#pragma once

#include <gsub/ir/graph.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE void any_graph::link(std::uint32_t slot) {
    auto& s = slots_[slot];
    if (!s.value.valid()) return;
    auto& head = results_[result_index(s.value)].first_use;
    s.previous = none;
    s.next = head;
    if (head != none) slots_[head].previous = slot;
    head = slot;
}

GSUB_INLINE void any_graph::unlink(std::uint32_t slot) {
    auto& s = slots_[slot];
    if (!s.value.valid()) return;
    if (s.previous != none)
        slots_[s.previous].next = s.next;
    else
        results_[result_index(s.value)].first_use = s.next;
    if (s.next != none) slots_[s.next].previous = s.previous;
    s.value = {};
}

GSUB_INLINE void any_graph::mark_rewired(node_id n) {
    record(n).flags |= dirty;
    hashed_ = false;
    if (journalling_) journal_.rewired.push_back(n);
}

GSUB_INLINE void any_graph::set_operand(node_id n, std::size_t i, value_id to) {
    auto const slot = record(n).first_slot + static_cast<std::uint32_t>(i);
    unlink(slot);
    slots_[slot].value = to;
    link(slot);
    mark_rewired(n);
    refresh_constness(n);
}

GSUB_INLINE void any_graph::replace_uses(value_id from, value_id to, std::uint32_t first_exempt) {
    GSUB_ASSERT(!(from == to), "replace_uses() of a value by itself");
    small_vector<use, 8> uses;
    for_each_use(from, [&](use u) {
        if (u.user.index < first_exempt) uses.push_back(u);
    });
    // In order of age, so that the new use list does not depend on how often it was rebuilt.
    std::reverse(uses.begin(), uses.end());
    for (auto u : uses) set_operand(u.user, u.operand, to);
    auto& inherited = results_[result_index(to)].name;
    if (inherited == none) inherited = results_[result_index(from)].name;
}

GSUB_INLINE void any_graph::refresh_constness(node_id first) {
    small_vector<node_id, 16> open{first};
    while (!open.empty()) {
        auto const id = open.back();
        open.pop_back();
        auto& n = record(id);
        auto const category = operators().ops[n.row].category;
        bool value = n.row == structural::constant;
        if (category != op_category::structural && category != op_category::opaque) {
            value = n.operands > 0 || category == op_category::source;
            for (std::uint32_t i = 0; i < n.operands && value; ++i)
                if (auto const v = slots_[n.first_slot + i].value; v.valid()) value = constant(v);
        }
        if (value == ((n.flags & is_constant) != 0)) continue;
        n.flags = static_cast<std::uint16_t>(n.flags ^ is_constant);
        if (journalling_ && id != first) journal_.rewired.push_back(id); // costs depend on it
        for (std::uint32_t port = 0; port < n.results; ++port)
            for_each_use({id, port}, [&](use u) { open.push_back(u.user); });
    }
}

GSUB_INLINE void any_graph::erase_unused(node_id first) {
    small_vector<node_id, 16> open{first};
    auto earliest = none; // place of what goes
    while (!open.empty()) {
        auto const id = open.back();
        open.pop_back();
        auto& n = record(id);
        if ((n.flags & erased) || id == return_node() || n.row == structural::input || used(id)) continue;
        for (std::uint32_t i = 0; i < n.operands; ++i) {
            auto const source = slots_[n.first_slot + i].value.node;
            unlink(n.first_slot + i);
            if (!source.valid()) continue;
            open.push_back(source);
            if (journalling_) journal_.released.push_back(source);
        }
        n.flags |= erased;
        earliest = std::min(earliest, places_[id.index]);
        if (journalling_) journal_.erased.push_back(id);
    }
    if (earliest == none) return;
    drop_erased(earliest);
    hashed_ = false;
}

GSUB_INLINE void any_graph::erase_dead() {
    for (auto i = order_.size(); i-- > 0;) { // backwards: users go before what they use
        auto const id = order_[i];
        auto& n = record(id);
        if (id == return_node() || n.row == structural::input || used(id)) continue;
        for (std::uint32_t k = 0; k < n.operands; ++k) {
            if (auto const source = slots_[n.first_slot + k].value.node; journalling_ && source.valid())
                journal_.released.push_back(source);
            unlink(n.first_slot + k);
        }
        n.flags |= erased;
        hashed_ = false;
        if (journalling_) journal_.erased.push_back(id);
    }
    drop_erased(0);
}

} // namespace gsub
