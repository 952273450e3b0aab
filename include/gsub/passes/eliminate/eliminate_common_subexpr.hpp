// EliminateCommonSubexpr: merges equal nodes.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Merges nodes of one operator with equal attributes and operands, and constants with equal bits; operands may differ
/// in their order where swapping two changes no bit. Operators without operands stay apart: they are free, and one of
/// each saves keeping the value. Opaque nodes, which may be random, calls and `If` nodes stay too; branches are
/// functions, each treated alone. Nodes left without a reader are erased. Outcome: `matches` counts the nodes replaced.
/// *Complexity* O(n + e) and a hash of each constant. *Source* TVM's EliminateCommonSubexpr.
struct eliminate_common_subexpr {
    /// Predicate of the nodes that stay apart; null: none.
    bool (*skip)(any_graph const& g, node_id n) = nullptr;

    static constexpr auto facts = pass_facts(
        "eliminate-common-subexpr", exactness::bit_exact, "computes once what is written twice",
        {.tvm_name = "EliminateCommonSubexpr", .level = 3, .classes = {"BL", "RN", "MN"}, .aliases = {"CSE"}});
    static bool may_apply(op_histogram const& ops) {
        for (auto const& e : ops.entries)
            if (e.count > 1 && e.op != id_of<gsub::ops::input>) return true;
        return false;
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/eliminate/impl/eliminate_common_subexpr.ipp>
#endif
