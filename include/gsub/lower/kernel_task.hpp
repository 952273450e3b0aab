// kernel_task: the distinct kernels of a network, which need schedules.
#pragma once

#include <gsub/kernels/descriptor.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gsub {

/// Tuning task: a descriptor, and the kernels of a graph that have it and share its schedule.
struct kernel_task {
    kernels::descriptor what;
    std::size_t kernels = 0; ///< that have it
    double operations = 0;   ///< floating-point, of one
    double bytes = 0;        ///< of its operands and results, each once
    std::shared_ptr<loop::config_space const> space{};
    std::optional<loop::configuration> schedule{}; ///< that the graph has, a point of the space
};

/// The tasks of a scheduled graph, in the order of their first kernels. Kernels of the application are not among them.
/// *Requires* stage `scheduled`. *Complexity* O(kernels).
GSUB_LAZY [[nodiscard]] std::vector<kernel_task> tasks_of(kernel_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/kernel_task.ipp>
#endif
