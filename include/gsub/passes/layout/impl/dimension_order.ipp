#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/layout/alter_op_layout.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

// Dimension d of a value is dimension `order[d]` of the one that it stands for.
using dimension_order = ints;

GSUB_LAZY [[nodiscard]] dimension_order order_of_rank(std::size_t rank) {
    dimension_order same;
    for (std::size_t d = 0; d < rank; ++d) same.push_back(static_cast<std::int64_t>(d));
    return same;
}
GSUB_LAZY [[nodiscard]] dimension_order inverse(dimension_order const& order) {
    auto out = order;
    for (std::size_t d = 0; d < order.size(); ++d)
        out[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
    return out;
}
// Channels behind the pixels.
GSUB_LAZY [[nodiscard]] dimension_order channels_last(std::size_t rank) {
    auto order = order_of_rank(rank);
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    return order;
}
// The place of a dimension that an attribute names, by the inverse of an order.
GSUB_LAZY [[nodiscard]] std::int64_t place_of(dimension_order const& where, std::int64_t axis) {
    auto const rank = static_cast<std::int64_t>(where.size());
    return where[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}
GSUB_LAZY [[nodiscard]] ints pads_in_order(ints const& pads, dimension_order const& order) {
    auto out = pads;
    auto const rank = order.size();
    for (std::size_t d = 0; d < rank; ++d)
        for (auto const end : {std::size_t{0}, rank}) out[d + end] = pads[static_cast<std::size_t>(order[d]) + end];
    return out;
}
// The order of the dimensions that are left where those at some places are gone, numbered anew.
GSUB_LAZY [[nodiscard]] dimension_order without(dimension_order const& order, std::vector<char> const& gone) {
    dimension_order left;
    for (std::size_t d = 0; d < order.size(); ++d) {
        if (gone[d]) continue;
        std::int64_t before = 0;
        for (std::size_t e = 0; e < order.size(); ++e) before += !gone[e] && order[e] < order[d];
        left.push_back(before);
    }
    return left;
}

// Writes a graph anew with its transpositions as late as they can be: what only moves dimensions is kept in mind for
// each value, operators compute in the order that they find and have their attributes rewritten, and a transposition is
// made where an operator, or an output, needs the order that it had. So those that undo each other are gone.
template <class = void>
class transpose_sinker {
public:
    // Results of operators for which `last` says so get their channels behind the pixels.
    template <class Last>
    transpose_sinker(any_graph const& g, Last&& last) : g_(g), out_(g.operators()) {
        for (auto n : g.inputs()) stand({n, 0}, out_.add_input(g.type_of({n, 0}), g.name({n, 0})), {});
        for (auto n : g.order()) {
            if (g.is<ops::input>(n) || n == g.return_node()) continue;
            rewrite(n);
            if (last(n)) put_channels_last({n, 0});
        }
        small_vector<value_id, 6> outputs;
        auto names = g.info().output_names;
        for (std::size_t i = 0; i < g.output_count(); ++i) {
            outputs.push_back(plain(g.output(i)));
            auto const given = g.name(g.output(i));
            if (given.empty() || out_.name(outputs.back()) == given) continue;
            names.resize(std::max(names.size(), i + 1));
            if (names[i].empty()) names[i] = given;
        }
        out_.set_info(g.info());
        out_.set_outputs(outputs, names);
        out_.erase_dead();
    }

    [[nodiscard]] any_graph take() { return std::move(out_); }

private:
    // The value that stands for one of the graph.
    struct stored {
        value_id v;
        dimension_order order; // empty: as it was
    };

    void stand(value_id of, value_id by, dimension_order order) {
        if (std::is_sorted(order.begin(), order.end())) order.clear();
        known_[{of, order}] = by;
        now_[of] = {by, std::move(order)};
    }
    [[nodiscard]] dimension_order const& order_of(value_id v) const { return now_.at(v).order; }
    [[nodiscard]] bool ranked(value_id v) const { return g_.type(v).ranked; }

    // A value as it was, or in another order. Made once.
    value_id plain(value_id v) { return v.valid() ? in_order(v, {}) : v; }
    value_id in_order(value_id v, dimension_order order) {
        if (std::is_sorted(order.begin(), order.end())) order.clear();
        auto& found = known_[{v, order}];
        if (found.valid()) return found;
        auto const& [from, has] = now_.at(v);
        auto const full = order.empty() ? order_of_rank(g_.type(v).rank()) : order;
        auto perm = full;
        if (!has.empty()) {
            auto const where = inverse(has);
            for (auto& d : perm) d = where[static_cast<std::size_t>(d)];
        }
        return found = transposed(from, perm);
    }
    // Borders are put around what has been transposed: there are kernels that do so themselves.
    value_id transposed(value_id v, dimension_order const& perm) {
        if (out_.is<ops::pad>(v.node) && out_.operand_count(v.node) == 1 && !out_.constant(v)) {
            auto const inside = transposed(out_.operand(v.node, 0), perm);
            auto a = out_.attributes<ops::pad>(v.node);
            a.pads = pads_in_order(a.pads, perm);
            return out_.add<ops::pad>(a, {inside});
        }
        auto& found = turned_[{v, perm}];
        if (!found.valid()) found = out_.add<ops::transpose>({.perm = perm}, {v});
        return found;
    }
    void put_channels_last(value_id v) {
        auto const& t = g_.type(v);
        if (!t.ranked || t.rank() < 3 || t.rank() > 5 || !order_of(v).empty()) return;
        auto const order = channels_last(t.rank());
        stand(v, transposed(now_.at(v).v, order), order);
    }

    void rewrite(node_id n) {
        if (g_.constant(n) || !moves(n)) {
            small_vector<value_id, 6> operands;
            for (auto v : g_.operands(n)) operands.push_back(plain(v));
            auto const made = clone_node(out_, g_, n, operands);
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) stand({n, port}, {made, port}, {});
        }
    }

    // Computes a node in another order than its own; false where that is its own, or where it has no other.
    bool moves(node_id n) {
        if (g_.is<ops::transpose>(n)) return turn(n);
        if (g_.op(n).category == op_category::elementwise && g_.op(n).layouts == layout_policy::propagates)
            return compute_elements(n);
        if (g_.operand_count(n) == 0 || !g_.operand(n, 0).valid() || !ranked(g_.operand(n, 0))) return false;
        auto const x = g_.operand(n, 0);
        if (g_.is<ops::concat>(n)) {
            auto a = g_.attributes<ops::concat>(n);
            return keep(n, chosen(n),
                        [&](auto const& where) { return a.axis = place_of(where, a.axis), intern<ops::concat>(a); });
        }
        if (order_of(x).empty()) return false;
        auto const order = order_of(x);
        if (g_.is<ops::identity>(n) || g_.is<ops::dropout>(n))
            return keep(n, order, [&](auto const&) { return g_.attributes(n); });
        if (g_.is<ops::softmax>(n)) return turn_softmax<ops::softmax>(n, order);
        if (g_.is<ops::fast_softmax>(n)) return turn_softmax<ops::fast_softmax>(n, order);
        if (g_.is<ops::split>(n)) {
            auto a = g_.attributes<ops::split>(n);
            return keep(n, order,
                        [&](auto const& where) { return a.axis = place_of(where, a.axis), intern<ops::split>(a); });
        }
        if (g_.operand_count(n) != 1) return false; // settings that are operands
        if (g_.is<ops::pad>(n)) {
            auto a = g_.attributes<ops::pad>(n);
            return keep(n, order,
                        [&](auto const&) { return a.pads = pads_in_order(a.pads, order), intern<ops::pad>(a); });
        }
        if (g_.is<ops::slice>(n)) {
            auto a = g_.attributes<ops::slice>(n);
            if (a.axes.empty())
                for (std::size_t i = 0; i < a.starts.size(); ++i) a.axes.push_back(static_cast<std::int64_t>(i));
            return keep(n, order, [&](auto const& where) {
                for (auto& axis : a.axes) axis = place_of(where, axis);
                return intern<ops::slice>(a);
            });
        }
        return reduce<ops::reduce_sum>(n, order) || reduce<ops::reduce_mean>(n, order) ||
               reduce<ops::reduce_max>(n, order);
    }

    bool turn(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const& perm = g_.attributes<ops::transpose>(n).perm;
        auto const& [v, has] = now_.at(x);
        auto const where = inverse(perm);
        auto order = has.empty() ? order_of_rank(perm.size()) : has;
        for (auto& d : order) d = where[static_cast<std::size_t>(d)];
        stand({n, 0}, v, std::move(order));
        return true;
    }
    // The order in which most elements of a node's operands stand, of those that have its result's rank; one that is
    // turned wins a tie.
    dimension_order chosen(node_id n) {
        auto const& type = g_.type({n, 0});
        std::map<dimension_order, std::uint64_t> votes;
        if (type.ranked)
            for (auto v : g_.operands(n)) {
                if (!v.valid() || g_.constant(v) || !ranked(v) || g_.type(v).rank() != type.rank()) continue;
                votes[order_of(v)] += static_cast<std::uint64_t>(g_.type(v).elements().value_or(1));
            }
        auto best = votes.begin();
        for (auto i = votes.begin(); i != votes.end(); ++i)
            if (i->second >= best->second) best = i;
        return best == votes.end() ? dimension_order{} : best->first;
    }
    bool compute_elements(node_id n) {
        if (!ranked({n, 0})) return false;
        auto const rank = g_.type({n, 0}).rank();
        for (auto v : g_.operands(n))
            if (v.valid() && !ranked(v)) return false;
        auto const order = chosen(n);
        if (order.empty()) return false;
        small_vector<value_id, 6> operands;
        for (auto v : g_.operands(n)) {
            if (!v.valid() || g_.type(v).elements() == std::int64_t{1}) {
                operands.push_back(plain(v));
            } else if (auto const own = g_.type(v).rank(); own == rank) {
                operands.push_back(in_order(v, order));
            } else { // its dimensions are the last ones
                ints axes;
                for (std::size_t d = 0; d < rank - own; ++d) axes.push_back(static_cast<std::int64_t>(d));
                auto& found = known_[{v, order}];
                if (!found.valid())
                    found = out_.add<ops::transpose>({.perm = order},
                                                     {out_.add<ops::unsqueeze>({.axes = axes}, {plain(v)})});
                operands.push_back(found);
            }
        }
        add(n, operands, order, g_.attributes(n));
        return true;
    }
    template <class Op>
    bool turn_softmax(node_id n, dimension_order const& order) {
        auto a = g_.attributes<Op>(n);
        if (a.flatten) return false;
        return keep(n, order, [&](auto const& where) { return a.axis = place_of(where, a.axis), intern<Op>(a); });
    }
    template <class Op>
    bool reduce(node_id n, dimension_order const& order) {
        if (!g_.is<Op>(n)) return false;
        auto a = g_.attributes<Op>(n);
        auto const where = inverse(order);
        std::vector<char> gone(order.size(), a.axes.empty() && !a.noop_with_empty_axes);
        auto const rank = static_cast<std::int64_t>(order.size());
        for (auto& axis : a.axes) axis += axis < 0 ? rank : 0;
        std::sort(a.axes.begin(), a.axes.end());
        for (auto& axis : a.axes) axis = place_of(where, axis), gone[static_cast<std::size_t>(axis)] = 1;
        // What is added up is added in the order that it was.
        if (a.axes.empty() || !std::is_sorted(a.axes.begin(), a.axes.end())) return false;
        auto const result = a.keepdims ? order : without(order, gone);
        auto const operand = in_order(g_.operand(n, 0), order);
        add(n, {&operand, 1}, result, intern<Op>(a));
        return true;
    }
    // The same operator on operands in an order.
    template <class Attributes>
    bool keep(node_id n, dimension_order const& order, Attributes const& attributes) {
        if (order.empty()) return false;
        for (auto v : g_.operands(n))
            if (v.valid() && !ranked(v)) return false;
        small_vector<value_id, 6> operands;
        for (auto v : g_.operands(n)) {
            auto const data = g_.is<ops::concat>(n) || operands.empty();
            operands.push_back(data ? in_order(v, order) : plain(v));
        }
        add(n, operands, order, attributes(inverse(order)));
        return true;
    }
    // Copies a node whose results stand in an order of their own.
    void add(node_id n, std::span<value_id const> operands, dimension_order const& result, attributes_id attributes) {
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
            auto const& was = g_.type({n, port});
            auto type = was;
            for (std::size_t d = 0; d < result.size(); ++d)
                type.dims[d] = was.dims[static_cast<std::size_t>(result[d])];
            types.push_back(type);
        }
        auto const made = clone_node(out_, g_, n, operands, cloned_text::sources, {types, attributes});
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) stand({n, port}, {made, port}, result);
    }

    any_graph const& g_;
    any_graph out_;
    std::map<value_id, stored> now_;
    std::map<std::pair<value_id, dimension_order>, value_id> known_;  // every value in every order that there is
    std::map<std::pair<value_id, dimension_order>, value_id> turned_; // transpositions of new values
};

// Bytes that transpositions of a graph move.
GSUB_LAZY [[nodiscard]] std::uint64_t transposed_bytes(any_graph const& g) {
    std::uint64_t sum = 0;
    for (auto n : g.order())
        if (g.is<ops::transpose>(n) && !g.constant(n))
            sum +=
                static_cast<std::uint64_t>(g.type({n, 0}).elements().value_or(1)) * byte_size(g.type({n, 0}).element);
    return sum;
}

// Sinks the transpositions of a graph, where that does not make them move more or an operator is asked to have its
// channels last.
GSUB_LAZY [[nodiscard]] pass_outcome reorder_dimensions(any_graph& g, function_ref<bool(node_id)> last) {
    pass_outcome outcome;
    if (names_layouts(g)) {
        outcome.skip("values have layouts");
        return outcome;
    }
    std::size_t before = 0, after = 0;
    auto any_last = false;
    for (auto n : g.order()) {
        any_last = any_last || last(n);
        before += g.is<ops::transpose>(n) && !g.constant(n);
    }
    auto made = transpose_sinker{g, last}.take();
    if (!any_last && transposed_bytes(made) > transposed_bytes(g)) {
        outcome.skip("transpositions would move more");
        return outcome;
    }
    for (auto n : made.order()) after += made.is<ops::transpose>(n) && !made.constant(n);
    outcome.matches = before > after ? before - after : 0;
    outcome.changed = !(made == g);
    if (outcome.changed) g = std::move(made);
    return outcome;
}

} // namespace gsub::passes::detail
