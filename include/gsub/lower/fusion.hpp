// Fusion: which operators one kernel computes. The one place that decides it.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/lower/fusion_scope.hpp>
#include <gsub/target/target.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gsub {

/// gsub's own rows, where the graph has its operators, and none otherwise.
GSUB_LAZY [[nodiscard]] fusion_rules fusion_rules_of(any_graph const& g, isa const& isa);

/// The groups of a graph, in an order in which their kernels can run. Every operator that an output needs is in one:
/// alone, or led by an operator whose row takes others behind it (`lowering<Op>::match`), or in an expression of
/// elements and reductions (`scalar_lowering<Op>`). Leaders come first, in the graph's order, and take what they can;
/// then expressions. A group has one value that is read outside of it, or reads nothing that stands behind its first
/// operator: so no two groups wait for each other.
///
/// Weights are known by their types, never by their elements: a kernel that cannot take a factor that overflows has
/// several steps for its group.
///
/// *Requires* that all of `rules` outlives the call. *Complexity* O(n + e) and, for expressions, O(m) steps each for
/// groups of m <= 32 operators.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules);

/// Whether a node moves nothing: its results are views of what is stored, or pieces of it, which readers take by
/// strides where they can.
GSUB_LAZY [[nodiscard]] bool is_stored_view(any_graph const& g, node_id n);

/// Hears of a group, with the scope in which it was made: that tells how values of a graph that is not laid out yet
/// will lie.
using group_function = function_ref<void(kernel_group const&, fusion_scope const&)>;

/// Calls `f` for each of these groups, in no particular order.
GSUB_LAZY void each_kernel_group(any_graph const& g, fusion_rules const& rules, group_function f);

namespace detail {
template <class>
class group_maker;
template <class>
class decision_notes;
} // namespace detail

/// The groups of a graph, each with the nodes that decided it. Graphs that rewrites make of this one have the same
/// groups but where these nodes have changed. Copies share what they know. *Memory* some 200 bytes a node.
class kernel_grouping {
    template <class>
    friend class detail::group_maker;
    template <class>
    friend class detail::decision_notes;
    struct record {
        kernel_group nodes;        ///< none: its first operator leads no kernel
        std::vector<node_id> seen; ///< what was looked at, first those whose readers and groups count too
        std::size_t close = 0;     ///< how many these are
    };
    /// Who has looked at a node.
    struct watcher {
        std::uint32_t first; ///< node id of a record
        bool begins, close;  ///< whether it is an expression's; whether readers and groups count too
    };
    using records = std::vector<std::shared_ptr<record const>>; ///< by node id
    std::array<records, 2> made_;           ///< what a leader leads, and what an expression's first one begins
    std::vector<char> roles_;               ///< by node id, before there are groups
    std::vector<watcher> watchers_;         ///< of all nodes, one after the other
    std::vector<std::uint32_t> watched_at_; ///< by node id, where those of a node begin
};

/// The same as `each_kernel_group`, and what it found. What `f` asks the scope for is taken to decide what it makes of
/// the group.
GSUB_LAZY [[nodiscard]] kernel_grouping grouping_of(any_graph const& g, fusion_rules const& rules, group_function f);

/// Calls `f` for those groups of a graph that are not the same as in the one it was made of, or are made of something
/// that has changed: what a search asks behind each rewrite. *Complexity* O(n) and what the groups around the changes
/// take.
GSUB_LAZY void each_changed_group(any_graph const& g, fusion_rules const& rules, kernel_grouping const& before,
                                  changed_nodes const& changes, group_function f);
/// The same, and what it found of all groups.
GSUB_LAZY [[nodiscard]] kernel_grouping grouping_of(any_graph const& g, fusion_rules const& rules,
                                                    kernel_grouping const& before, changed_nodes const& changes,
                                                    group_function f);

/// The same for gsub's own kernels on a machine: `passes::fuse_ops{.groups = &kernel_groups_for}`.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups_for(any_graph const& g, target const& machine);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/fuse.hpp>
#include <gsub/lower/impl/fusion.ipp>
#endif
