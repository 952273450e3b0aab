#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/canonicalize/canonicalize_ops.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

#include <vector>

namespace gsub::passes {

namespace detail {

// Why a convolution keeps its bias, or nothing.
GSUB_LAZY std::string_view bias_stays(any_graph const& g, node_id n) {
    auto const& y = g.type({n, 0});
    if (g.attributes<ops::conv>(n).act != activation::none) return "an activation behind the bias";
    if (y.element == dtype::f16 || y.element == dtype::bf16) return "rounded to 16 bits";
    return y.ranked ? "" : "unknown rank";
}

GSUB_LAZY value_id conv_and_bias(any_graph const& g, node_id n, node_sink& sink) {
    auto const y = sink.add<ops::conv>(g.attributes<ops::conv>(n), {g.operand(n, 0), g.operand(n, 1)});
    ints axes; // behind the channels
    for (std::size_t i = 2; i < g.type({n, 0}).rank(); ++i) axes.push_back(static_cast<std::int64_t>(i) - 1);
    return sink.add<ops::add>(y, sink.add<ops::unsqueeze>({.axes = axes}, {g.operand(n, 2)}));
}

// Why a product of matrices stays, or nothing.
GSUB_LAZY std::string_view product_stays(any_graph const& g, node_id n) {
    auto const& a = g.attributes<ops::gemm>(n);
    auto const element = g.type({n, 0}).element;
    auto const scaled = a.alpha != 1 || (a.beta != 1 && g.operand(n, 2).valid());
    if (element == dtype::f16 || element == dtype::bf16) return "rounded to 16 bits";
    return scaled && !is_floating(element) ? "a factor on integers" : "";
}

GSUB_LAZY value_id product_and_sum(any_graph const& g, node_id n, node_sink& sink) {
    auto const& a = g.attributes<ops::gemm>(n);
    auto const factor = [&](value_id v, double by) {
        if (by == 1) return v;
        return sink.add<ops::mul>(v, sink.add<ops::fill>({.element = g.type({n, 0}).element, .value = by}, {}));
    };
    auto const turned = [&](value_id v, bool yes) { return yes ? sink.add<ops::transpose>({.perm = {1, 0}}, {v}) : v; };
    auto const y =
        factor(sink.add<ops::mat_mul>(turned(g.operand(n, 0), a.transpose_a), turned(g.operand(n, 1), a.transpose_b)),
               a.alpha);
    return g.operand(n, 2).valid() ? sink.add<ops::add>(y, factor(g.operand(n, 2), a.beta)) : y;
}

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> canonicalize_ops::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    auto const* const short_sum = find_canonicalization_pattern("sum");
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    auto const replace = [&](node_id n, std::string_view reason, function_ref<value_id(node_sink&)> build) {
        if (!reason.empty())
            outcome.skip(reason);
        else if (detail::replace_node(g, n, build))
            ++outcome.matches;
        else
            outcome.skip("unknown dimensions");
    };
    for (auto n : order) {
        if (n == g.return_node() || !g.used(value_id{n, 0})) continue;
        if (g.is<ops::conv>(n) && g.operand(n, 2).valid()) {
            cx.check_stop();
            replace(n, detail::bias_stays(g, n), [&](node_sink& s) { return detail::conv_and_bias(g, n, s); });
        } else if (g.is<ops::gemm>(n)) {
            replace(n, detail::product_stays(g, n), [&](node_sink& s) { return detail::product_and_sum(g, n, s); });
        } else if (g.is<ops::sum>(n) && g.operand_count(n) <= 2) {
            outcome.matches += short_sum->apply(g, n);
        }
    }
    detail::finish_replacements(g, outcome, "parts of an operator cannot close a cycle");
    return outcome;
}

} // namespace gsub::passes
