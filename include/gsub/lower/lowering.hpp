// lowering: the trait that lowers an operator to its kernel, one row an operator.
#pragma once

#include <gsub/ir/ops/op.hpp>
#include <gsub/lower/kernel_builder.hpp>

#include <concepts>

namespace gsub {

/// Values that stand for the results of a node, one each; none: the node stays.
using legal_values = small_vector<value_id, 3>;

/// Lowering trait: how an operator that is no expression of elements becomes a kernel.
/// - `static bool lower(kernel_builder& b, node_id n)` adds a kernel that computes `n`, or adds nothing and returns
///   false; then the operator is tried as an expression of elements (`scalar_lowering<Op>`), and at last is computed by
///   the reference evaluator. What kernels compute is a descriptor, or a tensor expression with a schedule of its own
///   (`custom_kernel`).
/// - `static kernel_group match(fusion_scope const& s, node_id n)`, where the kernel takes operators behind `n`: `n`
///   and those, or nothing where there is no kernel for `n`. It takes what is free in the scope, expressions of
///   elements or the only reader of a value, and `lower` adds what it matched. Without it the operator is alone.
/// - `static legal_values legalize(any_graph& g, node_id n)`, where kernels compute no form of the operator, or not
///   this one, but other operators that give the same: adds these to the graph and gives what stands for the results.
///   Types of `n` are static and row-major. With it `lower` may be missing.
template <class Op>
struct lowering;

/// The row of an operator in the table of `lowering`.
struct lowering_row {
    /// Null where an operator has no row.
    bool (*lower)(kernel_builder&, node_id) = nullptr;
    /// Null where its kernel takes no other operator.
    kernel_group (*match)(fusion_scope const&, node_id) = nullptr;
    /// Null where no other operators stand for it.
    legal_values (*legalize)(any_graph&, node_id) = nullptr;

    template <operation Op>
    static constexpr lowering_row of() noexcept {
        lowering_row row;
        constexpr auto legalizes = requires(any_graph & g, node_id n) {
            { lowering<Op>::legalize(g, n) } -> std::same_as<legal_values>;
        };
        if constexpr (legalizes) row.legalize = [](any_graph& g, node_id n) { return lowering<Op>::legalize(g, n); };
        if constexpr (requires(kernel_builder & b, node_id n) {
                          { lowering<Op>::lower(b, n) } -> std::same_as<bool>;
                      })
            row.lower = [](kernel_builder& b, node_id n) { return lowering<Op>::lower(b, n); };
        else
            static_assert(!specialised<lowering<Op>> || legalizes,
                          "lowering<Op> has no `static bool lower(kernel_builder&, node_id)`, and no `static "
                          "legal_values legalize(any_graph&, node_id)`");
        if constexpr (requires(fusion_scope const& s, node_id n) {
                          { lowering<Op>::match(s, n) } -> std::same_as<kernel_group>;
                      })
            row.match = [](fusion_scope const& s, node_id n) { return lowering<Op>::match(s, n); };
        return row;
    }
};

} // namespace gsub
