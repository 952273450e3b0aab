// thread_pool: an executor whose threads stand ready between the kernels of a run.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/executor.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace gsub::runtime {

/// CPUs that this thread may use: those of its affinity mask, at most what the control group's quota pays for, rounded
/// up. At least 1.
[[nodiscard]] std::size_t available_cpus();

/// Thread pool options.
struct thread_pool_options {
    std::size_t threads = 0; ///< the caller included; 0: `available_cpus()`
    unsigned spin_us = 20;   ///< how long an idle thread spins before it sleeps, at most 20
    bool pin = false;        ///< each thread of the pool to one CPU of the affinity mask; the caller stays free
};

/// Thread pool with a fixed number of threads, the caller's included. Threads claim work items one after the other,
/// several at a time where there are many. Between calls they spin for `spin_us`, then sleep; they never spin where
/// there are more threads than available CPUs. They block all signals but faults and SIGPROF, so that handlers run on
/// the host's threads.
///
/// Safe to use from several threads: while a call is under way, any other call, nested ones included, runs serially on
/// its own thread. In the child of a fork every call runs serially. Where the system refuses threads, there are fewer.
class thread_pool final : public executor {
public:
    explicit thread_pool(thread_pool_options options = {});
    /// Joins the threads. *Requires* that no call is under way.
    ~thread_pool() override;

    [[nodiscard]] std::size_t concurrency() const noexcept override;
    /// Runs `body` on each work item. After an exception the items not yet begun are left out, and it is rethrown when
    /// the others are done. *Complexity* one atomic exchange a claim; no allocation and no lock.
    void parallel_for(std::size_t count, function_ref<void(std::size_t)> body) override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

namespace detail {

/// CPUs that the text of a `cpu.max` file pays for, rounded up; 0 where it sets no limit or is not understood.
[[nodiscard]] std::size_t quota_of(std::string_view cpu_max) noexcept;

} // namespace detail

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/cpu/impl/thread_pool.ipp>
#endif
