// kernel_timer: builds candidates of a task and times them in turns, as a network would run them.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/runtime/program.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gsub::tune {

/// What a timer does with candidates: it makes their kernels, in memory or by the compiler, and runs them.
enum class timing_phase : std::uint8_t { lower, emit, compile, run };
/// Stands for all candidates that are measured together, and for the untuned one as a timer is constructed.
inline constexpr auto every_candidate = static_cast<std::size_t>(-1);

/// Options of timing kernels.
struct timing_options {
    std::size_t rounds = 7;       ///< each runs every candidate once, in turns; at least 1
    std::size_t most_rounds = 60; ///< short kernels run so often
    double least_seconds = 2e-3;  ///< that a candidate runs in all, within `most_rounds`
    /// Bytes that are read between two runs, so that weights lie where a network finds them, behind the second cache.
    /// Activations are read again before each run, as they have just been written. 0: nothing is evicted.
    std::size_t evict_bytes = std::size_t{2} << 20;
    bool weights_in_memory = false; ///< weights are flushed from all caches too, where the processor has that
    double tolerance = 2e-2;        ///< greatest difference of a result, by the greatest magnitude of what it should be
    std::uint64_t seed = 1;         ///< of the activations
    std::size_t most_bytes = std::size_t{512} << 20; ///< of constants that are built at once
    executor* threads = nullptr;                     ///< run the kernels; null: the calling thread
    runtime::kernel_emitter emitter = nullptr;       ///< null: all are compiled
    std::string compiler{};                          ///< as `runtime::find_compiler` takes it
    runtime::jit_options jit{};                      ///< of what is compiled
    /// Told before each step, outside of what is timed: what is done next, and with which of the candidates that are
    /// measured, or `every_candidate`.
    std::function<void(timing_phase, std::size_t)> on_step{};
};

/// Timer of a task's candidates. The results of the untuned one are what those of all others are compared with. Each
/// candidate is emitted as a network's kernel is, with its weights packed, and runs in a `runtime::executable`. The
/// cost of a measurement is the median of the rounds. *Errors* throws `error`: of construction, what building the
/// untuned kernel gives; `internal` for a fault of the emitter. A kernel that crashes ends the process, and one that
/// hangs never returns: `isolated_timer` outlives both.
class kernel_timer {
public:
    GSUB_LAZY kernel_timer(tuning_task const& task, isa const& isa, timing_options const& options = {});

    /// Measures candidates in turns, so that what disturbs the machine disturbs all. What cannot be made or compiled,
    /// or gives other numbers, is measured as failed. `longer`: how many times as long as the options say. *Complexity*
    /// a build of each candidate, then rounds of all.
    GSUB_LAZY [[nodiscard]] std::vector<measurement> measure(std::span<candidate const> candidates,
                                                             std::size_t longer = 1) const;

private:
    struct trial;
    struct state;
    GSUB_LAZY [[nodiscard]] std::vector<trial> build(std::span<candidate const> candidates, std::size_t first) const;
    std::shared_ptr<state> state_;
};

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/kernel_timer.ipp>
#endif
