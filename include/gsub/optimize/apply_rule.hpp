// `apply_rules`: makes named rewrites, a rule at a node each, without a search.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {

/// A rule, and the node at which it is to be applied.
struct rule_at {
    rule_program const* rule = nullptr;
    std::string node; ///< by name, wherever it stands in the pattern; a name of the model or one that reports use
};

/// A node that computes on data, as it stood before a rewrite, or stands after it.
struct rewritten_node {
    std::string_view op;
    std::string name;                  ///< as reports have it
    std::vector<std::string> operands; ///< names of what they are results of; types of weights; empty: left out
    std::string attributes;            ///< those that differ from their defaults: `pads = [1, 1, 1, 1], group = 2`
    std::string type;                  ///< of its results
};

/// A rewrite that was made.
struct made_rewrite {
    std::string rule;
    std::string site; ///< the anchor's name
    std::string hint; ///< the first `prefer` condition that does not hold, which keeps searches from it; empty: all do
    std::size_t choices = 0;                    ///< places that the rule has with this node; the first that fits is it
    double cost_before = 0, cost_after = 0;     ///< of the graph, in the model's unit
    std::vector<rewritten_node> removed, added; ///< in the graphs' order
    rewrite_check check = rewrite_check::not_asked;
};

/// Report of `apply_rules`.
struct application_report {
    std::string_view unit;  ///< of the costs
    double cost_before = 0; ///< of the graph as given
    double cost_start = 0;  ///< in canonical form, where rules are applied
    double cost_after = 0;
    canonicalization_count canonicalized;
    std::vector<made_rewrite> made;
    verification_report verification;
};

/// Options of `apply_rules`.
struct apply_options {
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of folded weights
    bool verify = false;                                     ///< each rewrite by itself, and the whole, as `optimize`
    std::uint64_t seed = 1;                                  ///< of the inputs that verification uses
    executor* threads = nullptr;                             ///< for folding and verification; null: one thread
};

/// Applies rules, each at a node of the graph that those before it have left, whatever that costs; then folds weights.
/// A place where all hints of the rule hold comes before one where not. *Errors* `usage` for a node that the graph
/// lacks, with the nearest names; `negative` where the rule cannot be applied there, with the reason that
/// `explain_rule` gives; `unsupported` where folding exceeds its limit.
GSUB_LAZY [[nodiscard]] result<std::pair<any_graph, application_report>>
apply_rules(any_graph const& g, cost::any_cost const& model, eval_table evaluators, std::span<rule_at const> rules,
            apply_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/apply_rule.ipp>
#endif
