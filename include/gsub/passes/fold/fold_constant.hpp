// FoldConstant: computes constant parts of a graph at compile time.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::passes {

/// Replaces each value that depends on constants alone by a constant, computed as the graph would compute it, so that
/// no bit changes; `Shape` of known dimensions by these; an `If` of known condition by the branch taken. It repeats
/// this for what becomes constant.
///
/// Left alone: operators that make a tensor out of attributes, which are shorter than their elements; large values made
/// from small ones, such as a scalar expanded to an image (`max_created`), though smaller values computed from them are
/// folded; weights behind a `dequantize`, which stay in few bits; calls of functions, operators without `evaluate<Op>`,
/// and those that would fail when run; functions that no `If` calls any more. Outcome: `matches` counts values, shapes
/// and branches. *Errors* `invalid_input` where functions call each other through `If` nodes in a cycle, `usage` as
/// `evaluators_of`. *Complexity* that of the arithmetic, plus O(n + e) for each level of nested branches. *Source*
/// TVM's FoldConstant.
struct fold_constant {
    /// A value with more elements stays where it has more than 16 times those of any constant that it is made of.
    std::uint64_t max_created = 1024;
    /// Values with more elements stay: weights that only move may be left to the packing for kernels.
    std::uint64_t max_elements = static_cast<std::uint64_t>(-1);

    static constexpr auto facts =
        pass_facts("fold-constant", exactness::bit_exact, "computes what depends on constants alone",
                   {.tvm_name = "FoldConstant", .level = 2, .classes = {"RN", "MN", "SSD"}});
    static bool may_apply(op_histogram const& counts) {
        return counts.weights > 0 || counts.any_of<ops::shape, ops::if_else>();
    }
    /// Parses `max_elements`. *Errors* `usage` where the text is no number.
    GSUB_LAZY static result<fold_constant> from_text(std::string_view text);
    /// What `from_text` reads; empty where it is the default.
    [[nodiscard]] std::string arguments() const {
        return max_elements == fold_constant{}.max_elements ? std::string{} : std::to_string(max_elements);
    }
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fold/impl/fold_constant.ipp>
#endif
