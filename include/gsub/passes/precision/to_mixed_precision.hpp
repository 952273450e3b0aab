// ToMixedPrecision: computes in f16 or bf16 where it may.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// Precision class of an operator.
enum class precision_class : std::uint8_t {
    always, ///< in 16 bits: operands are converted
    follow, ///< in 16 bits where its floating operands are, or are inputs and constants
    never,  ///< in the element type that the graph gives it
};

/// Treatment of an operator without a known class. It follows, unless it is an error.
enum class unlisted_op : std::uint8_t {
    error,
    count, ///< it is counted as skipped, under its name
    silent,
};

/// Converts f32 to f16 or bf16, operator by operator: convolutions and matrix products always, exponentials, powers,
/// sums and means never, others where their operands already are. Sums of products are in f32 and results are rounded,
/// as the reference runtime does. A value is converted at most once in each direction; converting back gives the
/// original. Inputs and outputs keep their types, as do integers, f64, weight arithmetic, operands of calls and `If`,
/// and every operator that reads a constant or has a bound beyond the greatest number of the type. A graph without an
/// operator that always computes in 16 bits stays. `fold_constant` computes the conversions of weights. Outcome:
/// `matches` counts operators. *Errors* `usage` for another element type than f16 and bf16, or a name that is no
/// operator of the graph's set; `unsupported` for an unlisted operator, where asked for. *Complexity* O(n + e) and the
/// elements of constants. *Source* TVM's ToMixedPrecision.
struct to_mixed_precision {
    struct rule {
        std::string op; ///< name of an operator, e.g. `Softmax`
        precision_class how = precision_class::never;
    };
    dtype target = dtype::f16;
    unlisted_op unlisted = unlisted_op::count;
    std::vector<rule> rules{}; ///< before the built-in ones, for user operators too

    static constexpr auto facts =
        pass_facts("to-mixed-precision", exactness::precision_changing, "computes in f16 or bf16 what bears it",
                   {.tvm_name = "ToMixedPrecision", .classes = {"AD"}});
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
    /// Parses `f16` or `bf16`, then after a comma `error`, `count` or `silent`; what is missing has its default.
    GSUB_LAZY static result<to_mixed_precision> from_text(std::string_view text);
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/argument_list.ipp>
#include <gsub/passes/precision/impl/to_mixed_precision.ipp>
#endif
