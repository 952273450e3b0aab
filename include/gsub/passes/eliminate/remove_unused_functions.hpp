// RemoveUnusedFunctions: removes functions that nothing calls.
#pragma once

#include <gsub/passes/manager/histogram.hpp>
#include <gsub/passes/pass.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gsub::passes {

/// Removes every function that no entry point can reach by calls and by `If` nodes; both branches of an `If` count,
/// whether its condition is known or not. Functions that only call each other are unused. Outcome: `matches` counts the
/// functions removed. *Errors* `usage` for an entry that is no function. *Complexity* O(n log functions).
struct remove_unused_functions {
    /// Entry points to give the module. Empty: those that it has.
    std::vector<std::string> entries{};

    static constexpr auto facts =
        pass_facts("remove-unused-functions", exactness::bit_exact, "removes functions that no entry point calls",
                   {.tvm_name = "RemoveUnusedFunctions", .level = 1, .classes = {"SSD"}});
    static bool may_apply(op_histogram const& ops) { return ops.functions > 1; }
    /// Names of entries, separated by commas.
    GSUB_LAZY static result<remove_unused_functions> from_text(std::string_view text);
    GSUB_LAZY result<pass_outcome> operator()(module& m, pass_context& cx) const;
};

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/eliminate/impl/remove_unused_functions.ipp>
#include <gsub/passes/impl/argument_list.ipp>
#endif
