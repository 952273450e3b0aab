// sibling_combiner: makes one operator of several that read one value, and of what follows them alike.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/combine/impl/branch_constants.hpp>
#include <gsub/passes/combine/impl/sibling_groups.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

/// The number of branches in an argument. Throws `error` where it is none.
GSUB_LAZY [[nodiscard]] std::size_t branches_in(std::string_view pass, std::string_view text);
/// A pass with the number of branches that a text gives.
template <class Pass>
[[nodiscard]] result<Pass> with_branches(std::string_view text) {
    return capture([&] { return Pass{.min_branches = branches_in(Pass::facts.name, text)}; });
}
/// Joins operators of one kind, where `least` of them, at least 2, read one value.
GSUB_LAZY [[nodiscard]] result<pass_outcome> combine_siblings(any_graph& g, pass_context& cx, sibling_kind kind,
                                                              std::size_t least);

template <class = void>
class sibling_combiner {
public:
    sibling_combiner(any_graph& g, pass_context& cx, sibling_kind kind, std::size_t least)
        : g_(g),
          cx_(cx),
          kind_(kind),
          least_(std::max<std::size_t>(2, least)),
          channels_(g, kind),
          constants_(g, kind) {}

    pass_outcome run() {
        if (!find_row(g_.operators().ops, id_of<ops::concat>) || !find_row(g_.operators().ops, id_of<ops::split>) ||
            !find_row(g_.operators().ops, id_of<ops::reshape>) || !find_row(g_.operators().ops, id_of<ops::expand>) ||
            !find_row(g_.operators().ops, id_of<ops::fill>) || !find_row(g_.operators().ops, id_of<ops::squeeze>))
            return std::move(outcome_);
        sibling_groups<> const groups{g_, kind_, outcome_};
        for (auto const& group : groups.all()) {
            cx_.check_stop();
            if (group.size() < 2) continue;
            if (group.size() < least_)
                outcome_.skip("fewer branches than asked for");
            else if (!groups.independent(group))
                outcome_.skip("branches that may depend on each other");
            else
                join(group);
        }
        erase_and_finish(g_, outcome_, "operators that read one value and constants do not depend on each other");
        return std::move(outcome_);
    }

private:
    // An elementwise operator that all branches end in: it alone reads each of them, at one place.
    struct follower {
        std::vector<node_id> nodes;
        std::size_t operand = 0;
        branch_constants other; // empty: it has one operand
    };
    std::optional<follower> next(std::vector<value_id> const& ends, branch_constants const& shape) const {
        follower f;
        f.other.channels = shape.channels;
        f.other.from_last = shape.from_last;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            use only{};
            std::size_t readers = 0;
            g_.for_each_use(ends[i], [&](use u) {
                only = u;
                return ++readers < 2;
            });
            auto const n = only.user;
            if (readers != 1 || n == g_.return_node()) return std::nullopt;
            auto const count = g_.operand_count(n);
            if (g_.op(n).category != op_category::elementwise || g_.op(n).layouts != layout_policy::propagates ||
                g_.result_count(n) != 1 || count < 1 || count > 2)
                return std::nullopt;
            if (!(g_.type({n, 0}).dims == g_.type(ends[i]).dims) || !g_.type({n, 0}).ranked) return std::nullopt;
            if (i == 0) f.operand = only.operand;
            auto const first = i == 0 ? n : f.nodes[0];
            if (g_.row(n) != g_.row(first) || !(g_.attributes(n) == g_.attributes(first)) ||
                count != g_.operand_count(first) || only.operand != f.operand)
                return std::nullopt; // by one place of operands, different values have different readers
            f.nodes.push_back(n);
            if (count == 2) f.other.values.push_back(g_.operand(n, 1 - f.operand));
        }
        if (!f.other.values.empty() && !constants_.joinable(f.other)) return std::nullopt;
        return f;
    }

    // The type of a branch with more channels, or with the branches as a dimension in front.
    [[nodiscard]] type_id widened(value_id v, branch_constants const& shape) const {
        auto t = g_.type(v);
        std::int64_t sum = 0;
        for (auto c : shape.channels) sum += c;
        if (kind_ == sibling_kind::stacks)
            t.dims.insert(0, dim{static_cast<std::int64_t>(shape.channels.size())});
        else
            t.dims[t.rank() - 1 - shape.from_last] = dim{sum};
        return t;
    }

    // Types are known, so that nothing is inferred: what was known of a branch is known afterwards.
    value_id append(node_id like, std::vector<value_id> operands, type_id type, std::vector<node_id> const& sources) {
        while (!operands.back().valid()) operands.pop_back();
        auto const made = g_.append_node(g_.row(like), g_.attributes(like), 0, operands, {&type, 1});
        g_.inherit_sources(made, sources);
        return {made, 0};
    }

    void join(sibling_branches const& group) {
        branch_constants shape, bias;
        shape.from_last = channels_.from_last(group[0]);
        std::vector<value_id> ends, weights;
        bool biased = false;
        for (auto n : group) {
            shape.channels.push_back(channels_.count(n));
            weights.push_back(g_.operand(n, 1));
            ends.push_back({n, 0});
            biased = biased || g_.operand(n, 2).valid();
        }
        bias.channels = shape.channels;
        if (biased && !gather_biases(group, bias)) return outcome_.skip("biases of different form");
        auto const rank = g_.type(ends[0]).rank() + (kind_ == sibling_kind::stacks ? 1 : 0);
        auto axis = static_cast<std::int64_t>(channels_.joined_axis(group[0]));
        if (kind_ == sibling_kind::stacks) {
            for (auto& w : weights) { w = constants_.reshaped(w, constants_.with_ones(g_.type(w).sizes(), rank)); }
            axis = 0;
        }
        auto const weight = g_.add<ops::concat>({.axis = axis}, weights);
        auto const addend = biased ? constants_.joined(bias, rank) : value_id{};
        auto big = append(group[0], {g_.operand(group[0], 0), weight, addend}, widened(ends[0], shape), group);
        while (auto const f = next(ends, shape)) {
            std::vector<value_id> operands{big};
            if (!f->other.values.empty())
                operands.insert(operands.begin() + (f->operand == 0), constants_.joined(f->other, rank));
            for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = {f->nodes[i], 0};
            big = append(f->nodes[0], std::move(operands), widened(ends[0], shape), f->nodes);
        }
        divide(big, ends, shape);
        ++outcome_.matches;
    }

    // The bias of each branch, zeros where there is none. Whether they can be joined.
    bool gather_biases(sibling_branches const& group, branch_constants& bias) {
        value_id some;
        for (auto n : group)
            if (g_.operand(n, 2).valid()) some = g_.operand(n, 2);
        auto const last = constants_.dims_of(some).size() - 1;
        for (std::size_t i = 0; i < group.size(); ++i) {
            auto c = g_.operand(group[i], 2);
            if (!c.valid()) {
                auto dims = constants_.dims_of(some);
                dims[last] = bias.channels[i];
                c = g_.add<ops::fill>({.shape = dims, .element = g_.type(some).element}, {});
            }
            bias.values.push_back(c);
        }
        if (constants_.joinable(bias)) return true;
        for (auto c : bias.values)
            if (!g_.used(c)) g_.erase_unused(c.node);
        return false;
    }

    // Parts of the joined value stand for the branches.
    void divide(value_id big, std::vector<value_id> const& ends, branch_constants const& shape) {
        auto const stacked = kind_ == sibling_kind::stacks;
        auto const rank = g_.type(big).rank();
        attributes_of<ops::split> parts;
        parts.axis = stacked ? 0 : static_cast<std::int64_t>(rank - 1 - shape.from_last);
        std::vector<type_id> types;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            auto t = g_.type(ends[i]);
            if (stacked) t.dims.insert(0, dim{1});
            types.push_back(t);
            parts.sizes.push_back(stacked ? 1 : shape.channels[i]);
        }
        auto const cut = g_.append_node(*find_row(g_.operators().ops, id_of<ops::split>), intern<ops::split>(parts), 0,
                                        {&big, 1}, types);
        for (std::uint32_t i = 0; i < ends.size(); ++i) {
            value_id part{cut, i};
            if (stacked) {
                auto const type = g_.type_of(ends[i]);
                part = {g_.append_node(*find_row(g_.operators().ops, id_of<ops::squeeze>),
                                       intern<ops::squeeze>({.axes = {0}}), 0, {&part, 1}, {&type, 1}),
                        0};
            }
            g_.inherit_sources(part.node, {&ends[i].node, 1});
            g_.replace_uses(ends[i], part);
        }
    }

    any_graph& g_;
    pass_context& cx_;
    sibling_kind kind_;
    std::size_t least_;
    sibling_channels<> channels_;
    constant_joiner<> constants_;
    pass_outcome outcome_;
};

} // namespace gsub::passes::detail
