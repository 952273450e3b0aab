// Weight arithmetic done once: constant parts of a graph become constants.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace gsub {

/// Limits of folding.
struct fold_options {
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of all folded constants together
    bool dequantize = false; ///< also numbers that are stored in few bits; false: what makes them floating ones stays
    executor* threads = nullptr;
};

/// Replaces every constant value that the rest of the graph reads by a constant of the pool. Computed in double,
/// rounded once to its declared type. A lone `fill` stays as it is: it is shorter than its elements. So does a lone
/// `dequantize`, unless asked for: beside being shorter, it tells engines where integers may be computed with. *Errors*
/// `unsupported` where the constants would exceed the limit or contain an operator without `evaluate<Op>`; the graph is
/// then unchanged. *Complexity* that of the arithmetic.
result<void> fold_constants(any_graph& g, eval_table table, fold_options const& options = {});

template <class OpSet>
result<void> fold_constants(basic_graph<OpSet>& g, fold_options const& options = {}) {
    return fold_constants(g, table_of<eval_row, OpSet>(), options);
}

/// The elements of constant values, in their order. *Requires* that the results of no call are among what they are
/// computed from. *Errors* those of `evaluate_graph`, e.g. an index that is out of range. *Complexity* that of the
/// arithmetic, plus O(n).
[[nodiscard]] result<std::vector<tensor>> compute_constants(any_graph const& g, eval_table table,
                                                            std::span<value_id const> values,
                                                            evaluate_options const& options = {});
/// Makes each of these values a constant of the pool with the elements given, and erases what is dead then; values in
/// another layout get a `layout_transform`. *Requires* that no value depends on itself through another.
/// *Complexity* O(n + e).
void replace_by_constants(any_graph& g, std::span<value_id const> values, std::vector<tensor> elements);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/fold.ipp>
#endif
