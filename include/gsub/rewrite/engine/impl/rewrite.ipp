#pragma once

#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>

#include <algorithm>

namespace gsub {

GSUB_INLINE rewrite::rewrite(match const& m) : graph_patch(m.graph(), m.rule().name, m.site()), match_(&m) {
    for (auto n : m.covered()) covers(n);
}

GSUB_INLINE ints rewrite::sizes(value_id v) {
    if (!v.valid()) return ints(1, 1);
    auto const& t = type(v);
    if (t.is_static()) return t.sizes();
    fail("a size that the rewrite needs is not fixed");
    return ints(t.ranked ? t.rank() : 1, 1);
}

GSUB_INLINE void rewrite::replace_root(std::size_t i, value_id v) {
    if (!v.valid() || i >= match_->roots().size()) return fail("a root has no replacement");
    for (auto other : match_->addends()) v = add<ops::add>(v, other);
    replace(match_->roots()[i], v);
}

GSUB_INLINE value_id rewrite::per_output(value_id vector, std::size_t rank) {
    ints dims(rank, 1);
    dims[0] = sizes(vector)[0];
    return reshaped(vector, std::move(dims));
}

GSUB_INLINE value_id rewrite::matrix_times_vector(value_id m, value_id v) {
    auto const length = sizes(v)[0], rows = sizes(m)[0];
    return reshaped(add<ops::mat_mul>(m, reshaped(v, {length, 1})), {rows});
}

namespace detail {

/// Builds the nodes of a lowered replacement.
class replacement_builder {
public:
    replacement_builder(rewrite& r) : r_(r), rule_(r.matched().rule()) {}

    value_id build(std::uint16_t number, std::uint32_t index) {
        auto const& n = rule_.build_nodes[number];
        auto const kid = [&](std::size_t i) { return rule_.build_links[n.first_link + i]; };
        switch (n.kind) {
        case pattern::node_kind::variable:
        case pattern::node_kind::optional:
            return bound(n.name, index);
        case pattern::node_kind::computed:
            return n.compute(r_);
        case pattern::node_kind::operation:
        case pattern::node_kind::category: {
            small_vector<value_id, 6> operands;
            for (std::size_t i = 0; i < n.links; ++i) {
                auto const& child = rule_.build_nodes[kid(i)];
                if (child.kind != pattern::node_kind::each) {
                    operands.push_back(build(kid(i), index));
                    continue;
                }
                auto const inner = rule_.build_links[child.first_link];
                for (std::uint32_t k = 0; k < std::max(1u, count_of(inner)); ++k) operands.push_back(build(inner, k));
            }
            while (!operands.empty() && !operands.back().valid()) operands.pop_back();
            auto const& g = r_.graph();
            auto const labelled = n.name ? bound(n.name, index).node : node_id{};
            if (n.kind == pattern::node_kind::category) return r_.like(labelled, operands);
            auto const row = find_row(r_.operators().ops, n.op);
            if (!row) return r_.fail("the graph's set of operators lacks one that the rule makes"), value_id{};
            auto const attributes = n.attributes ? n.attributes(r_.matched())
                                    : labelled.valid()
                                        ? g.attributes(labelled)
                                        : *r_.operators().ops[*row].intern(r_.operators().ops[*row].layout.defaults());
            return r_.emit(*row, attributes, operands,
                           labelled.valid() && !n.attributes ? g.result_count(labelled) : 1);
        }
        default:
            return {};
        }
    }

private:
    // What a name stands for in copy `index` of an `each`: one bound outside of all spreading terms is the same in all.
    value_id bound(pattern::name_hash name, std::uint32_t index) const {
        auto const v = r_.matched().value(name, index);
        return v.valid() || index == match::any_index || is_spread(name) ? v : r_.matched().value(name);
    }
    bool is_spread(pattern::name_hash name) const {
        for (auto const& n : rule_.match_nodes)
            if (n.kind == pattern::node_kind::each || n.kind == pattern::node_kind::every_part)
                if (contains(rule_.match_links[n.first_link + n.links - 1u], name)) return true; // the last child
        return false;
    }
    bool contains(std::uint16_t number, pattern::name_hash name) const {
        auto const& n = rule_.match_nodes[number];
        if (n.name == name) return true;
        for (std::size_t i = 0; i < n.links; ++i)
            if (contains(rule_.match_links[n.first_link + i], name)) return true;
        return false;
    }
    // How many bindings the first name under a node has that is bound once an operand.
    std::uint32_t count_of(std::uint16_t number) const {
        auto const& n = rule_.build_nodes[number];
        if (n.name && is_spread(n.name))
            if (auto const count = r_.matched().values(n.name).size(); count > 0)
                return static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < n.links; ++i)
            if (auto const below = count_of(rule_.build_links[n.first_link + i]); below > 0) return below;
        return 0;
    }
    rewrite& r_;
    rule_program const& rule_;
};

} // namespace detail

GSUB_INLINE rewrite prepare(match const& m) {
    rewrite r{m};
    if (m.rule().build) {
        m.rule().build(r);
    } else {
        detail::replacement_builder builder{r};
        for (std::size_t i = 0; i < m.rule().outputs.size(); ++i)
            r.replace_root(i, builder.build(m.rule().outputs[i], match::any_index));
    }
    return r;
}

} // namespace gsub
