// opencl_api: the functions of OpenCL 1.2 that a device takes, found in its library at run time.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/runtime/impl/shared_library.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gsub::runtime::detail {

/// Handles and numbers as OpenCL's ABI has them.
namespace cl {
using platform = struct platform_object*;
using device = struct device_object*;
using context = struct context_object*;
using queue = struct queue_object*;
using memory = struct memory_object*;
using program = struct program_object*;
using kernel = struct kernel_object*;
using event = struct event_object*;

inline constexpr std::int32_t success = 0, device_not_found = -1, memory_failure = -4, host_memory_failure = -6,
                              build_failure = -11;
inline constexpr std::uint64_t every_type = 0xffffffff, read_write = 1, correctly_rounded = 1 << 7;
inline constexpr std::uint32_t device_name = 0x102b, device_version = 0x102f, local_memory_bytes = 0x1023,
                               compute_units = 0x1002, largest_group = 0x1004, single_config = 0x101b,
                               build_log = 0x1183;
} // namespace cl

struct opencl_api {
    std::int32_t (*platforms)(std::uint32_t, cl::platform*, std::uint32_t*);
    std::int32_t (*devices)(cl::platform, std::uint64_t, std::uint32_t, cl::device*, std::uint32_t*);
    std::int32_t (*device_info)(cl::device, std::uint32_t, std::size_t, void*, std::size_t*);
    cl::context (*create_context)(std::intptr_t const*, std::uint32_t, cl::device const*, void (*)(), void*,
                                  std::int32_t*);
    std::int32_t (*release_context)(cl::context);
    cl::queue (*create_queue)(cl::context, cl::device, std::uint64_t, std::int32_t*);
    std::int32_t (*release_queue)(cl::queue);
    cl::memory (*create_buffer)(cl::context, std::uint64_t, std::size_t, void*, std::int32_t*);
    std::int32_t (*release_memory)(cl::memory);
    cl::program (*create_program)(cl::context, std::uint32_t, char const**, std::size_t const*, std::int32_t*);
    std::int32_t (*build_program)(cl::program, std::uint32_t, cl::device const*, char const*, void (*)(), void*);
    std::int32_t (*build_info)(cl::program, cl::device, std::uint32_t, std::size_t, void*, std::size_t*);
    std::int32_t (*release_program)(cl::program);
    cl::kernel (*create_kernel)(cl::program, char const*, std::int32_t*);
    std::int32_t (*release_kernel)(cl::kernel);
    std::int32_t (*set_argument)(cl::kernel, std::uint32_t, std::size_t, void const*);
    std::int32_t (*run)(cl::queue, cl::kernel, std::uint32_t, std::size_t const*, std::size_t const*,
                        std::size_t const*, std::uint32_t, cl::event const*, cl::event*);
    std::int32_t (*read)(cl::queue, cl::memory, std::uint32_t, std::size_t, std::size_t, void*, std::uint32_t,
                         cl::event const*, cl::event*);
    std::int32_t (*write)(cl::queue, cl::memory, std::uint32_t, std::size_t, std::size_t, void const*, std::uint32_t,
                          cl::event const*, cl::event*);
    std::int32_t (*copy)(cl::queue, cl::memory, cl::memory, std::size_t, std::size_t, std::size_t, std::uint32_t,
                         cl::event const*, cl::event*);
    std::int32_t (*copy_rows)(cl::queue, cl::memory, cl::memory, std::size_t const*, std::size_t const*,
                              std::size_t const*, std::size_t, std::size_t, std::size_t, std::size_t, std::uint32_t,
                              cl::event const*, cl::event*);
    std::int32_t (*fill)(cl::queue, cl::memory, void const*, std::size_t, std::size_t, std::size_t, std::uint32_t,
                         cl::event const*, cl::event*);
    std::int32_t (*finish)(cl::queue);

    /// The functions of the library, loaded once and kept. *Errors* `errors::no_device`.
    [[nodiscard]] static result<opencl_api const*> get() {
        static auto const loaded = load();
        if (!loaded) return loaded.error();
        return &*loaded;
    }

private:
    static result<opencl_api> load() {
        shared_library library{"libOpenCL.so.1"};
        if (!library.loaded())
            return error{errors::no_device, "there is no OpenCL: libOpenCL.so.1 is missing (Debian: "
                                            "ocl-icd-libopencl1, and pocl-opencl-icd for processors)"};
        opencl_api out{};
        auto const find = [&](auto& function, char const* name) { library.find(function, name); };
        find(out.platforms, "clGetPlatformIDs"), find(out.devices, "clGetDeviceIDs");
        find(out.device_info, "clGetDeviceInfo"), find(out.create_context, "clCreateContext");
        find(out.release_context, "clReleaseContext"), find(out.create_queue, "clCreateCommandQueue");
        find(out.release_queue, "clReleaseCommandQueue"), find(out.create_buffer, "clCreateBuffer");
        find(out.release_memory, "clReleaseMemObject"), find(out.create_program, "clCreateProgramWithSource");
        find(out.build_program, "clBuildProgram"), find(out.build_info, "clGetProgramBuildInfo");
        find(out.release_program, "clReleaseProgram"), find(out.create_kernel, "clCreateKernel");
        find(out.release_kernel, "clReleaseKernel"), find(out.set_argument, "clSetKernelArg");
        find(out.run, "clEnqueueNDRangeKernel"), find(out.read, "clEnqueueReadBuffer");
        find(out.write, "clEnqueueWriteBuffer"), find(out.copy, "clEnqueueCopyBuffer");
        find(out.copy_rows, "clEnqueueCopyBufferRect"), find(out.fill, "clEnqueueFillBuffer");
        find(out.finish, "clFinish");
        if (!library.missing().empty())
            return error{errors::no_device, "libOpenCL.so.1 is too old: it lacks " + library.missing()};
        return out;
    }
};

} // namespace gsub::runtime::detail
