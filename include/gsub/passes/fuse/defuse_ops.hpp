// DefuseOps: inlines fused functions into their callers.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string_view>

namespace gsub::passes {

/// Inlines each call of a primitive function, with the names and sources of its nodes where the function is called
/// once, and removes primitive functions that nothing calls any more and that are no entry points. `defuse_ops` after
/// `fuse_ops` gives an equal graph. Functions of external code generators stay. *Errors* `invalid_input` where a call
/// does not fit its callee or functions call each other in a cycle, `unsupported` beyond `max_inlined_nodes`.
struct defuse_ops {
    static constexpr auto facts =
        pass_facts("defuse-ops", exactness::bit_exact, "puts the operators of kernels back into their callers",
                   {.tvm_name = "DefuseOps", .level = 3, .classes = {"BL"}});
    static bool may_apply(op_histogram const& ops) { return ops.functions > 1; }
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/fuse/impl/defuse_ops.ipp>
#endif
