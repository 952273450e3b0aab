// DeadCodeElimination: erases nodes that no output needs.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>

namespace gsub::passes {

/// Erases every node from which no output can be reached, however long the chain. Inputs stay: they are the signature.
/// Outcome: `matches` counts the nodes erased. *Complexity* O(n + e).
struct dead_code_elimination {
    static constexpr std::string_view name = "dead-code-elimination";
    static constexpr std::string_view tvm_name = "DeadCodeElimination";
    static constexpr std::array<std::string_view, 1> aliases{"DCE"};
    static constexpr std::string_view effect = "erases nodes that no output needs";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr int level = 1;
    static constexpr std::array<std::string_view, 3> classes{"RN", "MN", "SSD"};
    static constexpr bool enters_primitive = true;
    static bool may_apply(op_histogram const& ops) { return ops.unread > 0; }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/eliminate/impl/dead_code_elimination.ipp>
#endif
