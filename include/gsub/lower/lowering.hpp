// lowering: the trait that lowers an operator to its kernel, one row an operator.
#pragma once

#include <gsub/ir/ops/op.hpp>
#include <gsub/lower/kernel_builder.hpp>

#include <concepts>

namespace gsub {

/// Lowering trait: how an operator that is no expression of elements becomes a kernel.
/// - `static bool lower(kernel_builder& b, node_id n)` adds a kernel that computes `n`, or adds nothing and returns
///   false; then the operator is tried as an expression of elements (`scalar_lowering<Op>`), and at last is computed by
///   the reference evaluator. What kernels compute is a descriptor, or a tensor expression with a schedule of its own
///   (`custom_kernel`).
/// - `static kernel_group match(fusion_scope const& s, node_id n)`, where the kernel takes operators behind `n`: `n`
///   and those, or nothing where there is no kernel for `n`. It takes what is free in the scope, expressions of
///   elements or the only reader of a value, and `lower` adds what it matched. Without it the operator is alone.
template <class Op>
struct lowering;

/// The row of an operator in the table of `lowering`.
struct lowering_row {
    /// Null where an operator has no row.
    bool (*lower)(kernel_builder&, node_id) = nullptr;
    /// Null where its kernel takes no other operator.
    kernel_group (*match)(fusion_scope const&, node_id) = nullptr;

    template <operation Op>
    static constexpr lowering_row of() noexcept {
        lowering_row row;
        if constexpr (requires(kernel_builder & b, node_id n) {
                          { lowering<Op>::lower(b, n) } -> std::same_as<bool>;
                      })
            row.lower = [](kernel_builder& b, node_id n) { return lowering<Op>::lower(b, n); };
        else
            static_assert(!specialised<lowering<Op>>,
                          "lowering<Op> has no `static bool lower(kernel_builder&, node_id)`");
        if constexpr (requires(fusion_scope const& s, node_id n) {
                          { lowering<Op>::match(s, n) } -> std::same_as<kernel_group>;
                      })
            row.match = [](fusion_scope const& s, node_id n) { return lowering<Op>::match(s, n); };
        return row;
    }
};

} // namespace gsub
