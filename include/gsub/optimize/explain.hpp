// `explain_rule`: where a rewrite rule applies in a graph, and why not elsewhere.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/optimize/rewrite_weights.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Outcome of a rule at a place.
enum class rule_outcome : std::uint8_t {
    applies,         ///< the search can make this rewrite
    hint_fails,      ///< it would be right, and a `prefer` condition keeps the search from trying it
    condition_fails, ///< the pattern matches, and a `where` condition without which the rule is wrong does not hold
    refused,         ///< pattern and conditions hold, and the rewrite cannot be made: ill-typed, shared inside, cyclic
    no_match,        ///< the pattern does not match
};
[[nodiscard]] constexpr std::string_view to_string(rule_outcome o) noexcept {
    constexpr std::string_view names[] = {"applies", "hint fails", "condition fails", "refused", "no match"};
    return names[static_cast<std::size_t>(o)];
}

/// One place where the rule was tried, and its outcome.
struct rule_place {
    std::string site; ///< the anchor's name in the model
    rule_outcome outcome = rule_outcome::no_match;
    std::string reason;                       ///< a sentence that names the nodes; empty where the rule applies
    std::string kind;                         ///< the reason without names, the same for places that fail alike
    std::optional<double> cost_after{};       ///< of the graph with the rewrite made, where it can be made
    std::size_t depth = 0;                    ///< of a mismatch: how much of the pattern had matched
    std::optional<rewrite_weights> weights{}; ///< of the rewrite, where they are asked for and it can be made
};

/// Report of `explain_rule`: where a rule applies, and why not elsewhere.
struct rule_explanation {
    std::string_view unit;                ///< of the costs
    double cost = 0;                      ///< of the graph in canonical form, where a search begins
    canonicalization_count canonicalized; ///< canonicalizations that led there
    std::size_t anchors = 0;              ///< nodes at which the rule was tried
    std::vector<rule_place> places; ///< the better the outcome the earlier, then by depth, then in the graph's order
    [[nodiscard]] std::size_t count(rule_outcome o) const noexcept {
        std::size_t n = 0;
        for (auto const& p : places) n += p.outcome == o;
        return n;
    }
};

/// Options of `explain_rule`.
struct explain_options {
    std::string_view node{};             ///< this node alone, by name, wherever it stands in the pattern; empty: all
    std::size_t max_matches_a_node = 64; ///< of one anchor, for rules that match in many ways
    eval_table weights{};                ///< to compute the weights of each rewrite; empty: they are not asked for
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of the weights of all places together
};

/// Explains a rule: tries it everywhere, or at one node, in the graph in canonical form, where a search begins. From a
/// node of another operator than the anchor's it follows the readers, as far as the pattern goes. *Errors* `usage` for
/// a node that the graph lacks, with the nearest names; `internal` as `optimize`; `unsupported` where weights take more
/// than the limit, or cannot be computed. *Complexity* O(anchors) times a
/// match, and a copy and a cost of the graph for each match.
GSUB_LAZY [[nodiscard]] result<rule_explanation> explain_rule(any_graph const& g, cost::any_cost const& model,
                                                              rule_program const& rule,
                                                              explain_options const& options = {});

/// Finds a rule by name. *Errors* `usage`, with the nearest names.
GSUB_LAZY [[nodiscard]] result<rule_program const*> find_rule(std::span<rule_program const> rules,
                                                              std::string_view name);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/explain.ipp>
#include <gsub/optimize/impl/rule_explainer.ipp>
#endif
