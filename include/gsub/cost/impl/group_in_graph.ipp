// Group in its graph: the operators of one kernel and what stands around them, from which its cost follows.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/lower/kernel_layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

struct hash_of_value {
    std::size_t operator()(value_id v) const noexcept {
        return static_cast<std::size_t>(hasher{v.node.index}.add(v.port).finish().low);
    }
};

// Operators of a group with the views that they read, as they stand in their graph.
template <class = void>
class group_in_graph {
public:
    group_in_graph(any_graph const& g, std::span<node_id const> group, fusion_scope const& scope)
        : g_(g), scope_(scope) {
        // Views that it reads come with it: whether they take time is up to who reads them.
        for (auto n : group) nodes_.push_back({n, true});
        for (auto n : group) add_views_of(n);
        std::sort(nodes_.begin(), nodes_.end(),
                  [&](auto const& a, auto const& b) { return g.place(a.node) < g.place(b.node); });
    }

    // Equal for groups that take one time.
    [[nodiscard]] hash128 key() const {
        hasher h;
        std::unordered_map<value_id, std::size_t, hash_of_value> boundary; // numbered as they come
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto const n = nodes_[i].node;
            h.add(static_cast<std::uint64_t>(g_.op(n).id)).add(g_.attributes(n).hash()).add(nodes_[i].own ? 1u : 0u);
            for (auto v : g_.operands(n)) {
                if (!v.valid()) {
                    h.add(~std::uint64_t{0});
                } else if (auto const at = number_of(v.node); at < nodes_.size()) {
                    h.add(at << 8 | v.port);
                } else {
                    auto const [known, fresh] = boundary.try_emplace(v, boundary.size());
                    h.add(1u << 30 | static_cast<std::uint64_t>(known->second));
                    if (!fresh) continue;
                    h.add(g_.type_of(v).hash()).add(g_.constant(v) ? 2u : scope_.in_blocks(v) ? 1u : 0u);
                    h.add(g_.is<ops::input>(v.node) || is_view_node(v.node) ? 1u : 0u);
                    if (counts(v)) h.add(g_.blob(v.node)->hash());
                }
            }
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                value_id const v{n, port};
                h.add(g_.type_of(v).hash()).add(scope_.in_blocks(v) ? 1u : 0u).add(read_outside(v) ? 1u : 0u);
            }
        }
        return h.finish();
    }

    // As a graph of its own, whose types name layouts.
    struct alone {
        any_graph graph;
        std::vector<value_id> inputs; // what each input stands for
        std::vector<std::uint32_t> within;
    };
    template <class Zeros>
    [[nodiscard]] alone extracted(isa const& isa, Zeros&& zeros) const {
        alone out{any_graph{g_.operators()}, {}, {}};
        graph_cloner copies{g_, out.graph, cloned_text::nothing};
        auto const stored = [&](value_id v, bool in_blocks) {
            auto t = g_.type(v);
            t.layout = in_blocks ? channel_blocks(t.rank(), isa) : layout{};
            return t;
        };
        std::vector<value_id> outputs;
        auto const readers = readings();
        for (auto const& [n, own] : nodes_) {
            for (auto v : g_.operands(n)) {
                if (!v.valid() || copies.has(v)) continue;
                if (g_.is<ops::constant>(v.node))
                    copies.stand(v, out.graph.add_constant(g_.blob(v.node)));
                else if (g_.constant(v))
                    copies.stand(v, out.graph.add_constant(zeros(g_.type(v))));
                else
                    copies.stand(v, out.graph.add_input(stored(v, read_in_blocks(v, readers)), {})),
                        out.inputs.push_back(v);
            }
            small_vector<type_id, 4> types;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                types.push_back(stored({n, port}, scope_.in_blocks({n, port})));
            auto const copy = copies.clone(n, copies.operands(n), {types, {}});
            out.within.resize(out.graph.capacity(), 0);
            out.within[copy.index] = own ? 1 : 0;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                if (own && read_outside({n, port})) outputs.push_back(copies({n, port}));
        }
        out.graph.set_outputs(outputs);
        out.within.resize(out.graph.capacity(), 0);
        return out;
    }

    [[nodiscard]] bool is_static() const {
        return std::all_of(nodes_.begin(), nodes_.end(), [&](auto const& m) {
            for (auto v : g_.operands(m.node))
                if (v.valid() && !g_.type(v).is_static()) return false;
            for (std::uint32_t port = 0; port < g_.result_count(m.node); ++port)
                if (!g_.type({m.node, port}).is_static()) return false;
            return true;
        });
    }
    // Whether another group or the caller reads a value.
    [[nodiscard]] bool read_outside(value_id v) const {
        auto outside = false;
        g_.for_each_use(v, [&](use u) {
            auto const at = number_of(u.user);
            outside = outside || at == nodes_.size() || !nodes_[at].own;
        });
        return outside;
    }
    // Whether a value lies in blocks of channels in its graph.
    [[nodiscard]] bool in_blocks(value_id v) const { return scope_.in_blocks(v); }
    [[nodiscard]] double size_bytes(value_id v) const { return gsub::cost::detail::size_bytes(g_, v); }
    // Whether an operand is there because a kernel has made it.
    [[nodiscard]] bool is_made(value_id v) const { return !g_.is<ops::input>(v.node) && !is_view_node(v.node); }
    [[nodiscard]] bool is_view_node(node_id n) const { return !g_.constant(n) && is_stored_view(g_, n); }

private:
    struct member {
        node_id node;
        bool own; ///< of the group, no view in front of it
    };
    void add_views_of(node_id n) {
        for (auto v : g_.operands(n)) {
            if (!v.valid() || nodes_.size() >= 64 || !is_view_node(v.node)) continue;
            auto const known = [&](member const& m) { return m.node == v.node; };
            if (std::any_of(nodes_.begin(), nodes_.end(), known)) continue;
            nodes_.push_back({v.node, false});
            add_views_of(v.node);
        }
    }
    [[nodiscard]] std::size_t number_of(node_id n) const {
        auto const earlier = [&](member const& m, std::size_t place) { return g_.place(m.node) < place; };
        auto const at = std::lower_bound(nodes_.begin(), nodes_.end(), g_.place(n), earlier);
        return at != nodes_.end() && at->node == n ? static_cast<std::size_t>(at - nodes_.begin()) : nodes_.size();
    }
    // An operand of a member.
    struct reading {
        value_id of;
        node_id by;
        std::size_t operand;
    };
    // Those of all members by value, each value's in order: a join may read as many values as the graph has.
    [[nodiscard]] std::vector<reading> readings() const {
        std::vector<reading> out;
        for (auto const& m : nodes_)
            for (std::size_t i = 0; i < g_.operand_count(m.node); ++i)
                if (auto const v = g_.operand(m.node, i); v.valid()) out.push_back({v, m.node, i});
        std::stable_sort(out.begin(), out.end(), [](reading const& a, reading const& b) { return a.of < b.of; });
        return out;
    }
    // Whether all members that read a value have it in blocks of channels: the first operand of what keeps that one's
    // layout as it lies, others as their results are.
    [[nodiscard]] bool read_in_blocks(value_id v, std::span<reading const> all) const {
        auto const first =
            std::lower_bound(all.begin(), all.end(), v, [](reading const& r, value_id of) { return r.of < of; });
        auto const last = std::find_if(first, all.end(), [&](reading const& r) { return r.of != v; });
        return std::all_of(first, last, [&](reading const& r) {
            auto const rule = g_.op(r.by).layouts;
            if (rule == layout_policy::row_major || (rule == layout_policy::propagates_first && r.operand > 0))
                return false;
            if (!scope_.in_blocks(rule == layout_policy::propagates_first ? v : value_id{r.by, 0})) return false;
            return rule != layout_policy::propagates || g_.type(v).dims == g_.type({r.by, 0}).dims;
        });
    }
    // Whether the elements of an operand decide what is computed: settings, and single numbers.
    [[nodiscard]] bool counts(value_id v) const {
        auto const& t = g_.type(v);
        return g_.is<ops::constant>(v.node) && (!is_floating(t.element) || (t.is_static() && *t.elements() == 1));
    }

    any_graph const& g_;
    fusion_scope const& scope_;
    std::vector<member> nodes_;
};

} // namespace gsub::cost::detail
