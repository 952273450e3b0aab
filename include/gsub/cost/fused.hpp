// `fused_roofline`: the roofline cost model over fused kernels in place of operators.
#pragma once

#include <gsub/cost/analytic.hpp>
#include <gsub/lower/fusion.hpp>

#include <span>
#include <vector>

namespace gsub::cost {

/// Roofline cost model of fused kernels: time = launch + max(FLOP / rate, bytes / rate), as `roofline`, over all
/// operators of a kernel; values between them move no bytes. Lowering makes the kernels (`kernel_groups`), by gsub's
/// own rows; operators of other sets are kernels of their own. The last operator of a kernel carries its cost. Groups
/// of views cost nothing. *Complexity* that of `kernel_groups`.
struct fused_roofline {
    using unit = gsub::seconds;
    static constexpr bool concurrent = true;
    roofline machine{};
    gsub::isa const* isa = &gsub::isa::avx512; ///< what kernels are generated for

    /// Cost of the operators of one kernel.
    GSUB_LAZY [[nodiscard]] unit of_group(any_graph const& g, std::span<node_id const> group) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> node_costs(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] grouped_costs remembered(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] std::vector<std::uint32_t> group_of_nodes(any_graph const& g) const;
    GSUB_LAZY [[nodiscard]] grouped_costs remembered(any_graph const& g, void const* memory,
                                                     changed_nodes const& changes) const;
    GSUB_LAZY [[nodiscard]] std::vector<node_cost> node_costs_near(any_graph const& g, void const* memory,
                                                                   changed_nodes const& changes) const;
    GSUB_LAZY [[nodiscard]] unit operator()(any_graph const& g) const;
    [[nodiscard]] hash128 parameters() const {
        return hasher{}.add("kernels").add(machine.parameters()).add(isa->name).finish();
    }
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/fused.ipp>
#include <gsub/cost/impl/group_costs.ipp>
#endif
