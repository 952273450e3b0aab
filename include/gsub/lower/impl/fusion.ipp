#pragma once

#include <gsub/ir/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/impl/match_conv.ipp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/lower/lowering_rows.hpp>
#include <gsub/lower/scalar_rows.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gsub {

GSUB_LAZY_BODY fusion_rules fusion_rules_of(any_graph const& g, isa const& set) {
    fusion_rules rules;
    rules.set = &set;
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

// Makes the groups of a graph, or of a part of it.
template <class = void>
class group_maker final : public fusion_scope {
public:
    group_maker(any_graph const& g, fusion_rules const& rules)
        : fusion_scope(g, rules), state_(g.capacity(), unseen), images_(g.capacity(), unknown) {}

    // Every operator that an output needs takes part.
    void take_all() {
        auto const results = graph().results_node();
        auto const needed = upstream(graph(), {&results, 1});
        for (auto n : graph().order())
            if (needed[n.index]) take(n);
    }
    // Those take part whose groups may differ where these have changed.
    void take_around(std::span<node_id const> nodes) {
        changed_.assign(graph().capacity(), 0);
        for (auto n : nodes) changed_[n.index] = 1;
        std::vector<node_id> open;
        auto const reach = [&](node_id n) {
            if (state_[n.index] == unseen && take(n)) open.push_back(n);
        };
        for (auto n : nodes) {
            reach(n);
            for (auto v : graph().operands(n))
                if (v.valid()) reach(v.node);
            each_reader(n, reach);
        }
        while (!open.empty()) {
            auto const n = open.back();
            open.pop_back();
            for (auto v : graph().operands(n))
                if (v.valid() && may_share(v, n)) reach(v.node);
            each_reader(n, [&](node_id reader) {
                for (auto v : graph().operands(reader))
                    if (v.valid() && v.node == n && may_share(v, reader)) reach(reader);
            });
        }
        std::sort(nodes_.begin(), nodes_.end(),
                  [&](node_id a, node_id b) { return graph().place(a) < graph().place(b); });
    }

    [[nodiscard]] std::span<node_id const> nodes() const noexcept { return as_span(nodes_); }

    [[nodiscard]] std::vector<kernel_group> run() {
        for (auto n : nodes_) {
            if (state_[n.index] == alone) add({n});
            if (state_[n.index] != waiting || !row_of(n)) continue;
            bound_ = bound_of(n);
            if (auto nodes = row_of(n)(*this, n); !nodes.empty()) add(std::move(nodes));
        }
        for (auto n : nodes_) {
            if (state_[n.index] != waiting) continue;
            bound_ = bound_of(n);
            add(expression(n));
        }
        std::sort(made_.begin(), made_.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
        std::vector<kernel_group> out;
        for (auto& [place, nodes] : made_) out.push_back(std::move(nodes));
        return out;
    }

    [[nodiscard]] bool is_free(node_id n) const override {
        return state_[n.index] == waiting && bound_of(n) == bound_ && (bound_ != 0 || rules().within.empty());
    }
    [[nodiscard]] bool is_there(value_id v) const override { return before_ == everywhere || there_before(before_, v); }
    // As types say; or as kernels make it, and what follows them.
    [[nodiscard]] bool in_blocks(value_id v) const override {
        if (rules().laid_out) return in_channel_blocks(type(v), set());
        auto const known = images_[v.node.index];
        if (known != unknown || depth_ == 64) return known == yes;
        ++depth_;
        auto const found = will_be_in_blocks(v.node);
        --depth_;
        images_[v.node.index] = found ? yes : no;
        return found;
    }

private:
    enum : char { unseen, waiting, alone, taken };
    enum : char { unknown, yes, no };
    static constexpr auto everywhere = static_cast<std::size_t>(-1);
    using match_function = kernel_group (*)(fusion_scope const&, node_id);

    [[nodiscard]] bool there_before(std::size_t place, value_id v) const {
        any_graph const& g = graph();
        return g.constant(v) || g.is<ops::input>(v.node) || g.place(v.node) < place;
    }
    [[nodiscard]] match_function row_of(node_id n) const {
        return rules().rows.empty() ? nullptr : rules().rows[graph().row(n)].match;
    }
    [[nodiscard]] std::uint32_t bound_of(node_id n) const {
        return n.index < rules().within.size() ? rules().within[n.index] : 0;
    }
    template <class F>
    void each_reader(node_id n, F&& f) const {
        for (std::uint32_t port = 0; port < graph().result_count(n); ++port)
            graph().for_each_use({n, port}, [&](use u) { f(u.user); });
    }

    // Whether a node is an operator, which takes part then.
    bool take(node_id n) {
        any_graph const& g = graph();
        auto const of_graph = g.op(n).category == op_category::structural && !g.is<ops::call>(n);
        if (of_graph || g.constant(n)) return false;
        auto const shares = rules().generate && rules().group && g.result_count(n) == 1 && !lacks_elements(g, n) &&
                            (may_be_expressed(*this, n) || row_of(n));
        state_[n.index] = shares ? waiting : alone;
        nodes_.push_back(n);
        return shares;
    }
    // Whether an operator may be in the group of one that it reads: by what they are, and by what lies between them.
    [[nodiscard]] bool may_share(value_id v, node_id reader) {
        any_graph const& g = graph();
        if (may_be_expressed(*this, reader)) return g.use_count(v) == 1 || !depends_by_others(reader, v.node);
        if (g.use_count(v) != 1) return false;
        if (g.is<ops::conv>(reader)) return behind_depthwise(v);
        if (g.is<ops::mat_mul>(reader)) return g.is<ops::softmax>(v.node) || g.is<ops::fast_softmax>(v.node);
        return row_of(reader) != nullptr && !g.is<ops::gemm>(reader) && !g.is<ops::einsum>(reader);
    }
    // Whether a reader of a node depends on it by an operator, too, that can be in neither's expression: then no kernel
    // computes both, as it would wait for itself. Only what has not changed tells, since the same must hold before the
    // change: groups as they were then are what others are priced by.
    [[nodiscard]] bool depends_by_others(node_id reader, node_id n) {
        any_graph const& g = graph();
        constexpr std::size_t most = 96; // steps; beyond, they may share
        way_.clear();
        auto const from = [&](node_id m, bool by_other) {
            for (auto v : g.operands(m)) {
                if (!v.valid() || g.constant(v) || (v.node == n && !by_other)) continue;
                if (v.node == n) return true;
                if (g.place(v.node) < g.place(n) || changed_[v.node.index]) continue;
                step const next{v.node, by_other || !may_be_expressed(*this, v.node)};
                if (std::find(way_.begin(), way_.end(), next) == way_.end()) way_.push_back(next);
            }
            return false;
        };
        if (changed_[n.index] || changed_[reader.index]) return false;
        if (from(reader, false)) return true;
        for (std::size_t i = 0; i < way_.size() && i < most; ++i)
            if (auto const [m, by_other] = way_[i]; from(m, by_other)) return true;
        return false;
    }
    [[nodiscard]] bool behind_depthwise(value_id v) const {
        any_graph const& g = graph();
        for (int steps = 0; steps < 32 && v.valid() && !g.is<ops::conv>(v.node); ++steps) v = g.operand(v.node, 0);
        return v.valid() && g.is<ops::conv>(v.node) && g.attributes<ops::conv>(v.node).group > 1;
    }

    // Of elements: with one value that is read elsewhere, or of values that are there before its first operator.
    [[nodiscard]] kernel_group expression(node_id n) {
        kernel_group one{n}, several;
        auto const to_one = [&](expression_writer<> const& w) { one = w.nodes(); };
        auto const to_several = [&](expression_writer<> const& w) { several = w.nodes(); };
        if (find_block_expression(*this, n, to_one) || !find_row_expression(*this, n, true, to_one)) return one;
        before_ = graph().place(n);
        static_cast<void>(find_row_expression(*this, n, false, to_several));
        before_ = everywhere;
        return several.size() > one.size() ? several : one;
    }

    // Adds a group, at the place where it can run: that of the operator whose value is read outside, or where there are
    // several that of its first one, before which all stands that it reads.
    void add(kernel_group nodes) {
        any_graph const& g = graph();
        auto const leader = nodes.front();
        std::sort(nodes.begin(), nodes.end(), [&](node_id a, node_id b) { return g.place(a) < g.place(b); });
        auto const has = [&](node_id n) { return std::find(nodes.begin(), nodes.end(), n) != nodes.end(); };
        auto const first = g.place(nodes.front());
        auto at = g.place(nodes.back());
        std::size_t exits = 0;
        for (auto n : nodes) {
            auto read = false;
            each_reader(n, [&](node_id reader) { read = read || !has(reader); });
            if (read) ++exits, at = g.place(n);
        }
        if (exits > 1) {
            at = first;
            for (auto n : nodes)
                for (auto v : g.operands(n))
                    if (v.valid() && !has(v.node) && !there_before(first, v)) return add({leader});
        }
        for (auto n : nodes) state_[n.index] = taken;
        made_.emplace_back(at, std::move(nodes));
    }

    [[nodiscard]] bool will_be_in_blocks(node_id n) const {
        switch (kernel_storage_of(graph(), n, set())) {
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

    struct step {
        node_id node;
        bool by_other; ///< an operator that is in no expression has been passed
        friend bool operator==(step const&, step const&) = default;
    };

    std::vector<node_id> nodes_; // that take part, in the graph's order
    std::vector<char> state_;    // by node id
    std::vector<char> changed_;  // the same: around which groups are made
    std::vector<step> way_;      // of `depends_by_others`
    mutable std::vector<char> images_;
    mutable int depth_ = 0;
    std::vector<std::pair<std::size_t, kernel_group>> made_; // with the places at which they can run
    std::uint32_t bound_ = 0;                                // of the group that is made
    std::size_t before_ = everywhere;                        // values are there that stand before this place
};

} // namespace detail

GSUB_LAZY_BODY std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules) {
    detail::group_maker made{g, rules};
    made.take_all();
    return made.run();
}
GSUB_LAZY_BODY std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules,
                                                       std::span<node_id const> around) {
    detail::group_maker made{g, rules};
    made.take_around(around);
    return made.run();
}

GSUB_LAZY_BODY bool is_stored_view(any_graph const& g, node_id n) {
    return g.is<ops::transpose>(n) || g.is<ops::slice>(n) || g.is<ops::expand>(n) || g.is<ops::split>(n) ||
           (g.op(n).free_view && g.result_count(n) == 1 && !g.is<ops::shape>(n));
}

GSUB_LAZY_BODY void each_kernel_group(any_graph const& g, fusion_rules const& rules,
                                      std::optional<std::span<node_id const>> around,
                                      function_ref<void(kernel_group const&, fusion_scope const&)> f) {
    detail::group_maker made{g, rules};
    if (around)
        made.take_around(*around);
    else
        made.take_all();
    for (auto const& group : made.run()) f(group, made);
}
GSUB_LAZY_BODY void each_kernel_group(any_graph const& g, fusion_rules const& rules, std::span<node_id const> around,
                                      function_ref<bool(std::span<node_id const>, fusion_scope const&)> known,
                                      function_ref<void(kernel_group const&, fusion_scope const&)> f) {
    detail::group_maker made{g, rules};
    made.take_around(around);
    if (known(made.nodes(), made)) return;
    for (auto const& group : made.run()) f(group, made);
}

GSUB_LAZY_BODY std::vector<kernel_group> kernel_groups_for(any_graph const& g, target const& machine) {
    auto rules = fusion_rules_of(g, isa_of(machine));
    rules.laid_out = true;
    return kernel_groups(g, rules);
}

} // namespace gsub
