// Graph verifier: what a graph must satisfy at each stage, as a table of rules.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace gsub {

/// Stage of a graph before it is a kernel graph, which has stages and a check of its own.
enum class stage : unsigned {
    imported = 1,  ///< as read from a file: everything can be written back
    canonical = 2, ///< in canonical form, in which rules match and which is lowered
};

/// Legality rule: a row of the table.
struct legality_rule {
    unsigned stages; ///< sum of the stages at which it holds
    std::string_view sentence;
    bool (*holds)(any_graph const& g, node_id n);
};

/// The legality rules about operators. Structure (operand order, liveness, use lists, types) is checked at every stage.
[[nodiscard]] std::span<legality_rule const> legality_rules() noexcept;

/// Verifies a graph: gives all violations, each with node and operator; empty for a legal graph. *Complexity* O(n + e).
[[nodiscard]] std::vector<problem> check(any_graph const& g, stage at);

/// Whether the library verifies graphs between its stages without being asked: in debug builds, and where
/// `GSUB_CHECK_STAGES=1` is in the environment when it is first asked, as for the tests.
[[nodiscard]] bool verifies_stages() noexcept;
/// Verifies the graph that a step has left. *Errors* `internal`, naming the step and each violation.
[[nodiscard]] result<void> verify_behind(std::string_view step, any_graph const& g, stage at);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/legality.ipp>
#endif
