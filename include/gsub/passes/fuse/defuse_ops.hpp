// Undoing the grouping of operators into kernels.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <array>
#include <string_view>

namespace gsub::passes {

/// Replaces each call of a primitive function by the function's nodes, with their names and sources where the function
/// is called once, and removes the primitive functions that nothing calls any more and that are no entry points.
/// `defuse_ops` after `fuse_ops` gives an equal graph. Functions whose code somebody else generates stay.
/// *Errors* `invalid_input` where a call does not fit its callee or functions call each other in a circle,
/// `unsupported` beyond `max_inlined_nodes`.
struct defuse_ops {
    static constexpr std::string_view name = "defuse-ops";
    static constexpr std::string_view effect = "puts the operators of kernels back into their callers";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr int level = 3;
    static constexpr std::array<std::string_view, 1> classes{"BL"};
    static bool may_apply(op_histogram const& ops) { return ops.functions > 1; }
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fuse/impl/defuse_ops.ipp>
#endif
