// A roofline over the kernels that a graph becomes, in place of its operators.
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/lower/fusion.hpp>

#include <span>
#include <vector>

namespace gsub::cost {

/// Time of a kernel = launch + max(FLOP / rate, bytes / rate), as `roofline`, but of all operators that are computed
/// together: what one hands to the next moves no bytes. Kernels are those that lowering makes (`kernel_groups`), by
/// gsub's own rows; operators of other sets are kernels of their own. The cost stands at the last operator of a
/// kernel. Groups of views cost nothing. *Complexity* that of `kernel_groups`.
struct fused_roofline {
    using unit = gsub::seconds;
    static constexpr bool concurrent = true;
    roofline machine{};
    gsub::isa const* isa = &gsub::isa::avx512; ///< what kernels are generated for

    /// Of operators that are one kernel.
    [[nodiscard]] unit of_group(any_graph const& g, std::span<node_id const> group) const;
    [[nodiscard]] std::vector<node_cost> node_costs(any_graph const& g) const;
    [[nodiscard]] grouped_costs remembered(any_graph const& g) const;
    [[nodiscard]] grouped_costs remembered(any_graph const& g, void const* memory, changed_nodes const& changes) const;
    [[nodiscard]] std::vector<node_cost> node_costs_near(any_graph const& g, void const* memory,
                                                         changed_nodes const& changes) const;
    [[nodiscard]] unit operator()(any_graph const& g) const;
    [[nodiscard]] hash128 parameters() const {
        return hasher{}.add("kernels").add(machine.parameters()).add(isa->name).finish();
    }
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/fused.ipp>
#endif
