#pragma once

#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/simplify/fast_math.hpp>

#include <optional>
#include <vector>

namespace gsub::passes {

namespace detail {

struct approximation {
    op_id op{};
    attributes_id attributes;
};

// That of an operator, or nothing where there is none.
GSUB_LAZY std::optional<approximation> approximation_of(any_graph const& g, node_id n) {
    auto const by = [&]<class Fast, class Exact>(type_list<Fast, Exact>) {
        return approximation{id_of<Fast>, intern<Fast>(g.attributes<Exact>(n))};
    };
    if (g.is<ops::exp>(n)) return by(type_list<ops::fast_exp, ops::exp>{});
    if (g.is<ops::tanh>(n)) return by(type_list<ops::fast_tanh, ops::tanh>{});
    if (g.is<ops::erf>(n)) return by(type_list<ops::fast_erf, ops::erf>{});
    if (g.is<ops::softmax>(n)) return by(type_list<ops::fast_softmax, ops::softmax>{});
    return std::nullopt;
}

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> fast_math::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order) {
        auto const form = detail::approximation_of(g, n);
        if (!form || !g.used(n)) continue;
        if (g.constant(n) || g.type({n, 0}).element != dtype::f32) {
            outcome.skip(g.constant(n) ? "done once" : "another element type than f32");
            continue;
        }
        auto const row = find_row(g.operators().ops, form->op);
        if (!row) {
            outcome.skip("the graph's set of operators has no approximation");
            continue;
        }
        if (!cx.should_rewrite()) continue;
        type_id const types[] = {g.type_of({n, 0})};
        auto const made = g.append_node(*row, form->attributes, 0, g.operands(n), types);
        g.inherit_sources(made, {&n, 1});
        g.replace_uses({n, 0}, {made, 0});
        ++outcome.matches;
    }
    detail::finish_replacements(g, outcome, "one operator for another cannot close a cycle");
    return outcome;
}

} // namespace gsub::passes
