// Storing activations in the layouts that kernels want, with as few changes of layout as that takes.
#pragma once

#include <gsub/ir/blocked_layout.hpp>
#include <gsub/passes/pass.hpp>

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <utility>

namespace gsub::passes {

/// An application of an operator, for which a layout may be chosen.
struct layout_question {
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

/// Answers in which layout the data operand and the results of an operator are wanted: a layout, the row-major one
/// (`layout{}`), or nothing where the operator may follow its operands. May consult a cost model.
template <class H>
concept layout_hook = requires(H const& hook, layout_question const& q) {
    { hook(q) } -> std::same_as<std::optional<layout>>;
};

namespace detail {
GSUB_LAZY [[nodiscard]] pass_outcome alter_layouts(any_graph& g, pass_context& cx,
                                                   function_ref<std::optional<layout>(layout_question const&)> hook);
} // namespace detail

/// Asks the hook for each operator that reads other layouts than the row-major one (`op_info::layouts`) and has static
/// shapes, lets chosen layouts flow through operators without a wish, and puts `ops::layout_transform` where layouts
/// meet: at operators that read row-major values alone, at opaque nodes and calls, at outputs, at a concatenation whose
/// parts are no full blocks. Each (value, layout) is made once; changes of
/// layout that stand in the graph already are decided anew. Operands that broadcast stay as they are. Weights are
/// not touched: how a kernel packs them is its own business. Logical dimensions and attributes stay as they are, and so
/// do all numbers. Outcome: `matches` counts the nodes whose wish was granted.
/// *Errors* `usage` where the hook wants a layout that the operand cannot have.
/// *Source* TVM's AlterOpLayout.
template <layout_hook Hook>
struct alter_op_layout {
    Hook hook;

    static constexpr std::string_view name = "alter-op-layout";
    static constexpr std::string_view effect = "stores values in the layouts that a hook asks for";
    static constexpr auto exact = exactness::bit_exact;
    static constexpr int level = 3;
    static constexpr std::array<std::string_view, 5> classes{"BL", "RN", "MN", "SSD", "BR"};
    result<pass_outcome> operator()(any_graph& g, pass_context& cx) const {
        return capture([&] { return detail::alter_layouts(g, cx, hook); });
    }
};
template <class Hook>
alter_op_layout(Hook) -> alter_op_layout<Hook>;

} // namespace gsub::passes

#ifndef GSUB_COMPILED
#include <gsub/passes/impl/layout.ipp>
#endif
