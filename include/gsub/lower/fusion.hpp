// Operator fusion: the one place that decides which operators share a kernel.
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

/// Fusion rules with gsub's own rows where the graph has its operators, with none otherwise.
GSUB_LAZY [[nodiscard]] fusion_rules fusion_rules_of(any_graph const& g, isa const& isa);

/// Partitions a graph into kernel groups, in an order in which they can run. Every operator that an output needs is in
/// one: alone, or led by an operator whose row takes others behind it (`lowering<Op>::match`), or in an expression of
/// elements and reductions (`scalar_lowering<Op>`). Leaders come first, in the graph's order, and take what they can;
/// then expressions, which take arithmetic behind them and what computes operands for that alone. A group runs at its
/// first operator whose value is read outside of it, and all that it reads stands before that, or is a view of what
/// does: so groups form no cycle.
///
/// Groups depend on the types of weights, never on their elements: where a kernel cannot take a factor that overflows,
/// its group has several steps.
///
/// *Requires* that all of `rules` outlives the call. *Complexity* O(n + e) and, for expressions, O(m) steps each for
/// groups of m <= 32 operators.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules);

/// Whether a node is a view: its results are views or pieces of storage, which readers take by strides where they can.
GSUB_LAZY [[nodiscard]] bool is_stored_view(any_graph const& g, node_id n);

/// Callback for a group, with the scope that made it, which tells the layouts that values will get.
using group_function = function_ref<void(kernel_group const&, fusion_scope const&)>;

/// Calls `f` for each kernel group, in no particular order.
GSUB_LAZY void each_kernel_group(any_graph const& g, fusion_rules const& rules, group_function f);

namespace detail {
template <class>
class group_maker;
template <class>
class decision_notes;
} // namespace detail

/// Kernel groups of a graph, each with the nodes that decided it. A rewritten graph has the same groups except where
/// these nodes have changed. Copies share what they know. *Memory* some 200 bytes a node.
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
    /// A record that depends on a node.
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

/// Groups a graph as `each_kernel_group` does, and returns what decided each group. What `f` asks the scope counts.
GSUB_LAZY [[nodiscard]] kernel_grouping grouping_of(any_graph const& g, fusion_rules const& rules, group_function f);

/// Calls `f` for each group that differs from those before a rewrite, or depends on something that has changed: a
/// search asks after each rewrite. *Complexity* O(n) and what the groups around the changes take.
GSUB_LAZY void each_changed_group(any_graph const& g, fusion_rules const& rules, kernel_grouping const& before,
                                  changed_nodes const& changes, group_function f);
/// Groups a graph as `each_changed_group` does, and returns what decided each group, changed or not.
GSUB_LAZY [[nodiscard]] kernel_grouping grouping_of(any_graph const& g, fusion_rules const& rules,
                                                    kernel_grouping const& before, changed_nodes const& changes,
                                                    group_function f);

/// Kernel groups of a laid-out graph with gsub's own kernels for a machine:
/// `passes::fuse_ops{.groups = &kernel_groups_for}`.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups_for(any_graph const& g, target const& machine);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/fuse.hpp>
#include <gsub/lower/impl/decision_notes.ipp>
#include <gsub/lower/impl/fusion.ipp>
#endif
