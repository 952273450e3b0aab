// tuning_task: a kernel of a network to be tuned: the ways to compute it, and the kernel on its own, to be built and
// timed.
#pragma once

#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/winograd.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/target/isa.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gsub::tune {

/// Algorithm of a tuning task: a descriptor with the config space of its schedules.
struct task_algorithm {
    kernels::descriptor computes;
    std::shared_ptr<loop::config_space const> space{};
    loop::configuration counted; ///< what the counting heuristic gives
};

/// Candidate: a way to compute a task, an algorithm of it with a point of its space.
struct candidate {
    std::size_t algorithm = 0;
    std::uint64_t index = 0; ///< of the point
    friend auto operator<=>(candidate const&, candidate const&) = default;
};

/// Tuning task: kernels of a network that compute the same.
struct tuning_task {
    kernel_graph alone{};                     ///< the first of them, scheduled: its activations are inputs and outputs
    std::size_t kernels = 0;                  ///< how many there are
    double operations = 0;                    ///< floating-point, of one
    double weight_bytes = 0;                  ///< of all constants of the network
    candidate untuned{};                      ///< what the network has
    std::vector<task_algorithm> algorithms{}; ///< the direct one first

    /// The kernel with a candidate's algorithm and schedule.
    GSUB_LAZY [[nodiscard]] kernel_op with(candidate const& c) const;
    [[nodiscard]] kernels::descriptor const& what() const noexcept { return algorithms.front().computes; }
    [[nodiscard]] loop::configuration point(candidate const& c) const {
        return algorithms[c.algorithm].space->at(c.index);
    }
};

/// What a task computes, as a line: `kernels::to_string` of the direct algorithm's descriptor.
GSUB_LAZY [[nodiscard]] std::string to_string(tuning_task const& t);
/// Kind of a candidate's algorithm: `conv2d`, `winograd F4`, as `kernels::kind_of` has it.
GSUB_LAZY [[nodiscard]] std::string kind_of(tuning_task const& t, candidate const& c);

/// Options of `tuning_tasks_of`.
struct task_options {
    /// Algorithms of convolutions, and what their counted schedules go by.
    kernels::winograd_options winograd{};
    bool only_choices = true; ///< leaves out kernels with one way to be computed
};

/// The tasks of a scheduled graph, in the order of their first kernels: all with a choice of schedule or algorithm.
/// Kernels of the application are not among them. They share the graph's weights. *Requires* stage `scheduled`, for
/// the instruction set. *Complexity* O(kernels), and a config space for each algorithm of a task.
GSUB_LAZY [[nodiscard]] std::vector<tuning_task> tuning_tasks_of(kernel_graph const& g, isa const& isa,
                                                                 task_options const& options = {});

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/tuning_task.ipp>
#endif
