// SimplifyInference: decomposes normalisations and removes dropout.
#pragma once

#include <gsub/ir/ops/ops_nn.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Decomposes operators that only training needs whole. Batch normalisation becomes `x * factor + offset`, per channel:
/// factor = scale / sqrt(variance + epsilon), offset = shift - mean * factor, as weight arithmetic, which
/// `fold_constant` computes. Layer normalisation becomes means, squares and a root. Dropout becomes its operand, even
/// if its mask is read.
///
/// Left alone: the training form; normalisations of 16-bit floats, where each part would round, or of mixed element
/// types; those without epsilon, where the variance is not known to be positive; unknown ranks and channels. Flags
/// `scale` and `center`, other axes of channels, and the normalisations that ONNX has beside these do not exist in the
/// graph: importers write them with other operators. Outcome: `matches` counts normalisations and dropouts.
/// *Complexity* O((n + e) log n). *Source* TVM's SimplifyInference.
struct simplify_inference {
    bool layer_norm = true; ///< false: layer normalisations stay whole, for kernels that compute them at once

    static constexpr auto facts =
        pass_facts("simplify-inference", exactness::reassociating, "takes normalisations apart and drops dropout",
                   {.tvm_name = "SimplifyInference", .classes = {"RN", "MN", "SSD"}});
    static bool may_apply(op_histogram const& counts) {
        return counts.any_of<ops::batch_norm, ops::dropout, ops::layer_norm>();
    }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/simplify/impl/simplify_inference.ipp>
#endif
