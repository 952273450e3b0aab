// Isolated timer: builds and times candidates in a process of its own, which may crash or hang without harm.
#pragma once

#include <gsub/target/isa.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/kernel_timer.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace gsub::tune {

/// Options of isolation.
struct isolation_options {
    /// How long a worker may take for a step: to emit a kernel, to lower one, to run one. A compiler has
    /// `runtime::jit_options::timeout_s` for each kernel beside it. Above 0.
    double timeout_seconds = 10;
};

/// What has become of an isolated timer's workers.
struct isolation_statistics {
    std::size_t begun = 0;   ///< processes in all
    std::size_t crashed = 0; ///< that died
    std::size_t late = 0;    ///< that were killed since a step took too long
    friend bool operator==(isolation_statistics const&, isolation_statistics const&) = default;
};

namespace detail {
template <class = void>
class timing_process;
}

/// Isolated timer: a `kernel_timer` in a worker process, a copy of this one by `fork`, which shares the weights with it
/// and has a thread pool of its own, with as many threads as `timing_options::threads` has. The worker says in shared
/// memory what it is about to do. One that dies, or that takes too long for a step, is replaced; the candidate that it
/// had in hand is tried again alone, and the others together. So only a candidate that fails twice is measured as
/// failed, by AutoTVM's numbers: `runtime_device` where it crashed and `run_timeout` where it hung as it ran,
/// `compile_host` and `build_timeout` as it was built. Where workers are lost but no candidate alone does it, each gets
/// its time alone. Where the untuned kernel itself is what fails, it is measured so, and all others as `unknown`: there
/// is nothing to compare them with.
///
/// *Requires* that no other thread of this process holds a lock that building and running a kernel takes, as workers
/// begin: in construction and in `measure`. The task, the instruction set and the emitter outlive the timer;
/// `jit_options::observe` and `on_step` are not called. Workers ignore SIGINT, which is for this process to answer, and
/// end when this process or, on Linux, the thread that measures does. They leave neither a process nor a descriptor.
/// Not for several threads at once. *Errors* throws `error`: what `kernel_timer` throws in the worker; `environment`
/// where the system gives no process. *Complexity* a fork for each timer and two for each candidate that fails, with a
/// build of the untuned kernel each.
class isolated_timer {
public:
    GSUB_LAZY isolated_timer(tuning_task const& task, isa const& isa, timing_options const& options = {},
                             isolation_options const& isolation = {});

    /// As `kernel_timer::measure`.
    GSUB_LAZY [[nodiscard]] std::vector<measurement> measure(std::span<candidate const> candidates,
                                                             std::size_t longer = 1) const;
    GSUB_LAZY [[nodiscard]] isolation_statistics statistics() const noexcept;

private:
    std::shared_ptr<detail::timing_process<>> process_;
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/isolated_timer.ipp>
#endif
