// A roofline over the kernels that a graph becomes, in place of its operators.
#pragma once

#include <gsub/cost/analytic.hpp>

namespace gsub::cost {

/// The operand whose kernel computes a node in passing, as it stores its results; invalid where the node is a kernel's
/// first operator. It is an operand of the result's shape that nobody else reads, made by a kernel, and read by an
/// elementwise operator; of several the one that took most arithmetic, then most memory. A kernel is thus a chain:
/// any operator, then elementwise ones. *Complexity* O(operands).
[[nodiscard]] value_id fused_operand(any_graph const& g, node_id n, split_cost splits = split_cost::free);

/// The last operator of the kernel that a node belongs to. *Complexity* O(length of the chain).
[[nodiscard]] node_id last_of_kernel(any_graph const& g, node_id n, split_cost splits = split_cost::free);

/// Time of a kernel = launch + max(FLOP / rate, bytes / rate), as `roofline`, but of all operators that are computed
/// together: what one hands to the next moves no bytes. The price stands at the kernel's last operator; the others cost
/// nothing. A kernel is a chain (`fused_operand`): values that two of its operators read are stored.
struct fused_roofline {
    using unit = gsub::seconds;
    static constexpr bool concurrent = true;
    roofline machine{};

    /// Where the price of a node's kernel stands.
    [[nodiscard]] node_id bearer(any_graph const& g, node_id n) const { return last_of_kernel(g, n, machine.splits); }
    unit operator()(any_graph const& g, node_id n) const;
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const { return hasher{}.add("kernels").add(machine.parameters()).finish(); }
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/fused.ipp>
#endif
