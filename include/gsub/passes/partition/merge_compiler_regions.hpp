// Joining marked operators into parts.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>
#include <string_view>

namespace gsub::passes {

/// Gives the same number to marked operators of one compiler that feed each other, such that no path leaves a part and
/// comes back to it, parts of other compilers being one node each. Numbers follow from the outputs alone. Operators
/// that stay alone keep -1. A part grows as far as nothing that it feeds through others comes into question; that is
/// not always the largest part possible. Outcome: `matches` counts the parts of several operators where anything
/// changed. *Complexity* O(k (n + e)) for k compilers.
struct merge_compiler_regions {
    static constexpr std::string_view name = "merge-compiler-regions";
    static constexpr std::string_view effect = "joins marked operators that feed each other into one part";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr std::array<std::string_view, 1> classes{"AD"};
    static bool may_apply(op_histogram const& ops) { return ops.any_of<ops::compiler_annotation>(); }
    GSUB_LAZY result<pass_outcome> operator()(any_graph& g, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/partition/impl/merge_compiler_regions.ipp>
#endif
