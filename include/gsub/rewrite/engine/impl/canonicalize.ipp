#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

#include <algorithm>
#include <array>
#include <unordered_map>

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
            for (auto inner : g.operands(v.node)) flat.push_back(inner);
            changed = true;
            continue;
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

// Whether equal nodes of this kind are one.
GSUB_LAZY bool shareable(any_graph const& g, node_id n) {
    return g.op(n).category != op_category::opaque && !g.is<ops::input>(n) && !g.is<ops::call>(n) &&
           !g.is<ops::if_else>(n) && n != g.return_node();
}

// The operands as they count for equality.
GSUB_LAZY small_vector<value_id, 6> compared_operands(any_graph const& g, node_id n, bool reordered_sums) {
    auto operands = g.operands(n);
    if (g.op(n).commutative && (reordered_sums || operands.size() == 2)) std::sort(operands.begin(), operands.end());
    return operands;
}

GSUB_LAZY bool equal_nodes(any_graph const& g, node_id a, node_id b, bool reordered_sums = true) {
    if (g.row(a) != g.row(b) || !(g.attributes(a) == g.attributes(b)) || g.result_count(a) != g.result_count(b))
        return false;
    if (g.is<ops::constant>(a))
        return g.blob(a) == g.blob(b) ||
               (g.type_of({a, 0}) == g.type_of({b, 0}) && g.blob(a)->hash() == g.blob(b)->hash());
    auto const count = g.operand_count(a);
    if (count != g.operand_count(b)) return false;
    auto const commutative = g.op(a).commutative;
    if (commutative && count > 2 && reordered_sums)
        return compared_operands(g, a, true) == compared_operands(g, b, true);
    auto const same_from = [&](std::size_t first_of_b) {
        for (std::size_t i = 0; i < count; ++i)
            if (!(g.operand(a, i) == g.operand(b, (i + first_of_b) % count))) return false;
        return true;
    };
    return same_from(0) || (commutative && count == 2 && same_from(1));
}

GSUB_LAZY void share(any_graph& g, node_id kept, node_id dropped) {
    std::array const both{kept, dropped};
    g.inherit_sources(kept, both);
    for (std::uint32_t port = 0; port < g.result_count(kept); ++port)
        if (g.used(value_id{dropped, port})) g.replace_uses({dropped, port}, {kept, port});
}

/// Works through nodes that may simplify, and what their simplification touches.
template <class = void>
class normalizer {
public:
    explicit normalizer(any_graph& g) : g_(g) {}

    canonicalization_count whole() {
        for (;;) {
            auto const before = count_.total();
            count_.shared += share_equal_nodes(g_);
            open_.assign(g_.order().rbegin(), g_.order().rend()); // operands first
            drain();
            // What was left behind still counts as a reader until it is erased, so another round may find more.
            auto const size = g_.size();
            g_.erase_dead();
            count_.erased += size - g_.size();
            GSUB_ASSERT(g_.sort(), "canonicalization patterns cannot close a cycle");
            if (count_.total() == before) return count_;
        }
    }

    canonicalization_count changes() {
        incremental_ = true;
        open_.reserve(64);
        auto const& journal = g_.changes(); // what follows changes no node
        auto const interesting = [&](node_id n) {
            if (!g_.live(n)) return;
            open_.push_back(n);
            reopen_users(n);
        };
        for (auto n : journal.rewired) interesting(n);
        for (auto n : journal.added) interesting(n);
        reopen_released();
        drain();
        return count_;
    }

private:
    using node_list = small_vector<node_id, 16>;

    void drain() {
        while (!open_.empty()) {
            auto const n = open_.back();
            open_.pop_back();
            if (!g_.live(n) || n == g_.return_node() || g_.op(n).category == op_category::opaque ||
                g_.is<ops::input>(n))
                continue;
            if (!g_.used(n)) {
                erase(n);
                continue;
            }
            auto const first_new = static_cast<std::uint32_t>(g_.capacity());
            auto const readers = incremental_ ? readers_of(n) : node_list{};
            if (simplify(n)) {
                ++count_.simplified;
                append(open_, readers);
                // Existing values that take over stand in front of the node; new ones must be put into their place.
                if (incremental_ && g_.capacity() > first_new)
                    GSUB_ASSERT(g_.restore_order(first_new), "canonicalization patterns cannot close a cycle");
                reopen_neighbours(n, first_new);
                erase(n);
            } else if (incremental_) {
                share_one(n);
            }
        }
    }

    bool simplify(node_id n) {
        if (g_.is<ops::constant>(n)) return false;
        return any_of(canonicalization_table(), [&](canonicalization_pattern const& c) { return c.apply(g_, n); });
    }

    // New nodes, and what stands beside the simplified one. Over a whole graph, readers are still to come, and the next
    // round sees the rest: looking around at once would take quadratic time where many nodes read one value.
    void reopen_neighbours(node_id n, std::size_t first_new) {
        for (auto i = static_cast<std::uint32_t>(first_new); i < g_.capacity(); ++i) open_.push_back({i});
        if (!incremental_) return;
        for (auto v : g_.operands(n))
            if (v.valid()) reopen_users(v.node);
        for (auto i = static_cast<std::uint32_t>(first_new); i < g_.capacity(); ++i) reopen_users({i});
    }
    [[nodiscard]] node_list readers_of(node_id n) const {
        node_list out;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            g_.for_each_use({n, port}, [&](use u) { out.push_back(u.user); });
        return out;
    }
    // Splits and dropouts some of whose readers are gone: both are simpler with fewer.
    void reopen_released() {
        for (auto const& released = g_.changes().released; released_seen_ < released.size(); ++released_seen_) {
            auto const n = released[released_seen_];
            if (!g_.live(n)) continue;
            if (g_.is<ops::dropout>(n)) open_.push_back(n);
            if (g_.is<ops::split>(n)) reopen_users(n);
        }
    }
    void reopen_users(node_id n) {
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            g_.for_each_use({n, port}, [&](use u) {
                if (g_.live(u.user)) open_.push_back(u.user);
            });
    }
    void erase(node_id n) {
        if (!incremental_) return; // all at once at the end of the round: erasing one costs O(n)
        auto const before = g_.size();
        g_.erase_unused(n);
        count_.erased += before - g_.size();
        reopen_released();
    }

    // One node against the other readers of its first operand, or against all sources.
    void share_one(node_id n) {
        if (!shareable(g_, n)) return;
        node_id twin;
        auto const consider = [&](node_id other) {
            if (!twin.valid() && other != n && g_.live(other) && equal_nodes(g_, n, other)) twin = other;
        };
        if (g_.operand_count(n) > 0) {
            if (auto const v = g_.operand(n, 0); v.valid()) g_.for_each_use(v, [&](use u) { consider(u.user); });
            if (g_.op(n).commutative && g_.operand_count(n) == 2)
                g_.for_each_use(g_.operand(n, 1), [&](use u) { consider(u.user); });
        } else {
            for (auto other : g_.order())
                if (g_.row(other) == g_.row(n) && g_.attributes(other) == g_.attributes(n)) consider(other);
        }
        if (!twin.valid()) return;
        // The earlier node stays, so that it stands in front of all readers.
        auto const kept = g_.place(n) < g_.place(twin) ? n : twin, dropped = kept == n ? twin : n;
        share(g_, kept, dropped);
        ++count_.shared;
        reopen_users(kept);
        erase(dropped);
    }

    any_graph& g_;
    std::vector<node_id> open_;
    canonicalization_count count_;
    bool incremental_ = false;
    std::size_t released_seen_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY std::span<canonicalization_pattern const> canonicalization_patterns() noexcept {
    return detail::canonicalization_table();
}

GSUB_LAZY_BODY canonicalization_pattern const* find_canonicalization_pattern(std::string_view name) noexcept {
    for (auto const& c : detail::canonicalization_table())
        if (c.name == name) return &c;
    return nullptr;
}

GSUB_LAZY_BODY std::size_t share_equal_nodes(any_graph& g, share_options const& options) {
    std::size_t shared = 0;
    std::unordered_map<hash128, std::uint32_t> seen; // to the index of a node
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order) {
        auto const constant = g.is<ops::constant>(n);
        if (!detail::shareable(g, n) || (options.leave && options.leave(g, n)) ||
            (!options.sources && !constant && g.operand_count(n) == 0))
            continue;
        hasher h{static_cast<std::uint64_t>(g.op(n).id)};
        h.add(g.attributes(n).hash()).add(g.result_count(n));
        if (constant) h.add(g.blob(n)->hash());
        for (auto v : detail::compared_operands(g, n, options.reordered_sums)) h.add(v.node.index).add(v.port);
        auto const [found, fresh] = seen.try_emplace(h.finish(), n.index);
        node_id const first{found->second};
        if (fresh || !detail::equal_nodes(g, first, n, options.reordered_sums)) continue;
        detail::share(g, first, n);
        ++shared;
    }
    return shared;
}

GSUB_LAZY_BODY canonicalization_count canonicalize(any_graph& g) {
    g.erase_dead();
    return detail::normalizer<>{g}.whole();
}

GSUB_LAZY_BODY canonicalization_count canonicalize_changes(any_graph& g) {
    return detail::normalizer<>{g}.changes();
}

} // namespace gsub
