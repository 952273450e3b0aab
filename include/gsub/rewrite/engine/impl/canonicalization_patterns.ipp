// Canonicalization patterns: local simplifications, each of one node.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

#include <array>
#include <optional>

namespace gsub {

namespace detail {

// Result 0 becomes an existing value.
GSUB_LAZY bool becomes(any_graph& g, node_id n, value_id v) {
    if (!(g.type_of({n, 0}) == g.type_of(v)) && !compatible(g.type({n, 0}), g.type(v))) return false;
    g.replace_uses({n, 0}, v);
    return true;
}

// Result 0 becomes that of a new node, which stands for the old one in reports.
GSUB_LAZY bool becomes_new(any_graph& g, node_id n, value_id made) {
    g.inherit_sources(made.node, {&n, 1});
    g.replace_uses({n, 0}, made, made.node.index);
    return true;
}

GSUB_LAZY bool same_static_type(any_graph const& g, value_id a, value_id b) {
    return g.type_of(a) == g.type_of(b) && g.type(a).is_static();
}

GSUB_LAZY std::optional<std::size_t> axis_in(any_graph const& g, value_id v, std::int64_t axis) {
    return g.type(v).ranked ? normalized_axis(axis, g.type(v).rank()) : std::nullopt;
}

GSUB_LAZY bool drop_identity(any_graph& g, node_id n) {
    return g.is<ops::identity>(n) && becomes(g, n, g.operand(n, 0));
}

GSUB_LAZY bool drop_dropout(any_graph& g, node_id n) {
    return g.is<ops::dropout>(n) && g.operands(n).size() == 1 && !(g.result_count(n) == 2 && g.used(value_id{n, 1})) &&
           g.used(value_id{n, 0}) && becomes(g, n, g.operand(n, 0));
}

GSUB_LAZY bool drop_cast(any_graph& g, node_id n) {
    return g.is<ops::cast>(n) && g.type(g.operand(n, 0)).element == g.attributes<ops::cast>(n).to &&
           becomes(g, n, g.operand(n, 0));
}

// Reshape and its kin whose result has the operand's static type.
GSUB_LAZY bool drop_reshape(any_graph& g, node_id n) {
    auto const view =
        g.is<ops::reshape>(n) || g.is<ops::flatten>(n) || g.is<ops::squeeze>(n) || g.is<ops::unsqueeze>(n);
    return view && same_static_type(g, {n, 0}, g.operand(n, 0)) && becomes(g, n, g.operand(n, 0));
}

// Of views of views only the last dimensions matter.
GSUB_LAZY bool compose_reshapes(any_graph& g, node_id n) {
    auto const is_view = [&](node_id v) {
        return g.is<ops::reshape>(v) || g.is<ops::flatten>(v) || g.is<ops::squeeze>(v) || g.is<ops::unsqueeze>(v);
    };
    if (!is_view(n) || !g.type({n, 0}).is_static()) return false;
    auto const inner = g.operand(n, 0).node;
    if (!is_view(inner) || !g.type(g.operand(inner, 0)).is_static()) return false;
    return becomes_new(
        g, n, g.add<ops::reshape>(attributes_of<ops::reshape>::to(g.type({n, 0}).sizes()), {g.operand(inner, 0)}));
}

GSUB_LAZY bool drop_transpose(any_graph& g, node_id n) {
    if (!g.is<ops::transpose>(n)) return false;
    auto const& perm = g.attributes<ops::transpose>(n).perm;
    for (std::size_t i = 0; i < perm.size(); ++i)
        if (perm[i] != static_cast<std::int64_t>(i)) return false;
    return becomes(g, n, g.operand(n, 0));
}

GSUB_LAZY bool drop_pad(any_graph& g, node_id n) {
    if (!g.is<ops::pad>(n) || g.operand_count(n) != 1) return false;
    auto const& pads = g.attributes<ops::pad>(n).pads;
    return all_equal(pads, 0) && becomes(g, n, g.operand(n, 0));
}

GSUB_LAZY bool drop_slice(any_graph& g, node_id n) {
    if (!g.is<ops::slice>(n) || g.operand_count(n) != 1 || !same_static_type(g, {n, 0}, g.operand(n, 0))) return false;
    auto const& steps = g.attributes<ops::slice>(n).steps;
    // All elements in their order: a reversed slice has the same type.
    return all_equal(steps, 1) && becomes(g, n, g.operand(n, 0));
}

GSUB_LAZY bool simplify_sum(any_graph& g, node_id n) {
    if (!g.is<ops::sum>(n) || g.operand_count(n) > 2) return false;
    if (g.operand_count(n) == 1) return becomes(g, n, g.operand(n, 0));
    return becomes_new(g, n, g.add<ops::add>(g.operand(n, 0), g.operand(n, 1)));
}

// concat(x) = x; concat of all parts of a split in order = what was split.
GSUB_LAZY bool join_parts(any_graph& g, node_id n) {
    if (!g.is<ops::concat>(n)) return false;
    if (g.operand_count(n) == 1) return becomes(g, n, g.operand(n, 0));
    auto const split = g.operand(n, 0).node;
    if (!g.is<ops::split>(split) || g.result_count(split) != g.operand_count(n)) return false;
    for (std::uint32_t i = 0; i < g.operand_count(n); ++i)
        if (!(g.operand(n, i) == value_id{split, i})) return false;
    auto const whole = g.operand(split, 0);
    auto const axis = axis_in(g, whole, g.attributes<ops::split>(split).axis);
    return axis && axis == axis_in(g, whole, g.attributes<ops::concat>(n).axis) && becomes(g, n, whole);
}

// concat(concat(x, y), z) = concat(x, y, z) along one axis. Runs of neighbouring parts of one split that make it up
// whole become what was split.
// A concat that several nodes read may stand in many others, and in these again: what is made of it has few operands.
inline constexpr std::size_t most_flat_operands = 1024;

GSUB_LAZY bool flatten_concat(any_graph& g, node_id n) {
    if (!g.is<ops::concat>(n)) return false;
    auto const axis = axis_in(g, {n, 0}, g.attributes<ops::concat>(n).axis);
    if (!axis) return false;
    small_vector<value_id, 12> flat;
    bool changed = false;
    auto const operands = g.operands(n);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        auto const v = operands[i];
        if (g.is<ops::concat>(v.node) && axis_in(g, v, g.attributes<ops::concat>(v.node).axis) == axis) {
            auto const inner = g.operands(v.node);
            if (g.use_count(v) == 1 || flat.size() + inner.size() <= most_flat_operands) {
                for (auto x : inner) flat.push_back(x);
                changed = true;
                continue;
            }
        }
        auto const count = g.is<ops::split>(v.node) ? g.result_count(v.node) : 0;
        if (v.port == 0 && count > 0 && i + count <= operands.size() && count < operands.size() &&
            axis_in(g, v, g.attributes<ops::split>(v.node).axis) == axis) {
            bool whole = true;
            for (std::uint32_t k = 0; k < count; ++k) whole = whole && operands[i + k] == value_id{v.node, k};
            if (whole) {
                flat.push_back(g.operand(v.node, 0));
                i += count - 1;
                changed = true;
                continue;
            }
        }
        flat.push_back(v);
    }
    return changed && becomes_new(g, n, g.add<ops::concat>({.axis = static_cast<std::int64_t>(*axis)}, flat));
}

// split(x) into one part = x; split(concat(x, y)) at its joints = x, y.
GSUB_LAZY bool cut_at_joints(any_graph& g, node_id n) {
    if (!g.is<ops::split>(n) || g.operand_count(n) != 1) return false;
    auto const whole = g.operand(n, 0);
    auto const axis = axis_in(g, whole, g.attributes<ops::split>(n).axis);
    if (!axis) return false;
    if (g.result_count(n) == 1) return same_static_type(g, {n, 0}, whole) && becomes(g, n, whole);
    if (!g.is<ops::concat>(whole.node) || axis_in(g, whole, g.attributes<ops::concat>(whole.node).axis) != axis)
        return false;
    if (g.operand_count(whole.node) != g.result_count(n)) return false;
    for (std::uint32_t i = 0; i < g.result_count(n); ++i)
        if (!same_static_type(g, {n, i}, g.operand(whole.node, i))) return false;
    for (std::uint32_t i = 0; i < g.result_count(n); ++i) g.replace_uses({n, i}, g.operand(whole.node, i));
    return true;
}

// A part of a split that is only split again along the same axis: one split into all the parts.
GSUB_LAZY bool flatten_split(any_graph& g, node_id n) {
    if (!g.is<ops::split>(n) || g.operand_count(n) != 1) return false;
    auto const outer = g.operand(n, 0).node;
    auto const port = g.operand(n, 0).port;
    if (!g.is<ops::split>(outer) || g.operand_count(outer) != 1 || g.use_count({outer, port}) != 1) return false;
    auto const axis = axis_in(g, {outer, 0}, g.attributes<ops::split>(outer).axis);
    if (!axis || axis != axis_in(g, {n, 0}, g.attributes<ops::split>(n).axis)) return false;
    auto const &outside = g.attributes<ops::split>(outer).sizes, &inside = g.attributes<ops::split>(n).sizes;
    ints sizes;
    for (std::uint32_t i = 0; i < outside.size(); ++i)
        if (i == port)
            sizes.append(inside);
        else
            sizes.push_back(outside[i]);
    auto const made = g.add<ops::split>({.axis = static_cast<std::int64_t>(*axis), .sizes = sizes},
                                        {g.operand(outer, 0)}, sizes.size())
                          .node;
    std::array const both{outer, n};
    g.inherit_sources(made, both);
    std::uint32_t at = 0;
    for (std::uint32_t i = 0; i < outside.size(); ++i) {
        if (i != port) {
            g.replace_uses({outer, i}, {made, at++}, made.index);
            continue;
        }
        for (std::uint32_t k = 0; k < inside.size(); ++k) g.replace_uses({n, k}, {made, at++}, made.index);
    }
    return true;
}

GSUB_LAZY std::span<canonicalization_pattern const> canonicalization_table() noexcept {
    static constexpr std::array table{
        canonicalization_pattern{"identity", "the identity is its operand", drop_identity},
        canonicalization_pattern{"dropout", "dropout is the identity at inference", drop_dropout},
        canonicalization_pattern{"cast", "a conversion to the same type is the identity", drop_cast},
        canonicalization_pattern{"reshape", "a view of equal shape is its operand", drop_reshape},
        canonicalization_pattern{"reshape-reshape", "of two views only the last counts", compose_reshapes},
        canonicalization_pattern{"transpose", "the identity permutation is the identity", drop_transpose},
        canonicalization_pattern{"pad", "no pads are the identity", drop_pad},
        canonicalization_pattern{"slice", "all elements in order are the identity", drop_slice},
        canonicalization_pattern{"sum", "a sum of one is its operand, a sum of two an addition", simplify_sum},
        canonicalization_pattern{"concat-split", "all parts put together are the whole", join_parts},
        canonicalization_pattern{"concat-concat", "nested concats are one", flatten_concat},
        canonicalization_pattern{"split-concat", "a concat cut at its joints is its operands", cut_at_joints},
        canonicalization_pattern{"split-split", "nested splits are one", flatten_split},
    };
    return table;
}

} // namespace detail

GSUB_LAZY_BODY std::span<canonicalization_pattern const> canonicalization_patterns() noexcept {
    return detail::canonicalization_table();
}

GSUB_LAZY_BODY canonicalization_pattern const* find_canonicalization_pattern(std::string_view name) noexcept {
    for (auto const& c : detail::canonicalization_table())
        if (c.name == name) return &c;
    return nullptr;
}

} // namespace gsub
