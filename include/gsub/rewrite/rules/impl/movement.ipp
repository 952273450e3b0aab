#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/rewrite/engine/impl/rewrite.ipp>
#include <gsub/rewrite/rules/movement.hpp>

#include <algorithm>

namespace gsub::rules::movement::detail {

GSUB_INLINE std::optional<std::size_t> axis_of(match const& m, node_id n) {
    auto const& t = m.type(value_id{n, 0});
    if (!t.ranked) return std::nullopt;
    auto const axis = m.graph().is<ops::concat>(n) ? m.graph().attributes<ops::concat>(n).axis
                                                   : m.graph().attributes<ops::split>(n).axis;
    return normalized_axis(axis, t.rank());
}

GSUB_INLINE bool parts_fit(match const& m, std::span<value_id const> parts, node_id split, std::size_t ports) {
    auto const axis = axis_of(m, split);
    auto const& whole = m.type(m.graph().operand(split, 0));
    if (!axis || parts.size() != ports) return false;
    auto const from_last = whole.rank() - 1 - *axis;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto const &t = m.type(parts[i]), &part = m.type(value_id{split, static_cast<std::uint32_t>(i)});
        if (!t.is_static() || t.rank() > whole.rank() || t.rank() <= from_last ||
            !differ_only_at(t, m.type(parts[0]), from_last))
            return false;
        if (!provably_equal(t.dims[t.rank() - 1 - from_last], part.dims[*axis])) return false;
    }
    return true;
}

GSUB_INLINE bool others_fit(match const& m) {
    auto const others = m.all(y);
    return parts_fit(m, others, m.node(s), others.size());
}

GSUB_INLINE bool constant_is_cut(match const& m) {
    auto const axis = axis_of(m, m.node(j));
    auto const &cut = m.type(k), &whole = m.type_of_label(m.node(j));
    if (!axis || !cut.is_static() || !whole.is_static() || cut.rank() > whole.rank()) return false;
    // The sum has the type of the concat: the constant is broadcast, not the operands.
    auto const both = broadcast(cut.dims, whole.dims);
    return both && *both == whole.dims;
}

GSUB_INLINE bool reorders_along(match const& m, std::size_t axis) {
    return axis_of(m, m.node(s)) == axis && axis_of(m, m.node(j)) == axis;
}

GSUB_INLINE bool reorders_columns(match const& m, tensor_type const& value) {
    return value.ranked && m.type(w).ranked && m.type(w).rank() == 2 && reorders_along(m, value.rank() - 1);
}

GSUB_INLINE bool other_order(match const& m) {
    auto const concat = m.node(j);
    for (std::size_t i = 0; i < m.graph().operand_count(concat); ++i)
        if (m.graph().operand(concat, i).port != i) return true;
    return false;
}

GSUB_INLINE bool others_are_together(match const& m) {
    auto const others = m.all(y);
    if (all_of(others, [&](value_id v) { return m.graph().constant(v); })) return true;
    for (auto v : others)
        if (v.node != others[0].node || !m.graph().is<ops::split>(v.node) ||
            m.graph().result_count(v.node) != others.size())
            return false;
    return true;
}

GSUB_INLINE small_vector<std::uint32_t, 8> first_alike(match const& m) {
    auto const nodes = m.nodes(u);
    small_vector<std::uint32_t, 8> first;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        std::uint32_t before = 0;
        while (!(m.graph().row(nodes[before]) == m.graph().row(nodes[i]) &&
                 m.graph().attributes(nodes[before]) == m.graph().attributes(nodes[i])))
            ++before;
        first.push_back(before);
    }
    return first;
}

// The operator of a matched node on each value.
GSUB_INLINE small_vector<value_id, 6> mapped(rewrite& r, node_id op, std::span<value_id const> values) {
    small_vector<value_id, 6> out;
    for (auto v : values) out.push_back(r.like(op, {v}));
    return out;
}

GSUB_INLINE void unary_into_concat(rewrite& r) {
    auto const& m = r.matched();
    r.replace_root(0, r.like(m.node(j), mapped(r, m.node(u), m.all(x))));
}
GSUB_INLINE void unary_out_of_concat(rewrite& r) {
    auto const& m = r.matched();
    r.replace_root(0, r.like(m.node(u), {r.like(m.node(j), m.all(x))}));
}

// A split like the matched one, of another value; its parts become the roots.
GSUB_INLINE void replace_by_parts(rewrite& r, value_id whole) {
    auto const parts = r.like(r.matched().node(s), {whole});
    for (std::uint32_t i = 0; i < r.matched().roots().size(); ++i) r.replace_root(i, rewrite::port(parts, i));
}

GSUB_INLINE void unary_before_split(rewrite& r) {
    replace_by_parts(r, r.like(r.matched().node(u), {r[x]}));
}
GSUB_INLINE void unary_after_split(rewrite& r) {
    auto const& m = r.matched();
    auto const parts = r.like(m.node(s), {r[x]});
    for (std::uint32_t i = 0; i < m.roots().size(); ++i)
        r.replace_root(i, r.like(m.node(u), {rewrite::port(parts, i)}));
}

GSUB_INLINE void group_activations(rewrite& r) {
    auto const& m = r.matched();
    auto const first = first_alike(m);
    auto const nodes = m.nodes(u);
    auto const split = m.node(s);
    auto const axis = axis_of(m, split);
    auto sizes = r.graph().attributes<ops::split>(split).sizes;
    if (!axis || sizes.size() != nodes.size()) return r.fail("the sizes of the parts are not known");
    auto const along = static_cast<std::int64_t>(*axis);
    // Parts by operator, each kind where its first part was.
    small_vector<std::uint32_t, 8> order;
    ints widths; // of the kinds
    for (std::uint32_t kind = 0; kind < first.size(); ++kind) {
        if (first[kind] != kind) continue;
        widths.push_back(0);
        for (auto i = kind; i < first.size(); ++i)
            if (first[i] == kind) order.push_back(i), widths.back() += sizes[i];
    }
    auto whole = r[x];
    if (!std::is_sorted(order.begin(), order.end())) {
        auto const parts = r.like(split, {whole});
        small_vector<value_id, 6> reordered;
        for (auto i : order) reordered.push_back(rewrite::port(parts, i));
        whole = r.add<ops::concat>({.axis = along}, reordered);
    }
    auto const kinds = r.add<ops::split>({.axis = along, .sizes = widths}, {whole}, widths.size());
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < widths.size(); ++i) {
        auto const activated = r.like(nodes[order[at]], {rewrite::port(kinds, i)});
        ints inner;
        auto const begin = at;
        while (at < order.size() && first[order[at]] == order[begin]) inner.push_back(sizes[order[at++]]);
        if (inner.size() == 1) {
            r.replace_root(order[begin], activated);
            continue;
        }
        auto const parts = r.add<ops::split>({.axis = along, .sizes = inner}, {activated}, inner.size());
        for (std::uint32_t part = 0; part < inner.size(); ++part)
            r.replace_root(order[begin + part], rewrite::port(parts, part));
    }
}

GSUB_INLINE void binary_into_concat(rewrite& r) {
    auto const& m = r.matched();
    auto const first = m.all(x), second = m.all(y);
    if (first.size() != second.size()) return r.fail("the operands are not cut alike");
    small_vector<value_id, 6> parts;
    for (std::size_t i = 0; i < first.size(); ++i) parts.push_back(r.like(m.node(u), {first[i], second[i]}));
    r.replace_root(0, r.like(m.node(j), parts));
}
GSUB_INLINE void binary_out_of_concat(rewrite& r) {
    auto const& m = r.matched();
    auto const concat = m.node(j);
    r.replace_root(0, r.like(m.node(u), {r.like(concat, m.all(x)), r.like(concat, m.all(y))}));
}

GSUB_INLINE void binary_before_split(rewrite& r) {
    auto const& m = r.matched();
    auto const others = m.all(y);
    auto const& whole = r.type(r[x]);
    auto const axis = axis_of(m, m.node(s));
    if (!axis || !r.type(others[0]).ranked) return r.fail("an axis is not known");
    // The axis counted from the last dimension, which is the same in operands of lower rank.
    auto const together = r.add<ops::concat>(
        {.axis = static_cast<std::int64_t>(*axis) - static_cast<std::int64_t>(whole.rank())}, others);
    replace_by_parts(r, r.like(m.node(u), {r[x], together}));
}

GSUB_INLINE value_id sliced(rewrite& r, value_id v, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    return r.add<ops::slice>({.starts = {begin}, .ends = {end}, .axes = {axis}, .steps = {1}}, {v});
}

GSUB_INLINE void constant_into_concat(rewrite& r) {
    auto const& m = r.matched();
    auto const concat = m.node(j);
    auto const axis = axis_of(m, concat);
    auto const& whole = m.type_of_label(concat);
    auto const& constant = r.type(r[k]);
    if (!axis || !constant.ranked) return r.fail("an axis is not known");
    auto const from_last = static_cast<std::int64_t>(whole.rank() - 1 - *axis);
    // A constant that has one size along the axis meets every part alike.
    auto const cut = static_cast<std::int64_t>(constant.rank()) > from_last &&
                     !(constant.dims[constant.rank() - 1 - static_cast<std::size_t>(from_last)] == dim{1});
    small_vector<value_id, 6> parts;
    std::int64_t begin = 0;
    for (auto v : m.all(x)) {
        auto const end = begin + r.sizes(v)[*axis];
        parts.push_back(r.like(m.node(u), {v, cut ? sliced(r, r[k], -1 - from_last, begin, end) : r[k]}));
        begin = end;
    }
    r.replace_root(0, r.like(concat, parts));
}

GSUB_INLINE void bn_into_concat(rewrite& r) {
    auto const& m = r.matched();
    small_vector<value_id, 6> parts;
    std::int64_t begin = 0;
    for (auto v : m.all(x)) {
        auto const sizes = r.sizes(v);
        if (sizes.size() < 2) return r.fail("an operand without channels");
        auto const end = begin + sizes[1];
        auto const part = [&](value_id statistic) { return sliced(r, statistic, 0, begin, end); };
        parts.push_back(r.like(m.node(n), {v, part(r[scale]), part(r[shift]), part(r[mean]), part(r[variance])}));
        begin = end;
    }
    r.replace_root(0, r.like(m.node(j), parts));
}

// A weight whose pieces along an axis, which are as long as the parts of the split, stand in the concat's order. With
// `inverse`, in the order that undoes it.
GSUB_INLINE value_id reordered(rewrite& r, value_id weight, std::int64_t axis, bool inverse) {
    auto const& g = r.graph();
    auto const concat = r.matched().node(j), split = r.matched().node(s);
    auto const& sizes = g.attributes<ops::split>(split).sizes;
    auto const count = g.operand_count(concat);
    if (sizes.size() != count) return r.fail("the sizes of the parts are not known"), value_id{};
    small_vector<std::size_t, 6> order(count);
    for (std::size_t i = 0; i < count; ++i) {
        auto const port = g.operand(concat, i).port;
        if (inverse)
            order[port] = i;
        else
            order[i] = port;
    }
    // Where each piece begins in the weight: its pieces stand in the split's order, or in the concat's for `inverse`.
    small_vector<std::int64_t, 6> begin(count), length(count);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
        length[i] = sizes[inverse ? g.operand(concat, i).port : i];
        begin[i] = at;
        at += length[i];
    }
    small_vector<value_id, 6> pieces;
    for (auto i : order) pieces.push_back(sliced(r, weight, axis, begin[i], begin[i] + length[i]));
    return r.add<ops::concat>({.axis = axis}, pieces);
}

GSUB_INLINE void reorder_conv_outputs(rewrite& r) {
    auto const bias = r[b].valid() ? reordered(r, r[b], 0, false) : value_id{};
    r.replace_root(0, r.like(r.matched().node(c), {r[x], reordered(r, r[w], 0, false), bias}));
}
GSUB_INLINE void reorder_conv_inputs(rewrite& r) {
    r.replace_root(0, r.like(r.matched().node(c), {r[x], reordered(r, r[w], 1, true), r[b]}));
}
GSUB_INLINE void reorder_matmul_columns(rewrite& r) {
    r.replace_root(0, r.add<ops::mat_mul>(r[x], reordered(r, r[w], 1, false)));
}
GSUB_INLINE void reorder_matmul_rows(rewrite& r) {
    r.replace_root(0, r.add<ops::mat_mul>(r[x], reordered(r, r[w], 0, true)));
}

} // namespace gsub::rules::movement::detail
