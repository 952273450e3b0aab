// Pass bisection: finds the pass of a list that breaks a model, the place, and a smallest model that shows it.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/passes/manager/manager.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gsub {

/// Failure predicate: whether the passes that made `after` out of `before` failed.
using pass_failure = function_ref<bool(module const& before, module const& after)>;

struct bisect_options {
    std::size_t max_tries = 2000; ///< runs of the culprit while the model is made smaller
};

/// Result of a bisection.
struct bisect_report {
    bool found = false;         ///< false: the list does not fail
    std::string pass;           ///< the culprit
    std::size_t position = 0;   ///< its place in the list with all requirements, from 0
    std::string failure;        ///< the error, where the pass fails by one
    std::uint64_t rewrites = 0; ///< places that it changes; 0 where it does not count them
    std::uint64_t rewrite = 0;  ///< the first that fails, from 1; 0 where they are not counted
    module before;              ///< the smallest model on which the culprit fails, its first entry point cut down
    module after;               ///< what the culprit makes of it; equal to `before` where it fails by an error
    std::size_t nodes_at_start = 0, nodes = 0; ///< operators of that entry point: before the culprit, and in `before`
    std::size_t tries = 0;                     ///< runs of passes, all together
    bool exhausted = false;                    ///< `max_tries` ended it: a smaller model may exist
    bool only_together = false; ///< the culprit does not fail alone: only with the passes before it. `before` is then
                                ///< what it gets, not made smaller
};

/// Bisects a list of passes: finds a pass after which a model fails where it did not before, by halving, so that a
/// failure that heals later is found too; then the first of its places (of passes that ask
/// `pass_context::should_rewrite`) that makes it fail; then a smallest set of operators on which it still fails (delta
/// debugging: no single chunk of the last granularity can be left out; values from outside become inputs). A pass that
/// returns or throws an error, or leaves an ill-formed module, fails. Requirements are part of the list. *Requires* a
/// failure that is the same in every run. *Errors* `usage` as `pass_manager::with_required`. *Complexity* one run of
/// the list, O(log passes) and O(log places) tests, and up to `max_tries` of each.
GSUB_LAZY [[nodiscard]] result<bisect_report> bisect(module const& m, pass_manager const& known,
                                                     std::span<any_pass const> list, pass_context const& cx,
                                                     pass_failure fails, bisect_options const& options = {});

/// Numeric failure predicate: outputs on seeded random inputs differ by more than `relative` (max |a - b| / max |b|),
/// or a module cannot be run any more. Modules that could not be run before do not fail. *Requires* that `cx` outlives
/// it.
struct numbers_differ {
    pass_context const* cx;
    double relative = 1e-3;
    GSUB_LAZY bool operator()(module const& before, module const& after) const;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/bisect.ipp>
#endif
