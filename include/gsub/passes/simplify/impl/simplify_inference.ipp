#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/simplify/simplify_inference.hpp>
#include <gsub/rewrite/rules/conv.hpp>

#include <vector>

namespace gsub::passes {

namespace detail {

// Whether every sum of variance and epsilon is a positive number, as far as can be told.
GSUB_LAZY bool has_deviation(any_graph const& g, value_id variance, double epsilon) {
    auto const element = g.type(variance).element;
    auto const stored = element == dtype::f32 ? static_cast<double>(static_cast<float>(epsilon)) : epsilon;
    if (!g.is<ops::constant>(variance.node)) return stored > 0; // nobody stores a negative one
    auto const numbers = g.constant_data(variance.node).converted_to(dtype::f64);
    for (auto v : numbers.data<double>())
        if (!(v + stored > 0)) return false;
    return true;
}

GSUB_LAZY bool computed_in_full(dtype t) {
    return t == dtype::f32 || t == dtype::f64;
}

// Why a batch normalisation stays, or nothing.
GSUB_LAZY std::string_view incompatibility(any_graph const& g, node_id n) {
    auto const& x = g.type(g.operand(n, 0));
    if (!computed_in_full(x.element)) return "rounded to 16 bits";
    if (!x.ranked) return "unknown rank";
    for (std::size_t i = 1; i < 5; ++i) {
        auto const& t = g.type(g.operand(n, i));
        if (t.element != x.element) return "mixed element types";
        if (!t.ranked || !provably_equal(t.dims[0], x.dims[1])) return "unknown channels";
    }
    return has_deviation(g, g.operand(n, 4), g.attributes<ops::batch_norm>(n).epsilon) ? "" : "no epsilon";
}

// x * factor + offset with one number a channel.
GSUB_LAZY value_id scale_and_shift(any_graph const& g, node_id n, node_sink& sink) {
    auto const x = g.operand(n, 0);
    auto const parts =
        rules::convolution::detail::normalisation(sink, g.attributes<ops::batch_norm>(n).epsilon, g.operand(n, 1),
                                                  g.operand(n, 2), g.operand(n, 3), g.operand(n, 4));
    ints axes; // behind the channels
    for (std::size_t i = 2; i < g.type(x).rank(); ++i) axes.push_back(static_cast<std::int64_t>(i) - 1);
    auto const placed = [&](value_id v) { return axes.empty() ? v : sink.add<ops::unsqueeze>({.axes = axes}, {v}); };
    return sink.add<ops::add>(sink.add<ops::mul>(x, placed(parts.factor)), placed(parts.offset));
}

// Whether a dropout is the identity in every run.
GSUB_LAZY bool passes_on(any_graph const& g, node_id n) {
    auto const is_zero = [&](value_id v) {
        return g.is<ops::constant>(v.node) && g.constant_data(v.node).elements() == 1 &&
               g.constant_data(v.node).converted_to(dtype::f64).data<double>()[0] == 0;
    };
    auto const ratio = g.operand(n, 1), training = g.operand(n, 2);
    return !training.valid() || is_zero(training) || (ratio.valid() && is_zero(ratio));
}

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> simplify_inference::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    auto const replace = [&](node_id n, function_ref<value_id(node_sink&)> build) {
        if (detail::replace_node(g, n, build))
            ++outcome.matches;
        else
            outcome.skip("unknown dimensions");
    };
    for (auto n : order) {
        if (g.is<ops::batch_norm_training>(n)) outcome.skip("training mode");
        if (n == g.return_node() || !g.used(value_id{n, 0})) continue;
        if (g.is<ops::batch_norm>(n)) {
            cx.check_stop();
            if (std::string_view const reason = detail::incompatibility(g, n); !reason.empty())
                outcome.skip(reason);
            else
                replace(n, [&](node_sink& sink) { return detail::scale_and_shift(g, n, sink); });
        } else if (g.is<ops::layer_norm>(n) && layer_norm) {
            auto const& x = g.type(g.operand(n, 0));
            if (!detail::computed_in_full(x.element))
                outcome.skip("rounded to 16 bits");
            else if (!x.ranked)
                outcome.skip("unknown rank");
            else
                replace(n, [&](node_sink& sink) {
                    return g.operators().infer[g.row(n)].build(sink, g.attributes(n), g.operands(n));
                });
        } else if (g.is<ops::dropout>(n)) {
            if (!detail::passes_on(g, n)) {
                outcome.skip("training mode");
                continue;
            }
            g.replace_uses({n, 0}, g.operand(n, 0));
            ++outcome.matches;
        }
    }
    detail::finish_replacements(g, outcome, "parts of an operator cannot close a cycle");
    return outcome;
}

} // namespace gsub::passes
