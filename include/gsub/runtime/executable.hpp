// executable: a program with its kernels loaded, which runs as often as wanted, from as many threads as wanted.
#pragma once

#include <gsub/runtime/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gsub::runtime {

/// Profile of a step.
struct step_profile {
    std::string name;
    std::string kind;       ///< `kind_of` the step, to be shown
    double seconds = 0;     ///< median of the runs measured
    double operations = 0;  ///< floating-point, of one run
    bool reference = false; ///< the reference evaluator computes it
};

/// Run context: memory of one run: the arena, and the addresses of every step's buffers. A context serves one run at a
/// time; concurrent runs have one each.
class run_context;
class device;

/// Executable, as `build` makes it. Copies share program and kernels.
class executable {
public:
    /// Plans the arena. Descriptors of kernels stay with their calls; texts and IR are dropped. *Requires* a loaded
    /// kernel for each of the program, and all values on the host.
    GSUB_LAZY executable(program p, std::vector<loaded_kernel> kernels);
    /// Compiles the kernels for a device and uploads the constants that they read. Steps that are no generated kernels
    /// run on the host, between them values move. *Requires* the IR of each kernel. *Errors* throws those of the
    /// device.
    GSUB_LAZY executable(std::shared_ptr<device> on, program p, jit_options const& how = {});

    [[nodiscard]] std::span<tensor_type const> inputs() const noexcept;
    /// Types of the outputs: static, but for sizes that data decide.
    [[nodiscard]] std::span<tensor_type const> outputs() const noexcept;
    [[nodiscard]] std::span<std::string const> output_names() const noexcept;
    [[nodiscard]] std::span<program_step const> steps() const noexcept;
    /// The device that runs its kernels; null: the host.
    [[nodiscard]] device const* on() const noexcept;
    /// Whether a step runs on the device; false for all steps where there is none.
    [[nodiscard]] bool on_device(std::size_t step) const noexcept;
    /// Size of the arena of a run, and of the constants that the steps read, in bytes.
    [[nodiscard]] std::size_t arena_bytes() const noexcept;
    [[nodiscard]] std::size_t constant_bytes() const noexcept;

    GSUB_LAZY [[nodiscard]] run_context make_context() const;
    /// Makes tensors for the outputs of a run; one without elements where data decide its sizes.
    GSUB_LAZY [[nodiscard]] std::vector<tensor> make_outputs() const;
    /// Runs the program: computes the outputs into memory of the caller; an output whose sizes data decide becomes a
    /// new tensor, whatever was given. *Errors* `usage` where the number, a type or a size differs from the signature,
    /// or where an output overlaps an input; then nothing has run. Steps of generated kernels neither allocate nor
    /// lock; those of the reference runtime do.
    GSUB_LAZY [[nodiscard]] result<void> run(run_context& context, std::span<tensor const> inputs,
                                             std::span<tensor> outputs, executor& threads) const;
    /// Runs the program with a context of its own, which the next such run takes over, and new tensors. null: the
    /// calling thread alone.
    GSUB_LAZY [[nodiscard]] result<std::vector<tensor>> run(std::span<tensor const> inputs,
                                                            executor* threads = nullptr) const;
    /// Profiles the program: runs it `runs` times and times each step, in the order of `steps`. *Errors* as `run`.
    GSUB_LAZY [[nodiscard]] result<std::vector<step_profile>> profile(std::span<tensor const> inputs, executor& threads,
                                                                      std::size_t runs = 10) const;

private:
    friend class run_context;
    struct state;
    struct planned;
    std::shared_ptr<state const> state_;
};

class run_context {
public:
    run_context(run_context&&) noexcept;
    run_context& operator=(run_context&&) noexcept;
    ~run_context();

private:
    friend class executable;
    struct memory;
    explicit run_context(std::unique_ptr<memory> m) noexcept;
    std::unique_ptr<memory> memory_;
};

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/executable.ipp>
#endif
