#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/graph.hpp>

#include <algorithm>
#include <functional>

namespace gsub {

GSUB_INLINE void any_graph::note_places(std::size_t first) {
    for (auto i = static_cast<std::uint32_t>(first); i < order_.size(); ++i) places_[order_[i].index] = i;
}

GSUB_INLINE void any_graph::set_order(std::vector<node_id> order) {
    order_ = std::move(order);
    note_places(0);
}

GSUB_INLINE void any_graph::drop_erased(std::size_t first) {
    auto const from = order_.begin() + static_cast<std::ptrdiff_t>(first);
    order_.erase(std::remove_if(from, order_.end(), [&](node_id n) { return !live(n); }), order_.end());
    note_places(first);
}

GSUB_INLINE void any_graph::order_canonically() {
    std::vector<node_id> canonical;
    canonical.reserve(order_.size());
    std::vector<bool> seen(nodes_.size(), false);
    auto const take = [&](node_id n) {
        seen[n.index] = true;
        canonical.push_back(n);
    };
    for (auto n : inputs_) take(n);
    struct frame {
        node_id node;
        std::uint32_t next;
    };
    std::vector<frame> stack;
    auto const visit = [&](node_id root) {
        stack.push_back({root, 0});
        while (!stack.empty()) {
            auto& top = stack.back();
            if (top.next == record(top.node).operands) {
                if (!seen[top.node.index]) take(top.node);
                stack.pop_back();
            } else if (auto const v = slots_[record(top.node).first_slot + top.next++].value;
                       v.valid() && !seen[v.node.index]) {
                stack.push_back({v.node, 0});
            }
        }
    };
    for (auto v : operands(return_node()))
        if (!seen[v.node.index]) visit(v.node);
    for (auto n : order_) // what no output needs comes last, as it stood
        if (!seen[n.index] && n != return_node()) visit(n);
    canonical.push_back(return_node());
    set_order(std::move(canonical));
}

GSUB_INLINE bool any_graph::restore_order(std::uint32_t first_new) {
    // New nodes stand at the end of the order, before the results node. They belong behind the last of their operands
    // and before the first of their users. Where these overlap, the window between them is split: what depends on new
    // nodes goes behind them. An operand of theirs among what depends on them is a cycle.
    auto const end = order_.size() - 1;
    auto begin = end;
    while (begin > 0 && order_[begin - 1].index >= first_new) --begin;
    auto const old = [&](node_id n) { return n.index < first_new; };
    auto const at = [&](std::size_t place) { return order_.begin() + static_cast<std::ptrdiff_t>(place); };
    std::size_t after = 0, before = begin;
    for (auto i = begin; i < end; ++i) {
        auto const n = order_[i];
        for (auto v : operands(n))
            if (v.valid() && old(v.node)) after = std::max<std::size_t>(after, places_[v.node.index] + 1);
        for (std::uint32_t port = 0; port < record(n).results; ++port)
            for_each_use({n, port}, [&](use u) {
                if (old(u.user)) before = std::min<std::size_t>(before, places_[u.user.index]);
            });
    }
    if (after <= before) {
        std::rotate(at(after), at(begin), at(end));
        note_places(after);
        return true;
    }
    std::vector<bool> depends(nodes_.size(), false);
    for (auto i = begin; i < end; ++i) depends[order_[i].index] = true;
    std::vector<node_id> window;
    window.reserve(end - before);
    small_vector<node_id, 32> behind;
    for (auto i = before; i < after; ++i) {
        auto const n = order_[i];
        for (auto v : operands(n))
            if (v.valid() && depends[v.node.index]) depends[n.index] = true;
        if (depends[n.index])
            behind.push_back(n);
        else
            window.push_back(n);
    }
    for (auto i = begin; i < end; ++i)
        for (auto v : operands(order_[i]))
            if (v.valid() && old(v.node) && depends[v.node.index]) return false;
    window.insert(window.end(), at(begin), at(end));
    gsub::append(window, behind);
    window.insert(window.end(), at(after), at(begin));
    std::copy(window.begin(), window.end(), at(before));
    note_places(before);
    return true;
}

GSUB_INLINE bool any_graph::sort() {
    std::vector<std::uint32_t> place(nodes_.size(), none), waiting(nodes_.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) place[order_[i].index] = i;
    std::vector<std::uint32_t> ready; // a heap of places: the earliest node that has all operands goes next
    for (auto n : order_) {
        for (auto v : operands(n)) waiting[n.index] += v.valid();
        if (waiting[n.index] == 0) ready.push_back(place[n.index]);
    }
    std::make_heap(ready.begin(), ready.end(), std::greater<>{});
    std::vector<node_id> sorted;
    sorted.reserve(order_.size());
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), std::greater<>{});
        auto const n = order_[ready.back()];
        ready.pop_back();
        if (n != return_node()) sorted.push_back(n);
        for (std::uint32_t port = 0; port < record(n).results; ++port)
            for_each_use({n, port}, [&](use u) {
                if (--waiting[u.user.index] != 0) return;
                ready.push_back(place[u.user.index]);
                std::push_heap(ready.begin(), ready.end(), std::greater<>{});
            });
    }
    sorted.push_back(return_node());
    if (sorted.size() != order_.size()) return false;
    set_order(std::move(sorted));
    return true;
}

} // namespace gsub
