// Parallel expander: makes the successors of a state on several threads, and passes them on in the graph's order.
#pragma once

#include <gsub/optimize/impl/adaptive_executor.hpp>
#include <gsub/optimize/impl/successor_generator.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace gsub::detail {

/// Parallel expander: makes the successors of a state on several threads, and passes them on in the graph's order.
/// Keeps the cheapest graphs that were made, which are likely to be expanded next.
class parallel_expander {
public:
    /// `threads` may be null: the caller's alone.
    GSUB_LAZY parallel_expander(dialect const& operators, sharing_executor* threads);

    /// Finds the successors at all anchors of an expansion. Gives `pass_on` batches in the order of the anchors, and
    /// ends where it says no.
    GSUB_LAZY void expand(successor_generator const& successors, expansion const& here,
                          function_ref<bool(match_batch&)> pass_on);
    /// Scratch graphs of the caller's thread.
    [[nodiscard]] scratch_graphs& own() noexcept { return *workers_.front(); }
    /// Takes the graph at the end of a path, where it has been made and kept.
    GSUB_LAZY [[nodiscard]] std::optional<any_graph> take(hash128 path);
    /// Forgets the graphs that are kept.
    void forget() noexcept {
        for (auto& w : workers_) w->path_of_cheapest = {};
    }

private:
    adaptive_executor threads_;
    std::vector<std::unique_ptr<scratch_graphs>> workers_; ///< the caller's first
};

} // namespace gsub::detail

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/parallel_expander.ipp>
#endif
