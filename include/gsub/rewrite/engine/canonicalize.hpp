// The canonical form: canonicalization patterns that cost nothing and never count as moves of a search.
#pragma once

#include <gsub/ir/graph.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace gsub {

/// Counts of what a canonicalization changed.
struct canonicalization_count {
    std::size_t simplified = 0; ///< nodes replaced by a simpler form
    std::size_t shared = 0;     ///< nodes replaced by an equal one (common subexpressions, duplicate constants)
    std::size_t erased = 0;     ///< nodes that nothing read
    [[nodiscard]] std::size_t total() const noexcept { return simplified + shared + erased; }
};

/// One canonicalization pattern: what it does, and a function that gives a value equal to result 0 of a node (or to
/// each of its results, for operators with several), made of existing values or new nodes; false where it does not
/// apply.
struct canonicalization_pattern {
    std::string_view name, sentence;
    bool (*apply)(any_graph& g, node_id n);
};

/// The canonicalization patterns: identities, dropout, casts, reshapes, transpositions, slices and pads that change
/// nothing; sums of one or two; concats and splits of one; the concat of all parts of a split and the split of a concat
/// at its joints; nested concats and splits; reshapes of reshapes. Double transposition is a rule, not a
/// canonicalization pattern.
GSUB_LAZY [[nodiscard]] std::span<canonicalization_pattern const> canonicalization_patterns() noexcept;
/// The canonicalization pattern of a name, or null.
GSUB_LAZY [[nodiscard]] canonicalization_pattern const* find_canonicalization_pattern(std::string_view name) noexcept;

/// Brings a whole graph into canonical form: canonicalization patterns, equal nodes shared, dead nodes erased. Opaque
/// nodes are left alone. Idempotent. *Complexity* O(n + e) a round; a second round finds nothing for graphs as they
/// come from files.
GSUB_LAZY canonicalization_count canonicalize(any_graph& g);

/// Canonicalizes a graph that was in canonical form before the changes in its journal. *Complexity* that of the
/// neighbourhood, plus O(n) to keep the order.
GSUB_LAZY canonicalization_count canonicalize_changes(any_graph& g);

/// Options of `share_equal_nodes`: which equal nodes become one.
struct share_options {
    bool sources = true;        ///< operators without operands too; otherwise constants alone
    bool reordered_sums = true; ///< sums of three and more in another order, which round otherwise
    bool (*leave)(any_graph const& g, node_id n) = nullptr; ///< nodes that stay apart; null: none
};

/// Common-subexpression elimination: merges nodes of one operator with equal attributes and operands, and constants
/// with equal bits; operands of commutative operators count unordered. The first in the order stays, the others lose
/// their users. Inputs, opaque nodes, calls and `If` nodes stay apart. Returns the number of nodes replaced.
/// *Complexity* O(n + e).
GSUB_LAZY std::size_t share_equal_nodes(any_graph& g, share_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/engine/impl/canonicalization_patterns.ipp>
#include <gsub/rewrite/engine/impl/canonicalize.ipp>
#endif
