// AlterOpLayout: stores activations in the layouts that kernels want.
#pragma once

#include <gsub/ir/types/blocked_layout.hpp>
#include <gsub/passes/pass.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::passes {

/// Layout query: an operator application for which a layout may be chosen.
struct layout_query {
    op_info const& op;
    attributes_id attributes_of_op;
    std::span<type_id const> operands; ///< as they were before the pass; the type of nothing for one left out
    type_id result;                    ///< of the first result
    gsub::target const& machine;
    any_graph const& graph; ///< as it was before the pass
    node_id node{};

    template <operation Op>
    [[nodiscard]] bool is() const noexcept {
        return op.id == id_of<Op>;
    }
    /// *Requires* `is<Op>()`.
    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes() const {
        GSUB_ASSERT(is<Op>(), "attributes<Op>() of a question about another operator");
        static attributes_of<Op> const defaults{};
        auto const* typed = static_cast<attributes_of<Op> const*>(attributes_of_op.typed());
        return typed ? *typed : defaults;
    }
};

/// Operator replacement: adds operators that replace one with these operands, and returns their results.
using operator_replacement = std::function<std::vector<value_id>(any_graph&, std::span<value_id const>)>;

/// Desired layout of an operator.
struct desired_layout {
    layout stored{}; ///< of the data operand and of all results; empty: row-major
    /// Whether the operator's kernel also reads a row-major data operand directly: the layout transform before it stays
    /// in the graph, but costs nothing.
    bool reads_row_major = false;
    /// Replacement of the operator: results of the same types except layouts, from the operator's operands in `stored`.
    /// Empty: the operator stays.
    operator_replacement replace{};

    desired_layout() = default;
    desired_layout(layout as, bool reads = false) : stored(as), reads_row_major(reads) {} // NOLINT: a layout is one
};

/// Layout hook: returns the layout desired for the data operand and results of an operator, or nothing where the
/// operator may follow its operands. May consult a cost model.
template <class H>
concept layout_hook = requires(H const& hook, layout_query const& q) {
    { hook(q) } -> std::convertible_to<std::optional<desired_layout>>;
};
/// Layout cost model: the cost of a layout transform of a value of a static type, in any additive unit.
template <class C>
concept layout_cost_model = requires(C const& cost, tensor_type const& type, layout l) {
    { cost(type, l, l) } -> std::convertible_to<std::uint64_t>;
};
/// Whether any value of a graph has a layout. *Complexity* O(n).
GSUB_LAZY [[nodiscard]] bool names_layouts(any_graph const& g);

/// Bytes that a layout transform reads and writes, block padding included. *Requires* a static type and layouts that
/// fit it.
GSUB_LAZY [[nodiscard]] std::uint64_t conversion_traffic(tensor_type const& type, layout from, layout to);
/// Layout cost model of `conversion_traffic`.
struct traffic_of_conversions {
    std::uint64_t operator()(tensor_type const& type, layout from, layout to) const {
        return conversion_traffic(type, from, to);
    }
};

namespace detail {
using layout_hook_ref = function_ref<std::optional<desired_layout>(layout_query const&)>;
using layout_cost = function_ref<std::uint64_t(tensor_type const&, layout, layout)>;
struct laid_out_graph {
    any_graph graph;
    std::vector<node_id> came_from; ///< by new node id, the old one; none of layout transforms
};
GSUB_LAZY [[nodiscard]] laid_out_graph lay_out_graph(any_graph const& g, target const& machine, layout_hook_ref hook,
                                                     layout_cost cost, pass_outcome& outcome);
GSUB_LAZY [[nodiscard]] pass_outcome alter_layouts(any_graph& g, pass_context& cx, layout_hook_ref hook,
                                                   layout_cost cost);
} // namespace detail

/// A graph with the layouts that `alter_op_layout` chooses.
using laid_out_graph = detail::laid_out_graph;
/// Lays out a copy of a graph as that pass, with the mapping to its old nodes. *Errors* those of the pass.
template <layout_hook Hook, layout_cost_model Cost = traffic_of_conversions>
[[nodiscard]] laid_out_graph lay_out_graph(any_graph const& g, target const& machine, Hook const& hook,
                                           Cost const& cost = {}) {
    pass_outcome outcome;
    return detail::lay_out_graph(g, machine, hook, cost, outcome);
}

/// Chooses a layout for each value, and inserts layout transforms. Asks the hook for each operator that reads layouts
/// besides row-major (`op_info::layouts`) and has static shapes. Operators without a desired layout follow their
/// operands, in the layouts that minimise the total cost of layout transforms: exactly where the hook names one layout
/// besides row-major, otherwise by a heuristic in which one layout after the other takes what it makes cheaper. On a
/// tie, the layout reaches as far as it can. `ops::layout_transform` stands where layouts meet: at operators that read
/// only row-major values, at opaque nodes and calls, at outputs, at a concat whose parts are no full blocks. Each
/// (value, layout) is made once; layout transforms already in the graph are decided anew. Operands that broadcast stay
/// as they are, and so do weights, which kernels pack themselves, logical dimensions, attributes and all numbers.
/// Outcome: `matches` counts the nodes that have the layout desired. *Errors* `usage` where the hook wants a layout
/// that the operand cannot have. *Complexity* a maximum flow through the graph for each layout desired. *Source* TVM's
/// AlterOpLayout; the choice as a cut: Boykov, Veksler, Zabih, "Fast approximate energy minimization via graph cuts",
/// 2001.
template <layout_hook Hook, layout_cost_model Cost = traffic_of_conversions>
struct alter_op_layout {
    Hook hook;
    Cost cost{};

    static constexpr auto facts =
        pass_facts("alter-op-layout", exactness::bit_exact, "stores values in the layouts that a hook asks for",
                   {.tvm_name = "AlterOpLayout", .level = 3, .classes = {"BL", "RN", "MN", "SSD", "BR"}});
    result<pass_outcome> operator()(any_graph& g, pass_context& cx) const {
        return capture([&] { return detail::alter_layouts(g, cx, hook, cost); });
    }
};
template <class Hook>
alter_op_layout(Hook) -> alter_op_layout<Hook>;
template <class Hook, class Cost>
alter_op_layout(Hook, Cost) -> alter_op_layout<Hook, Cost>;

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/layout/impl/alter_op_layout.ipp>
#include <gsub/passes/layout/impl/layout_choice.ipp>
#endif
