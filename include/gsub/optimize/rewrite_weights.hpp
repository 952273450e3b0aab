// `rewrite_weights`: the weights that a rewrite reads, and those that it builds.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// A weight with its elements: a constant operand of an operator that computes on data.
struct operand_weight {
    std::string_view op;     ///< the operator that reads it
    std::string reader;      ///< its node, by name
    std::size_t operand = 0; ///< number of the operand
    std::string formula;     ///< arithmetic on weights that gives it: `Concat("a", Pad("b"))`
    tensor elements;
};

/// Weights of a rewrite: what the nodes that it takes away read, and what those that it makes read, where that is new.
struct rewrite_weights {
    std::vector<operand_weight> read, built;
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        std::uint64_t total = 0;
        for (auto const* list : {&read, &built})
            for (auto const& w : *list) total += static_cast<std::uint64_t>(w.elements.size_bytes());
        return total;
    }
};

/// Computes the weights of a rewrite by constant folding: in double, rounded once to the declared type. `after` is a
/// copy of `before` with the rewrite made, its changes in its journal. *Errors* `unsupported` where the weights take
/// more than `max_bytes`, and those of `compute_constants`. *Complexity* that of the arithmetic.
GSUB_LAZY [[nodiscard]] result<rewrite_weights> weights_of(any_graph const& before, any_graph const& after,
                                                           eval_table evaluators, std::uint64_t max_bytes);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/rewrite_weights.ipp>
#endif
