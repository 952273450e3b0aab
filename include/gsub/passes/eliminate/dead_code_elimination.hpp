// DeadCodeElimination: erases nodes that no output needs.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Erases every node from which no output can be reached, however long the chain. Inputs stay: they are the signature.
/// Outcome: `matches` counts the nodes erased. *Complexity* O(n + e).
struct dead_code_elimination {
    static constexpr auto facts =
        pass_facts("dead-code-elimination", exactness::bit_exact, "erases nodes that no output needs",
                   {.tvm_name = "DeadCodeElimination",
                    .level = 1,
                    .classes = {"RN", "MN", "SSD"},
                    .aliases = {"DCE"},
                    .enters_primitive = true});
    static bool may_apply(op_histogram const& ops) { return ops.unread > 0; }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/eliminate/impl/dead_code_elimination.ipp>
#endif
