// What a graph must look like at each stage of its way, as a table of rules that can be checked.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace gsub {

/// How far a graph has come.
enum class stage : unsigned {
    imported = 1,  ///< as read from a file: everything can be written back
    canonical = 2, ///< cleaned up: the form in which rules match
    fused = 4,     ///< grouped into kernels
    scheduled = 8, ///< with kernels chosen
};

/// One rule of the table.
struct legality_rule {
    unsigned stages; ///< sum of the stages at which it holds
    std::string_view sentence;
    bool (*holds)(any_graph const& g, node_id n);
};

/// The rules that speak of operators. Structure (operand order, liveness, use lists, types) is checked at every stage.
[[nodiscard]] std::span<legality_rule const> legality_rules() noexcept;

/// All violations, each naming node and operator. Empty for a legal graph. *Complexity* O(n + e).
[[nodiscard]] std::vector<problem> check(any_graph const& g, stage at);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/legality.ipp>
#endif
