// fusion_scope: the scope in which a kernel matches the operators that it takes.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/target/isa.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gsub {

struct lowering_row;
struct scalar_row;

/// Fusion rules: the kernels that exist, and other limits of groups.
struct fusion_rules {
    gsub::isa const* isa = nullptr;        ///< what kernels are generated for
    std::span<lowering_row const> rows{};  ///< of the graph's operators
    std::span<scalar_row const> scalars{}; ///< the same
    bool generate = true;                  ///< false: every operator is alone
    bool group = true;                     ///< false: no two operators share a kernel
    /// By node id, the group of a pass that an operator is in, 0 for none: no kernel shares operators of two groups,
    /// and those without one are alone. Empty: kernels take what they can compute.
    std::span<std::uint32_t const> within{};
    /// Whether the graph has been through the layout pass. If not, groups are those that it will have afterwards.
    bool laid_out = false;
};

/// Scope of fusion: a graph, and what a kernel may take of it behind its first operator. A `lowering` row matches in
/// it, when groups are made and again when the kernel is added.
class fusion_scope {
public:
    fusion_scope(any_graph const& g, fusion_rules const& rules) : g_(g), rules_(&rules) {}
    fusion_scope(fusion_scope const&) = delete;
    fusion_scope& operator=(fusion_scope const&) = delete;
    virtual ~fusion_scope() = default;

    [[nodiscard]] any_graph const& graph() const noexcept { return g_; }
    [[nodiscard]] fusion_rules const& rules() const noexcept { return *rules_; }
    [[nodiscard]] gsub::isa const& isa() const noexcept { return *rules_->isa; }
    [[nodiscard]] tensor_type const& type(value_id v) const { return g_.type(v); }

    /// Whether an operator may join the kernel.
    [[nodiscard]] virtual bool is_free(node_id n) const = 0;
    /// Whether a value that the kernel does not compute exists when the kernel runs.
    [[nodiscard]] virtual bool is_there(value_id v) const = 0;
    /// Whether a value lies in blocks of channels.
    [[nodiscard]] virtual bool in_blocks(value_id v) const = 0;
    /// The only reader of a value, if it may join the kernel and has one result.
    [[nodiscard]] std::optional<node_id> only_reader(value_id v) const {
        if (g_.use_count(v) != 1) return std::nullopt;
        auto reader = g_.return_node();
        g_.for_each_use(v, [&](use u) { reader = u.user; });
        if (reader == g_.return_node() || !is_free(reader) || g_.result_count(reader) != 1) return std::nullopt;
        return reader;
    }

private:
    any_graph const& g_;
    fusion_rules const* rules_;
};

/// Kernel group: operators that one kernel computes, in the graph's order; the first leads, the others follow from it.
using kernel_group = std::vector<node_id>;

} // namespace gsub
