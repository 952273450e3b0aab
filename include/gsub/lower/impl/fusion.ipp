#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/impl/decision_notes.ipp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/match_conv.ipp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/lower/lowering_rows.hpp>
#include <gsub/lower/scalar_rows.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace gsub {

GSUB_LAZY_BODY fusion_rules fusion_rules_of(any_graph const& g, isa const& isa) {
    fusion_rules rules;
    rules.isa = &isa;
    auto const standard = table_of<op_info, standard_ops>();
    if (g.operators().ops.data() != standard.data()) return rules;
    rules.rows = table_of<lowering_row, standard_ops>(), rules.scalars = table_of<scalar_row, standard_ops>();
    return rules;
}

namespace detail {

// Whether something of an operator is unknown to kernels: a dimension, or that there are elements at all.
GSUB_LAZY [[nodiscard]] bool lacks_elements(any_graph const& g, node_id n) {
    auto const nothing = [](tensor_type const& t) { return !t.is_static() || *t.elements() == 0; };
    for (auto v : g.operands(n))
        if (v.valid() && nothing(g.type(v))) return true;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (nothing(g.type({n, port}))) return true;
    return false;
}

GSUB_LAZY [[nodiscard]] bool has(kernel_group const& nodes, node_id n) {
    return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}
GSUB_LAZY [[nodiscard]] bool is_read_outside(any_graph const& g, kernel_group const& nodes, node_id n) {
    auto read = false;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        g.for_each_use({n, port}, [&](use u) { read = read || !has(nodes, u.user); });
    return read;
}
// Where a group runs: at its first operator whose value is read outside.
GSUB_LAZY [[nodiscard]] std::size_t place_to_run(any_graph const& g, kernel_group const& nodes) {
    for (auto n : nodes)
        if (is_read_outside(g, nodes, n)) return g.place(n);
    return g.place(nodes.back());
}
// The groups in the order in which they run, with those first that take a view of a value for a group which stands
// before the view.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> in_order(any_graph const& g, std::vector<kernel_group> groups) {
    std::vector<std::size_t> place(groups.size());
    std::vector<std::size_t> wanted(g.capacity(), static_cast<std::size_t>(-1)); // by node id
    for (std::size_t i = 0; i < groups.size(); ++i) {
        place[i] = place_to_run(g, groups[i]);
        for (auto n : groups[i])
            for (auto v : g.operands(n))
                while (v.valid() && !has(groups[i], v.node) && !g.constant(v) && g.place(v.node) > place[i]) {
                    wanted[v.node.index] = std::min(wanted[v.node.index], place[i]);
                    v = g.operand(v.node, 0);
                }
    }
    struct position {
        std::size_t place; // before which it runs, or at which
        bool at;
        std::size_t own, group;
        auto operator<=>(position const&) const = default;
    };
    std::vector<position> order;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        auto const before = wanted[groups[i].front().index];
        order.push_back({std::min(before, place[i]), before >= place[i], place[i], i});
    }
    std::ranges::sort(order);
    std::vector<kernel_group> out;
    for (auto const& p : order) out.push_back(std::move(groups[p.group]));
    return out;
}

// Makes the groups of a graph: all of them, or those alone that a rewrite may have changed.
template <class = void>
class group_maker final : public fusion_scope {
public:
    group_maker(any_graph const& g, fusion_rules const& rules)
        : fusion_scope(g, rules), state_(g.capacity(), unseen), images_(g.capacity(), unknown) {}

    // All groups, and what decided each where that is to be kept.
    void make_all(group_function f, kernel_grouping* kept) {
        any_graph const& g = graph();
        auto const results = g.return_node();
        auto const needed = upstream(g, {&results, 1});
        for (auto n : g.order())
            if (needed[n.index]) take(n);
        make(f, kept);
    }
    // Those that differ from the groups before, or are made of something else; all of them to what is kept.
    void make_changed(kernel_grouping const& before, changed_nodes const& changes, group_function f,
                      kernel_grouping* kept) {
        before_all_ = &before;
        stale_.assign(graph().capacity(), 0);
        std::copy(before.roles_.begin(), before.roles_.end(), state_.begin());
        for (auto n : changes.values) {
            state_[n.index] = unseen;
            take(n);
            reach(n, true);
        }
        for (auto n : changes.readers) reach(n, false);
        make(f, kept);
    }

    [[nodiscard]] bool is_free(node_id n) const override {
        notes_.close(n);
        return state_[n.index] == waiting && bound_of(n) == bound_ && (bound_ != 0 || rules().within.empty());
    }
    [[nodiscard]] bool is_there(value_id v) const override {
        notes_.value(v.node);
        return before_ == everywhere || stands_before(before_, v);
    }
    // As types say; or as kernels make it, and what follows them.
    [[nodiscard]] bool in_blocks(value_id v) const override {
        if (rules().laid_out) return in_channel_blocks(type(v), isa());
        if (notes_.are_kept()) note_layout(v.node);
        return has_blocks(v);
    }

private:
    enum : char { unseen, waiting, alone, taken };
    enum : char { unknown, yes, no };
    static constexpr auto everywhere = static_cast<std::size_t>(-1);
    using match_function = kernel_group (*)(fusion_scope const&, node_id);

    [[nodiscard]] bool has_blocks(value_id v) const {
        auto const known = images_[v.node.index];
        if (known != unknown || depth_ == 64) return known == yes;
        ++depth_;
        auto const found = will_be_in_blocks(v.node);
        --depth_;
        images_[v.node.index] = found ? yes : no;
        return found;
    }

    // ---- what decides a group

    // What decides how a node's results lie: itself, numbers for each channel behind a convolution, and what it
    // follows.
    void note_layout(node_id n, int depth = 0) const {
        if (depth == 64 || !notes_.layout(n)) return;
        notes_.value(n);
        any_graph const& g = graph();
        auto scaled = n;
        for (int steps = 0; steps < 32; ++steps) {
            for (auto o : g.operands(scaled))
                if (o.valid()) notes_.value(o.node);
            auto const x = unchanged(g, by_channel(g, scaled));
            if (!x.valid()) break;
            notes_.close(scaled = x.node);
        }
        if (storage_of(n) != kernel_storage::follows) return;
        for (auto o : g.operands(n)) {
            if (!o.valid()) continue;
            note_layout(o.node, depth + 1);
            if (has_blocks(o)) return;
        }
    }
    [[nodiscard]] kernel_storage storage_of(node_id n) const {
        if (storages_.empty()) storages_.resize(graph().capacity());
        auto& known = storages_[n.index];
        if (!known) known = kernel_storage_of(graph(), n, isa());
        return *known;
    }
    // Whether a node's group is as it was: then its operators are taken.
    [[nodiscard]] bool stays(bool begins, node_id n) {
        if (!before_all_ || n.index >= before_all_->roles_.size() || (stale_[n.index] & anew(begins))) return false;
        auto const& known = before_all_->made_[begins][n.index];
        if (!known) return false;
        for (auto m : known->nodes) state_[m.index] = taken;
        notes_.group(begins, n, known);
        return true;
    }
    [[nodiscard]] static constexpr char anew(bool begins) noexcept { return begins ? 2 : 1; }
    // Groups are made anew that have looked at a node: at its value, or at its readers and its group.
    void reach(node_id n, bool by_value) {
        if (n.index + 1 >= before_all_->watched_at_.size()) return;
        for (auto i = before_all_->watched_at_[n.index]; i < before_all_->watched_at_[n.index + 1]; ++i)
            if (auto const& w = before_all_->watchers_[i]; by_value || w.close)
                stale_[w.first] = static_cast<char>(stale_[w.first] | anew(w.begins));
    }
    // Where a node's group has other operators than before, those are free that it has left, and not free that it has
    // taken.
    void reach(bool begins, node_id n, kernel_group const& nodes) {
        if (!before_all_) return;
        static kernel_group const none;
        auto const known = n.index < before_all_->roles_.size() ? before_all_->made_[begins][n.index] : nullptr;
        auto const& old = known ? known->nodes : none;
        if (nodes == old) return;
        for (auto const* of : {&nodes, &old})
            for (auto m : *of) reach(m, false);
    }

    // ---- groups

    // Leaders first, in the graph's order, then expressions.
    void make(group_function f, kernel_grouping* kept) {
        roles_ = state_;
        notes_.keep(kept, roles_);
        for (auto const begins : {false, true})
            for (auto n : graph().order()) {
                if (!(begins ? state_[n.index] == waiting : leads(n)) || stays(begins, n)) continue;
                auto nodes = begins ? begin(n) : lead(n);
                reach(begins, n, nodes);
                if (!nodes.empty()) f(nodes, *this);
                notes_.group(graph(), begins, n, std::move(nodes));
            }
        notes_.finish();
    }
    [[nodiscard]] bool leads(node_id n) const {
        return state_[n.index] == alone || (state_[n.index] == waiting && row_of(n));
    }
    // The group that an operator leads, nothing where it leads none.
    [[nodiscard]] kernel_group lead(node_id n) {
        if (state_[n.index] == alone) return added({n});
        bound_ = bound_of(n);
        auto nodes = row_of(n)(*this, n);
        return nodes.empty() ? nodes : added(std::move(nodes));
    }
    // The expression that an operator begins.
    [[nodiscard]] kernel_group begin(node_id n) {
        bound_ = bound_of(n);
        return added(expression(n));
    }
    // Whether a value is there at a place, or one of which it is a view.
    [[nodiscard]] bool stands_before(std::size_t place, value_id v) const {
        any_graph const& g = graph();
        for (int views = 0; views < 8; ++views, v = g.operand(v.node, 0)) {
            if (g.constant(v) || g.is<ops::input>(v.node) || g.place(v.node) < place) return true;
            if (roles_[v.node.index] != alone || !is_stored_view(g, v.node)) return false;
            notes_.value(v.node);
        }
        return false;
    }
    // Whether all that a group reads is there where it runs. Sorts it in the graph's order.
    [[nodiscard]] bool can_run(kernel_group& nodes) const {
        any_graph const& g = graph();
        std::sort(nodes.begin(), nodes.end(), [&](node_id a, node_id b) { return g.place(a) < g.place(b); });
        auto const place = place_to_run(g, nodes);
        return std::all_of(nodes.begin(), nodes.end(), [&](node_id n) {
            auto const operands = g.operands(n);
            return std::all_of(operands.begin(), operands.end(),
                               [&](value_id v) { return !v.valid() || has(nodes, v.node) || stands_before(place, v); });
        });
    }
    [[nodiscard]] match_function row_of(node_id n) const {
        return rules().rows.empty() ? nullptr : rules().rows[graph().row(n)].match;
    }
    [[nodiscard]] std::uint32_t bound_of(node_id n) const {
        return n.index < rules().within.size() ? rules().within[n.index] : 0;
    }

    // Lets a node take part, if it is an operator.
    void take(node_id n) {
        any_graph const& g = graph();
        auto const of_graph =
            g.op(n).category == op_category::structural && !g.is<ops::call>(n) && !g.is<ops::if_else>(n);
        if (of_graph || g.constant(n)) return;
        auto const shares = rules().generate && rules().group && g.result_count(n) == 1 && !lacks_elements(g, n) &&
                            (may_be_expressed(*this, n) || row_of(n));
        state_[n.index] = shares ? waiting : alone;
    }

    // Of elements: with one value that is read elsewhere; or with several, of all that fits where that can run, else of
    // what reads values alone that are there before its first operator.
    [[nodiscard]] kernel_group expression(node_id n) {
        kernel_group one{n}, several;
        auto const to_one = [&](expression_writer<> const& w) { one = w.nodes(); };
        auto const to_several = [&](expression_writer<> const& w) { several = w.nodes(); };
        if (find_block_expression(*this, n, to_one) || !find_row_expression(*this, n, true, to_one)) return one;
        static_cast<void>(find_row_expression(*this, n, false, to_several));
        if (several.size() > one.size() && !can_run(several)) {
            before_ = graph().place(n);
            static_cast<void>(find_row_expression(*this, n, false, to_several));
            before_ = everywhere;
        }
        return several.size() > one.size() ? several : one;
    }

    // A group in the graph's order; its operators are taken. One that cannot run is its leader alone.
    [[nodiscard]] kernel_group added(kernel_group nodes) {
        auto const leader = nodes.front();
        if (!can_run(nodes)) return added({leader});
        for (auto n : nodes) state_[n.index] = taken;
        return nodes;
    }

    [[nodiscard]] bool will_be_in_blocks(node_id n) const {
        switch (storage_of(n)) {
        case kernel_storage::row_major:
            return false;
        case kernel_storage::blocks:
            return true;
        case kernel_storage::follows:
            break;
        }
        auto const operands = graph().operands(n);
        return std::any_of(operands.begin(), operands.end(), [&](value_id o) { return o.valid() && in_blocks(o); });
    }

    std::vector<char> state_, roles_;                             // by node id; what it was before there were groups
    mutable std::vector<std::optional<kernel_storage>> storages_; // by node id
    mutable std::vector<char> images_;
    mutable int depth_ = 0;
    kernel_grouping const* before_all_ = nullptr; // of the graph that this one was made of; null: all are made
    std::vector<char> stale_;                     // by node id: which of its groups are made anew
    mutable decision_notes<> notes_;
    std::uint32_t bound_ = 0;         // of the group that is made
    std::size_t before_ = everywhere; // values are there that stand before this place
};

} // namespace detail

GSUB_LAZY_BODY std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules) {
    std::vector<kernel_group> made;
    each_kernel_group(g, rules, [&](kernel_group const& nodes, fusion_scope const&) { made.push_back(nodes); });
    return detail::in_order(g, std::move(made));
}

GSUB_LAZY_BODY bool is_stored_view(any_graph const& g, node_id n) {
    if (g.is<ops::dropout>(n) && g.operand_count(n) > 2) return false; // whether it trains is told when it runs
    return g.is<ops::transpose>(n) || g.is<ops::slice>(n) || g.is<ops::expand>(n) || g.is<ops::split>(n) ||
           (g.op(n).aliasing_view && g.result_count(n) == 1 && !g.is<ops::shape>(n));
}

GSUB_LAZY_BODY void each_kernel_group(any_graph const& g, fusion_rules const& rules, group_function f) {
    detail::group_maker{g, rules}.make_all(f, nullptr);
}
GSUB_LAZY_BODY kernel_grouping grouping_of(any_graph const& g, fusion_rules const& rules, group_function f) {
    kernel_grouping out;
    detail::group_maker{g, rules}.make_all(f, &out);
    return out;
}
GSUB_LAZY_BODY void each_changed_group(any_graph const& g, fusion_rules const& rules, kernel_grouping const& before,
                                       changed_nodes const& changes, group_function f) {
    detail::group_maker{g, rules}.make_changed(before, changes, f, nullptr);
}
GSUB_LAZY_BODY kernel_grouping grouping_of(any_graph const& g, fusion_rules const& rules, kernel_grouping const& before,
                                           changed_nodes const& changes, group_function f) {
    kernel_grouping out;
    detail::group_maker{g, rules}.make_changed(before, changes, f, &out);
    return out;
}

GSUB_LAZY_BODY std::vector<kernel_group> kernel_groups_for(any_graph const& g, target const& machine) {
    auto rules = fusion_rules_of(g, isa_of(machine));
    rules.laid_out = true;
    return kernel_groups(g, rules);
}

} // namespace gsub
