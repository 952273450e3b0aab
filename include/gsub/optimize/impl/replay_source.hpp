// Replay source: successors that the log of an earlier search knows, without their graphs.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/optimize/impl/substitution_state.hpp>
#include <gsub/optimize/search_log.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace gsub::detail {

/// Replay source: successors that the log of an earlier search knows. They are deferred states, without graph and move,
/// until the logged rewrites are made again.
class replay_source {
public:
    /// What makes a logged rewrite again: of a state, which has a graph, the deferred state after it; into `made` the
    /// same with parent and move. It says why that cannot be, and nothing where it is done.
    using step = function_ref<std::string(std::shared_ptr<substitution_state const> const& from,
                                          substitution_state const& wanted, substitution_state& made)>;

    /// Null: nothing is known.
    explicit replay_source(search_log const* log) noexcept : log_(log) {}

    [[nodiscard]] search_log const& log() const noexcept { return *log_; }
    /// The expansion of the state at the end of a path; null where that is not known.
    [[nodiscard]] search_log::expansion const* find(hash128 path) const { return log_ ? log_->find(path) : nullptr; }
    [[nodiscard]] std::string_view rule(substitution_state const& s) const noexcept { return log_->rule(*s.deferred); }
    [[nodiscard]] std::string_view site(substitution_state const& s) const noexcept { return log_->site(*s.deferred); }

    /// A deferred state with a graph: that of the last state before it which has one, and then a step for each rewrite
    /// since. *Errors* throws `error` (`invalid_input`) naming the rewrite that cannot be made.
    GSUB_LAZY [[nodiscard]] substitution_state reconstruct(substitution_state const& s, step again);

private:
    search_log const* log_;
    /// By path: what was deferred and has been reconstructed.
    std::map<hash128, std::shared_ptr<substitution_state const>> reconstructed_;
};

} // namespace gsub::detail

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/replay_source.ipp>
#endif
