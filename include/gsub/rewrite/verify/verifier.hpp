// The rule verifier: checks rules in a prime field, on all small instances and on random larger ones.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/rewrite/pattern/program.hpp>
#include <gsub/rewrite/verify/sample.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gsub {

/// Result of a verification.
enum class verdict {
    proved,             ///< equal on the whole box and all samples
    refuted,            ///< a legal instance on which the two sides differ
    unverified,         ///< no legal instance was found
    proved_where_typed, ///< equal wherever the replacement is well-typed, which it is not everywhere
};
[[nodiscard]] constexpr std::string_view to_string(verdict v) noexcept {
    constexpr std::string_view names[] = {"proved", "refuted", "unverified", "proved where typed"};
    return names[static_cast<std::size_t>(v)];
}

/// Options of a verification: how thoroughly it checks.
struct verify_options {
    std::uint64_t box = 30000;   ///< sequences of decisions enumerated at most; smaller boxes are enumerated whole
    std::uint64_t samples = 300; ///< legal random instances
    std::uint64_t attempts = 20; ///< draws for each sample: most random draws are not legal
    /// Multiplications of an instance, before or after the rewrite; larger instances are skipped.
    std::uint64_t work = std::uint64_t{1} << 22;
    std::uint64_t seed = 1;
    /// Number of a `where` condition to leave out, to see whether the rule needs it.
    std::optional<std::size_t> without{};
};

/// A verdict with its evidence.
struct verification {
    verdict outcome = verdict::unverified;
    std::uint64_t box_instances = 0; ///< legal instances of the box
    std::uint64_t sampled_instances = 0;
    bool box_exhausted = false;          ///< whether the whole box was enumerated
    std::string counterexample;          ///< what differs, then, on lines of its own, the instance as text
    std::string replacement;             ///< the instance after the rewrite as text, where values differ
    std::uint64_t untyped_instances = 0; ///< legal instances whose replacement is ill-typed; counted above too
    std::string condition;               ///< of `proved_where_typed`: what makes the replacement well-typed
};

/// Verifies a rule by polynomial identity testing: replacing the pattern keeps every root's value on instances that
/// meet the rule's `where` conditions (`prefer` is ignored, weights are free). Both sides are computed over the prime
/// field 2^61 - 1 at random points: a wrong identity of degree d is accepted with probability d / 2^61 an instance;
/// operators that a field cannot compute are uninterpreted functions. The replacement must be well-typed with equal
/// types wherever the pattern is. *Source* specs of the literature: Schwartz 1980; Zippel 1979.
GSUB_LAZY [[nodiscard]] verification verify(rule_program const& rule, dialect const& d, eval_table evaluators,
                                            std::span<sample_row const> sampling, verify_options const& options = {});

template <class OpSet = standard_ops>
[[nodiscard]] verification verify(rule_program const& rule, verify_options const& options = {}) {
    return verify(rule, dialect::of<OpSet>(), table_of<eval_row, OpSet>(), table_of<sample_row, OpSet>(), options);
}

/// Source of a rule's instances, and what its replacement may be.
struct instance_source {
    /// Draws an instance with the decisions of a chooser; null where they lead to none.
    function_ref<std::unique_ptr<pattern_instance>(chooser&)> draw;
    /// For rules whose replacement may be ill-typed: the requirements that an instance breaks. Null: such an instance
    /// refutes the rule.
    function_ref<std::vector<std::string>(match const&)> const* broken = nullptr;
};
/// Verifies a rule on instances of the caller's choice.
GSUB_LAZY [[nodiscard]] verification verify(rule_program const& rule, instance_source const& from,
                                            eval_table evaluators, verify_options const& options = {});

/// Result of comparing two graphs in the prime field.
struct field_comparison {
    bool equal = false;
    std::string difference; ///< the first output that differs, where they do
};

/// Evaluates two graphs of one signature at a random point of the field and compares all outputs. Constants are mapped
/// exactly. *Errors* as `evaluate_graph`; `usage` where the signatures differ.
[[nodiscard]] result<field_comparison> compare_in_field(any_graph const& a, any_graph const& b, eval_table evaluators,
                                                        std::uint64_t seed = 1, executor* threads = nullptr);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/verify/impl/verifier.ipp>
#endif
