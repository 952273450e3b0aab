// MergeCompilerRegions: merges annotated operators into regions.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Gives one number to annotated operators of one compiler that feed each other, such that no path leaves a region and
/// comes back to it, with regions of other compilers as one node each. Numbers follow from the outputs alone. Operators
/// that stay alone keep -1. Operators merge where the paths to both leave the compiler's operators equally often at
/// most; regions are not always the largest possible. Outcome: `matches` counts the annotations whose number changed.
/// *Complexity* O(k (n + e)) for k compilers.
struct merge_compiler_regions {
    static constexpr auto facts = pass_facts("merge-compiler-regions", exactness::bit_exact,
                                             "joins marked operators that feed each other into one part",
                                             {.tvm_name = "MergeCompilerRegions", .classes = {"AD"}});
    static bool may_apply(op_histogram const& ops) { return ops.any_of<ops::compiler_annotation>(); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/partition/impl/merge_compiler_regions.ipp>
#endif
