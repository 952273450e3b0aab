// schedule: the fourth pass of lowering: a schedule for each kernel, from a schedule source.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/kernel_graph.hpp>

#include <concepts>

namespace gsub {

/// Schedule source: `choose` gives a point of a kernel's config space on an instruction set. It must be allowed.
/// Everything else that it goes by (a machine's caches, records, a model) it has as members.
template <class S>
concept schedule_source = requires(S const& s, kernels::descriptor const& d, isa const& isa,
                                   loop::config_space const& space) {
    { s.choose(d, isa, space) } -> std::same_as<loop::configuration>;
};

/// Schedule source by counted cycles of registers, loads and tails. Measures nothing.
struct counting_heuristic {
    kernels::winograd_options winograd{};
    GSUB_LAZY [[nodiscard]] loop::configuration choose(kernels::descriptor const& d, isa const& isa,
                                                       loop::config_space const& space) const {
        return kernels::counted(d, isa, space, winograd);
    }
};
static_assert(schedule_source<counting_heuristic>);

/// Any schedule source, as a function.
using schedule_function =
    function_ref<loop::configuration(kernels::descriptor const&, isa const&, loop::config_space const&)>;

/// Schedules each kernel: asks the source; kernels of one descriptor get one schedule. A `custom_kernel` gets the first
/// point that its space allows. *Requires* stage `laid_out`. *Errors* `usage` naming the kernel, where the source
/// chooses what its space does not allow, and where that allows nothing; what the source throws. *Complexity* a call of
/// the source for each distinct descriptor with knobs.
GSUB_LAZY [[nodiscard]] result<kernel_graph> schedule(kernel_graph g, isa const& isa, schedule_function choose);
template <schedule_source S>
[[nodiscard]] result<kernel_graph> schedule(kernel_graph g, isa const& isa, S const& source) {
    return schedule(std::move(g), isa,
                    schedule_function{[&](kernels::descriptor const& d, gsub::isa const& on,
                                          loop::config_space const& space) { return source.choose(d, on, space); }});
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/schedule.ipp>
#endif
