// Fusion: which operators one kernel computes. The one place that decides it.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/target.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gsub {

struct lowering_row;
struct scalar_row;

/// What groups are made by: the kernels that there are, and what else bounds them.
struct fusion_rules {
    isa const* set = nullptr;              ///< what kernels are generated for
    std::span<lowering_row const> rows{};  ///< of the graph's operators
    std::span<scalar_row const> scalars{}; ///< the same
    std::span<node_id const> own{};        ///< computed by functions of the application; by id
    bool generate = true;                  ///< false: every operator is alone
    bool group = true;                     ///< the same, for kernels
    /// By node id, the group that an operator is in by a pass, 0 for none: kernels share no operators of two groups,
    /// and those without one are alone. Empty: nothing bounds kernels but what they can compute.
    std::span<std::uint32_t const> within{};
};
/// gsub's own rows, where the graph has its operators, and none otherwise.
GSUB_LAZY [[nodiscard]] fusion_rules fusion_rules_of(any_graph const& g, isa const& set);

/// A graph as a kernel sees it that takes operators behind its first one. What a `lowering` row matches is matched in
/// it, when groups are made and again when the kernel is added.
class fusion_scope {
public:
    fusion_scope(any_graph const& g, fusion_rules const& rules) : g_(g), rules_(&rules) {}
    fusion_scope(fusion_scope const&) = delete;
    fusion_scope& operator=(fusion_scope const&) = delete;
    virtual ~fusion_scope() = default;

    [[nodiscard]] any_graph const& graph() const noexcept { return g_; }
    [[nodiscard]] fusion_rules const& rules() const noexcept { return *rules_; }
    [[nodiscard]] isa const& set() const noexcept { return *rules_->set; }
    [[nodiscard]] tensor_type const& type(value_id v) const { return g_.type(v); }

    /// Whether an operator may join the kernel.
    [[nodiscard]] virtual bool is_free(node_id n) const = 0;
    /// Whether a value that the kernel does not compute is there by the time of the kernel.
    [[nodiscard]] virtual bool is_there(value_id v) const = 0;
    /// Whether a value is likely to lie in blocks of channels.
    [[nodiscard]] virtual bool in_blocks(value_id v) const = 0;
    /// The only reader of a value, if it may join the kernel and has one result.
    GSUB_LAZY [[nodiscard]] std::optional<node_id> only_reader(value_id v) const;

private:
    any_graph const& g_;
    fusion_rules const* rules_;
};

/// Operators that one kernel computes: the first one leads it, all others follow from it; in the graph's order.
using kernel_group = std::vector<node_id>;

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

/// The same for gsub's own kernels on a machine: `passes::fuse_ops{.groups = &kernel_groups_for}`.
GSUB_LAZY [[nodiscard]] std::vector<kernel_group> kernel_groups_for(any_graph const& g, target const& machine);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/fusion.ipp>
#endif
