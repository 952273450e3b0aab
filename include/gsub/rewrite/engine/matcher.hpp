// The matcher: finds where rules apply in a graph.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/rewrite/engine/match.hpp>
#include <gsub/rewrite/pattern/program.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace gsub {

/// Rules indexed by the operator of their anchor.
class rule_index {
public:
    /// `rules` must outlive the index.
    GSUB_LAZY explicit rule_index(std::span<rule_program const> rules);
    [[nodiscard]] std::span<rule_program const> rules() const noexcept { return rules_; }
    /// Rules whose anchor may be an application of `op`, in the order in which they were given.
    GSUB_LAZY [[nodiscard]] std::span<rule_program const* const> anchored_at(op_info const& op) const;
    /// Hash of the rules in their order: names, patterns, replacements and sentences, and the version of gsub, which
    /// stands for their C++ functions.
    [[nodiscard]] hash128 hash() const noexcept { return hash_; }

private:
    std::span<rule_program const> rules_;
    hash128 hash_;
    std::vector<rule_program const*> by_category_;
    std::map<op_id, std::vector<rule_program const*>> by_op_; // includes those by category
};

/// A 256-bit signature of a node set (a Bloom filter with one hash): no false negatives, rare false positives.
struct node_signature {
    std::array<std::uint64_t, 4> words{};
    void add(node_id n) noexcept { words[n.index / 64 % 4] |= std::uint64_t{1} << n.index % 64; }
    [[nodiscard]] bool meets(node_signature const& other) const noexcept {
        std::uint64_t both = 0;
        for (std::size_t i = 0; i < words.size(); ++i) both |= words[i] & other.words[i];
        return both != 0;
    }
};

/// Calls `found(match)` for each match of a rule that is anchored at a node and meets all its conditions, each once.
/// Operands of commutative operators are tried in both orders. An operator in a pattern matches no constant node.
GSUB_LAZY void find_matches_at(any_graph const& g, rule_program const& rule, node_id anchor,
                               function_ref<void(match const&)> found);

/// Finds the matches of all rules at all nodes, in topological order.
GSUB_LAZY void find_matches(any_graph const& g, rule_index const& rules, function_ref<void(match const&)> found);

/// Why a rule did not fire: the first of its conditions that fails for a match of its pattern alone, or null.
GSUB_LAZY [[nodiscard]] rule_condition const* first_failure(match const& m);
/// Matches a pattern as `find_matches_at`, without checking conditions. Adds to `looked_at` all nodes that decided what
/// was found: while their operands and readers stay the same, so do the matches.
GSUB_LAZY void find_pattern_at(any_graph const& g, rule_program const& rule, node_id anchor,
                               function_ref<void(match const&)> found, node_signature* looked_at = nullptr);

/// Why a pattern failed to match, and how far it got.
struct mismatch {
    enum class kind : std::uint8_t {
        operation, ///< another operator stands there, or none: `found` may be an input or a weight
        constant,  ///< the right operator, applied to weights alone
        absent,    ///< the operand is left out, or there is none
        surplus,   ///< the node has more operands than the pattern
        port,      ///< a result other than the first
        rebound,   ///< the variable or label stands for `other` already
        parts,     ///< the operands are not the parts of one split, each once
        reader,    ///< a part of the split has no reader of its own, or not just one
        alone,     ///< nothing else reads `found`, which a further root has to
    };
    kind what = kind::operation;
    std::uint16_t wanted = 0;  ///< number of the pattern's node
    value_id found;            ///< what stands there instead; invalid: nothing
    value_id other;            ///< of `rebound`
    node_id user;              ///< whose operand it is; invalid: the anchor or a further root
    std::uint32_t operand = 0; ///< of `user`
    std::size_t depth = 0;     ///< nodes and variables that had matched until then
};

/// Deepest mismatch at an anchor: the one before which most of a pattern had matched; of several the first. Nothing
/// where the pattern matches, whatever the conditions say. *Requires* a live node.
GSUB_LAZY [[nodiscard]] std::optional<mismatch> nearest_miss(any_graph const& g, rule_program const& rule,
                                                             node_id anchor);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/engine/impl/matcher.ipp>
#include <gsub/rewrite/engine/impl/sum_terms.ipp>
#include <gsub/rewrite/engine/impl/term_matcher.ipp>
#endif
