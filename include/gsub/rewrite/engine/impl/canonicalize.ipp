#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/engine/impl/canonicalization_patterns.ipp>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace gsub {

namespace detail {

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
