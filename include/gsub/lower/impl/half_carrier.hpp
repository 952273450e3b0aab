// half_carrier: arithmetic on halves that contractions have made in f32 goes on there, so that it can be part of their
// kernels and images stay in blocks of channels. Each operator rounds to halves as before.
#pragma once

#include <gsub/lower/impl/legal_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gsub::detail {

template <class = void>
class half_carrier {
public:
    /// `within` has the groups of nodes, unless it is empty.
    half_carrier(any_graph& g, std::vector<std::uint32_t>& within) : g_(g), b_(g), within_(within) {}

    /// Whether anything was carried.
    bool run() {
        std::vector<node_id> const order(g_.order().begin(), g_.order().end());
        auto changed = false;
        for (auto const n : order) {
            if (n == g_.return_node() || g_.constant(n) || g_.result_count(n) != 1 || !is_plain(g_, n)) continue;
            auto const first_new = static_cast<std::uint32_t>(g_.capacity());
            value_id const y{n, 0};
            if (rounds_contraction(n)) {
                in_f32_[y] = {g_.operand(n, 0), false};
            } else if (g_.is<ops::cast>(n)) {
                if (g_.type(y).element != dtype::f32 || !is_carried(g_.operand(n, 0))) continue;
                g_.replace_uses(y, carried(g_.operand(n, 0)));
            } else if (goes_on(n)) {
                carry(n);
            } else {
                continue;
            }
            changed = true;
            for (auto k = first_new; k < g_.capacity(); ++k) g_.inherit_sources({k}, {&n, 1});
            if (within_.empty()) continue;
            within_.resize(first_new);
            within_.resize(g_.capacity(), std::uint32_t{within_[n.index]});
        }
        return changed;
    }

private:
    struct carried_value {
        value_id v{};       ///< of f32
        bool exact = false; ///< it is rounded
    };

    bool has_halves(value_id v) const { return v.valid() && is_half(g_.type(v).element); }
    bool is_carried(value_id v) const { return in_f32_.contains(v); }

    bool rounds_contraction(node_id n) const {
        if (!g_.is<ops::cast>(n) || !has_halves({n, 0})) return false;
        auto const z = g_.operand(n, 0);
        if (g_.type(z).element != dtype::f32 || g_.constant(z)) return false;
        return g_.op(z.node).category == op_category::contraction || g_.is<ops::batch_norm>(z.node);
    }
    // Operators that give numbers which their operands have.
    bool is_exact(node_id n) const {
        return g_.is<ops::relu>(n) || g_.is<ops::neg>(n) || g_.is<ops::abs>(n) || g_.is<ops::where>(n) ||
               g_.is<ops::max_pool>(n) || moves(n);
    }
    bool moves(node_id n) const {
        return g_.is<ops::identity>(n) || g_.is<ops::reshape>(n) || g_.is<ops::flatten>(n) || g_.is<ops::squeeze>(n) ||
               g_.is<ops::unsqueeze>(n) || g_.is<ops::transpose>(n) || g_.is<ops::slice>(n) || g_.is<ops::concat>(n);
    }
    // Whether an operator reads what is carried, and computes with f32 what it does with halves.
    bool goes_on(node_id n) const {
        auto const type = g_.type({n, 0}).element;
        auto const elementwise = g_.op(n).category == op_category::elementwise && !g_.is<ops::bit_cast>(n) &&
                                 (is_half(type) || type == dtype::boolean);
        auto const pools = g_.is<ops::max_pool>(n) || g_.is<ops::average_pool>(n) || g_.is<ops::global_average_pool>(n);
        if (!elementwise && !((pools || moves(n)) && is_half(type))) return false;
        auto const operands = g_.operands(n);
        return std::ranges::any_of(operands, [&](value_id v) { return is_carried(v); });
    }

    value_id carried(value_id v) {
        auto& c = in_f32_.at(v);
        if (!c.exact) c = {b_.add<ops::round_to>({.to = g_.type(v).element}, {c.v}), true};
        return c.v;
    }
    value_id widened(value_id v) {
        if (!has_halves(v)) return v;
        if (is_carried(v)) return carried(v);
        auto& made = widened_[v];
        if (made.valid()) return made;
        return made = g_.is<ops::constant>(v.node) ? b_.constant(g_.constant_data(v.node).converted_to(dtype::f32))
                                                   : b_.add<ops::cast>({.to = dtype::f32}, {v});
    }
    void carry(node_id n) {
        small_vector<value_id, 4> operands;
        for (std::size_t i = 0; i < g_.operand_count(n); ++i) operands.push_back(widened(g_.operand(n, i)));
        auto const y = b_.emit(g_.row(n), g_.attributes(n), {operands.data(), operands.size()});
        auto const type = g_.type({n, 0}).element;
        if (!is_half(type)) return g_.replace_uses({n, 0}, y); // a condition
        auto const rounded = b_.add<ops::cast>({.to = type}, {y});
        in_f32_[rounded] = {y, is_exact(n)};
        g_.replace_uses({n, 0}, rounded);
    }

    any_graph& g_;
    graph_builder b_;
    std::vector<std::uint32_t>& within_;
    std::map<value_id, carried_value> in_f32_; // of halves
    std::map<value_id, value_id> widened_;     // halves that are not carried
};

} // namespace gsub::detail
