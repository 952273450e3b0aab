// Fusion: which operators one kernel computes. The one place that decides it.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/lower/fusion_scope.hpp>
#include <gsub/target/target.hpp>

#include <optional>
#include <span>
#include <vector>

namespace gsub {

/// gsub's own rows, where the graph has its operators, and none otherwise.
GSUB_LAZY [[nodiscard]] fusion_rules fusion_rules_of(any_graph const& g, isa const& set);

/// The groups of a graph, in an order in which their kernels can run. Every operator that an output needs is in one:
/// alone, or led by an operator whose row takes others behind it (`lowering<Op>::match`), or in an expression of
/// elements and reductions (`scalar_lowering<Op>`). Leaders come first, in the graph's order, and take what they can;
/// then expressions. A group has one value that is read outside of it, or reads nothing that stands behind its first
/// operator: so no two groups wait for each other.
///
/// With `around`, those groups alone that may differ where these nodes are new, read other values, or have lost or
/// gained a reader: what a search asks behind each rewrite. Weights are known by their types, never by their elements:
/// a kernel that cannot take a factor that overflows has several steps for its group.
///
/// *Requires* that all of `rules` outlives the call. *Complexity* O(n + e) and, for expressions, O(m) steps each for
/// groups of m <= 32 operators; with `around`, of that neighbourhood, and O(n) bytes cleared.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules);
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups(any_graph const& g, fusion_rules const& rules,
                                                                std::span<node_id const> around);

/// Whether a node moves nothing: its results are views of what is stored, or pieces of it, which readers take by
/// strides where they can.
GSUB_LAZY [[nodiscard]] bool is_stored_view(any_graph const& g, node_id n);

/// Calls `f` for each of these groups, in their order, with the scope in which they were made: it tells how values of a
/// graph that is not laid out yet will lie. `around` as above, or nothing: all groups.
GSUB_LAZY void each_kernel_group(any_graph const& g, fusion_rules const& rules,
                                 std::optional<std::span<node_id const>> around,
                                 function_ref<void(kernel_group const&, fusion_scope const&)> f);

/// The same for a caller who knows the groups of some regions: `known` is asked first, of all operators that take part
/// in the graph's order. Where it says yes no groups are made.
GSUB_LAZY void each_kernel_group(any_graph const& g, fusion_rules const& rules, std::span<node_id const> around,
                                 function_ref<bool(std::span<node_id const>, fusion_scope const&)> known,
                                 function_ref<void(kernel_group const&, fusion_scope const&)> f);

/// The same for gsub's own kernels on a machine: `passes::fuse_ops{.groups = &kernel_groups_for}`.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups_for(any_graph const& g, target const& machine);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/fuse.hpp>
#include <gsub/lower/impl/fusion.ipp>
#endif
