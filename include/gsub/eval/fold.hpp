// Weight arithmetic done once: constant parts of a graph become constants.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>

#include <cstdint>

namespace gsub {

/// Limits of folding.
struct fold_options {
    std::uint64_t max_weight_bytes = std::uint64_t{4} << 30; ///< of all folded constants together
    executor* threads = nullptr;
};

/// Replaces every constant value that the rest of the graph reads by a constant of the pool. Computed in double,
/// rounded once to its declared type. A lone `fill` stays as it is: it is shorter than its elements. *Errors*
/// `unsupported` where the constants would exceed the limit or contain an operator without a meaning; the graph is then
/// unchanged. *Complexity* that of the arithmetic.
result<void> fold_constants(any_graph& g, std::span<eval_row const> table, fold_options const& options = {});

template <class OpSet>
result<void> fold_constants(basic_graph<OpSet>& g, fold_options const& options = {}) {
    return fold_constants(g, table_of<eval_row, OpSet>(), options);
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/fold.ipp>
#endif
