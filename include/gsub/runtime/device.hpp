// device: memory and kernels of an accelerator beside the host. Executables made for one keep their values there, and
// run on the host what has no kernel.
#pragma once

#include <gsub/core/interface.hpp>
#include <gsub/core/result.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/runtime/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub {
struct gpu;
}

namespace gsub::runtime {

/// Address in a device's memory: an allocation, and a byte in it.
struct device_address {
    std::uintptr_t memory = 0;
    std::size_t offset = 0;
    [[nodiscard]] device_address operator+(std::size_t bytes) const noexcept { return {memory, offset + bytes}; }
};

/// Strided copy in a device's memory: `size` bytes, `times` over, from places a step apart to such places.
struct device_copy {
    device_address from{}, to{};
    std::size_t from_step = 0, to_step = 0;
    std::size_t size = 0;
    std::int64_t times = 1;
};

/// Kernel of a device, loaded. It does not outlive its device.
class device_kernel : public interface {};

/// Device: what runs kernels whose lanes are threads (`codegen::thread_group`). Work is done in the order in which it
/// is asked for; only `download` and `finish` wait. Several threads may use one device. *Errors* all throw `error`:
/// `errors::device_failed` naming the device and what it said, `errors::device_memory` where it has too little.
class device : public interface {
public:
    /// As it is asked for, and what it calls itself: `opencl:0`, `NVIDIA H200`.
    [[nodiscard]] virtual std::string_view id() const noexcept = 0;
    [[nodiscard]] virtual std::string_view title() const noexcept = 0;
    /// The row of the table of GPUs that predicts its times best; null for what is none.
    [[nodiscard]] virtual gpu const* model() const noexcept { return nullptr; }

    /// Allocates memory of at least one byte, aligned to 64 bytes; contents are unknown.
    [[nodiscard]] virtual std::uintptr_t allocate(std::size_t bytes) = 0;
    virtual void release(std::uintptr_t memory) noexcept = 0;

    /// Copies to the device; `from` may be changed as soon as it returns. Copies from it, behind all work so far.
    virtual void upload(device_address to, std::span<std::byte const> from) = 0;
    virtual void download(std::span<std::byte> to, device_address from) = 0;
    virtual void copy(device_copy const& what) = 0;
    virtual void fill_with_zeros(device_address at, std::size_t bytes) = 0;

    /// Compiles kernels from their IR, in order; several at a time, and kept on disk, where the driver allows both.
    /// *Errors* name the kernel and have what the compiler said.
    [[nodiscard]] virtual std::vector<std::shared_ptr<device_kernel>> load(std::span<program_kernel const> kernels,
                                                                           jit_options const& how) = 0;
    /// Starts a kernel on addresses of its buffers that are no workspace, over all of its positions.
    virtual void launch(device_kernel const& k, std::span<device_address const> buffers, std::int64_t positions) = 0;
    /// Waits for all work so far.
    virtual void finish() = 0;
};

/// Memory of a device, released when it goes.
class device_memory {
public:
    device_memory() = default;
    device_memory(std::shared_ptr<device> on, std::size_t bytes)
        : on_(std::move(on)), memory_(on_->allocate(bytes > 0 ? bytes : 1)) {}
    device_memory(device_memory&& other) noexcept
        : on_(std::move(other.on_)), memory_(std::exchange(other.memory_, 0)) {}
    device_memory& operator=(device_memory&& other) noexcept {
        std::swap(on_, other.on_), std::swap(memory_, other.memory_);
        return *this;
    }
    ~device_memory() {
        if (on_) on_->release(memory_);
    }
    [[nodiscard]] device_address address() const noexcept { return {memory_, 0}; }

private:
    std::shared_ptr<device> on_;
    std::uintptr_t memory_ = 0;
};

/// Opens a device by its name: `cuda:N`, a GPU by its number; `opencl:N`, the one of this number of all that OpenCL's
/// platforms have, in their order.
/// *Errors* `usage` for another text; `environment` where there is no such device, telling what is missing.
GSUB_LAZY [[nodiscard]] result<std::shared_ptr<device>> open_device(std::string_view id);

/// Devices that can be opened, by their names, and reasons why others cannot: one a kind that is missing.
struct device_listing {
    std::vector<std::pair<std::string, std::string>> devices; ///< id and title
    std::vector<std::string> missing;
};
GSUB_LAZY [[nodiscard]] device_listing list_devices();

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/device.ipp>
#endif
