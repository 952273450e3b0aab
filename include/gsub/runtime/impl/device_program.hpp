// device_program: the steps of a program on a device, and what moves between it and the host around them.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/runtime/device.hpp>
#include <gsub/runtime/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gsub::runtime::detail {

/// Whether a step runs on a device: those of generated kernels do, and copies between values of known sizes.
GSUB_LAZY [[nodiscard]] bool runs_on_device(program const& p, program_step const& s);

/// Moves of whole values between host and device, decided once: a value moves before a step of the other side that
/// reads it, or writes a part of it.
struct device_transfers {
    struct transfer {
        std::int32_t value = 0; ///< whole
        bool to_device = false;
    };
    std::vector<std::vector<transfer>> before; ///< each step
    std::vector<transfer> at_end;              ///< results
};
/// *Complexity* linear in the values of all steps.
GSUB_LAZY [[nodiscard]] device_transfers transfers_of(program const& p);

/// The kernels of a program; those to which some step gives a piece that does not begin at a multiple of 16 bytes are
/// told so (`codegen::kernel::aligned`).
GSUB_LAZY [[nodiscard]] std::vector<program_kernel> kernels_for_device(program const& p, arena_plan const& plan);

/// Program on a device: its kernels, and the constants that they read.
class device_program {
public:
    /// Compiles and uploads. The program outlives it; its kernels are needed here alone.
    GSUB_LAZY device_program(program const& p, arena_plan const& plan, std::shared_ptr<device> on,
                             jit_options const& how);

    /// Memory of one run.
    struct memory {
        device_memory arena, statuses;
        std::vector<device_memory> inputs, outputs;
    };
    GSUB_LAZY [[nodiscard]] std::unique_ptr<memory> make_memory() const;

    [[nodiscard]] bool on_device(std::size_t step) const { return on_device_[step] != 0; }
    [[nodiscard]] device& where() const { return *on_; }

    /// Begins a run.
    GSUB_LAZY void begin(memory const& m) const;
    /// Moves what step `i` needs. `host` gives the address of a whole value there.
    GSUB_LAZY void move_before(std::size_t i, memory const& m,
                               function_ref<std::span<std::byte>(std::int32_t)> host) const;
    /// Starts step `i`, which is the device's.
    GSUB_LAZY void start(std::size_t i, memory const& m) const;
    /// Ends a run: moves results and waits. *Errors* throws `errors::index_out_of_range` where a kernel met an integer
    /// that chooses nothing.
    GSUB_LAZY void end(memory const& m, function_ref<std::span<std::byte>(std::int32_t)> host) const;

private:
    GSUB_LAZY [[nodiscard]] device_address address(std::int32_t value, memory const& m) const;
    GSUB_LAZY void move(std::span<device_transfers::transfer const> what, memory const& m,
                        function_ref<std::span<std::byte>(std::int32_t)> host) const;

    program const& p_;
    std::shared_ptr<device> on_;
    std::vector<std::shared_ptr<device_kernel>> kernels_;
    std::vector<device_memory> constants_; // by whole value; empty for others
    std::vector<std::size_t> offsets_;     // in the arena
    std::vector<char> on_device_;          // of each step
    std::vector<std::size_t> status_of_;   // of each step that checks: its number among these
    std::size_t arena_ = 0, statuses_ = 0;
    device_transfers transfers_;
};

} // namespace gsub::runtime::detail

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/device_program.ipp>
#endif
