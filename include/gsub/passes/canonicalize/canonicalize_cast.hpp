// CanonicalizeCast: copies casts to wider types next to their readers.
#pragma once

#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

namespace gsub::passes {

/// Copies casts to wider element types that several elementwise operators read, so that each reader, once fused with
/// its own cast, reads the narrow value. An operator that reads a cast twice counts twice. Where other operators read
/// it too, the cast stays with these, and each elementwise reader gets its own. Casts of weights stay: constant folding
/// computes them. Sharing equal nodes undoes the pass (`eliminate_common_subexpr`, `canonicalize`). Outcome: `matches`
/// counts the casts that were copied. *Complexity* O((n + e) log n). *Source* TVM's CanonicalizeCast.
struct canonicalize_cast {
    static constexpr auto facts =
        pass_facts("canonicalize-cast", exactness::bit_exact, "gives each reader its own conversion to a wider type",
                   {.tvm_name = "CanonicalizeCast", .level = 3, .classes = {"BL", "RN"}});
    static bool may_apply(op_histogram const& counts) { return counts.any_of<ops::cast>(); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/canonicalize/impl/canonicalize_cast.ipp>
#endif
