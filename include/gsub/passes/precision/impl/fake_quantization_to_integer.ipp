#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/impl/pass_steps.hpp>
#include <gsub/passes/precision/fake_quantization_to_integer.hpp>
#include <gsub/passes/precision/impl/integer_analysis.hpp>
#include <gsub/passes/precision/impl/integer_builder.hpp>
#include <gsub/passes/precision/impl/quantized_values.hpp>

#include <vector>

namespace gsub::passes {

namespace detail {

template <class = void>
class integer_rewriter {
public:
    explicit integer_rewriter(any_graph& g) : g_(g), facts_(g), integers_(g, facts_) {}

    /// Rewrites the region of a `quantize` and gives true, or says why not; no reason where there is nothing to do.
    bool rewrite(node_id q, pass_context& cx, std::string_view& reason) {
        auto const x = g_.operand(q, 0);
        auto const f = facts_.of(x.node);
        auto const target = unit_of(g_, q, g_.type({q, 0}).element);
        if (f.carries == carried::nothing || !target) {
            reason = !f.reason.empty() ? f.reason : "scales that are no constant, or several";
            return false;
        }
        if (f.depth == 0 && !(f.u == *target)) return false; // a change of unit alone
        if (!cx.should_rewrite()) return false;
        auto const first_new = static_cast<std::uint32_t>(g_.capacity());
        auto const made = integers_.quantized_result(q, *target);
        for (auto i = first_new; i < g_.capacity(); ++i) g_.inherit_sources({i}, {&q, 1});
        g_.replace_uses({q, 0}, made, first_new);
        return true;
    }

private:
    any_graph& g_;
    integer_analysis<> facts_;
    integer_builder<> integers_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> fake_quantization_to_integer::operator()(any_graph& g, pass_context& cx) const {
    pass_outcome outcome;
    detail::integer_rewriter<> rewriter{g};
    auto const order = std::vector<node_id>(g.order().begin(), g.order().end());
    for (auto n : order) {
        if (!g.is<ops::quantize>(n) || !g.used(value_id{n, 0})) continue;
        cx.check_stop();
        std::string_view reason;
        if (rewriter.rewrite(n, cx, reason))
            ++outcome.matches;
        else if (!reason.empty())
            outcome.skip(reason);
    }
    detail::finish_replacements(g, outcome, "integers in place of what they stand for cannot close a cycle");
    return outcome;
}

} // namespace gsub::passes
