// Constant folding: does weight arithmetic once and replaces constant parts of a graph by constants.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub {

/// Options of constant folding.
struct fold_options {
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of all folded constants together
    bool dequantize = false; ///< also fold `dequantize` of constants; false: lone ones stay
    executor* threads = nullptr;
};

/// Folds constants: replaces every constant value that the rest of the graph reads by a constant of the pool. Computes
/// in double and rounds once to the declared type. A lone `fill` stays, because it is shorter than its elements. So
/// does a lone `dequantize`, unless asked for: it is shorter too, and it tells engines where they may compute with
/// integers. *Errors* `unsupported` where the constants would exceed the limit or contain an operator without
/// `evaluate<Op>`; the graph is then unchanged. *Complexity* that of the arithmetic.
result<void> fold_constants(any_graph& g, eval_table table, fold_options const& options = {});

template <class OpSet>
result<void> fold_constants(basic_graph<OpSet>& g, fold_options const& options = {}) {
    return fold_constants(g, table_of<eval_row, OpSet>(), options);
}

/// Computes the elements of constant values, in their order. *Requires* that none depends on the results of a call.
/// *Errors* those of `evaluate_graph`, e.g. an index that is out of range. *Complexity* that of the arithmetic, plus
/// O(n).
[[nodiscard]] result<std::vector<tensor>> compute_constants(any_graph const& g, eval_table table,
                                                            std::span<value_id const> values,
                                                            evaluate_options const& options = {});
/// Replaces values by constants of the pool with these elements, and erases what is dead then; values in another layout
/// get a `layout_transform`. A value stays whose size is found by computing it, where a reader does not take it: what
/// reads it fails when it runs. *Returns* how many were replaced. *Requires* that no value depends on itself through
/// another. *Complexity* O(n + e).
std::size_t replace_by_constants(any_graph& g, std::span<value_id const> values, std::vector<tensor> elements);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/fold.ipp>
#endif
