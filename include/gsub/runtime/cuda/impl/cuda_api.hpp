// cuda_api: the functions of CUDA's driver and of NVRTC that a device takes, found in their libraries at run time.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/runtime/impl/shared_library.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gsub::runtime::detail {

/// Handles and numbers as the driver's ABI has them.
namespace cu {
using device = int;
using address = std::uint64_t;
using context = struct context_object*;
using module = struct module_object*;
using function = struct function_object*;
using stream = struct stream_object*;

inline constexpr int success = 0, out_of_memory = 2, processors = 16, capability_major = 75, capability_minor = 76;

/// Copy of rows: `CUDA_MEMCPY2D`.
struct rows {
    std::size_t from_x = 0, from_y = 0;
    int from_type = 2; // memory of a device
    void const* from_host = nullptr;
    address from = 0;
    void* from_array = nullptr;
    std::size_t from_pitch = 0;
    std::size_t to_x = 0, to_y = 0;
    int to_type = 2;
    void* to_host = nullptr;
    address to = 0;
    void* to_array = nullptr;
    std::size_t to_pitch = 0;
    std::size_t bytes = 0, height = 0;
};
} // namespace cu

struct cuda_api {
    int (*init)(unsigned);
    int (*device_count)(int*);
    int (*device_get)(cu::device*, int);
    int (*device_name)(char*, int, cu::device);
    int (*device_attribute)(int*, int, cu::device);
    int (*retain_context)(cu::context*, cu::device);
    int (*release_context)(cu::device);
    int (*set_context)(cu::context);
    int (*create_stream)(cu::stream*, unsigned);
    int (*destroy_stream)(cu::stream);
    int (*wait)(cu::stream);
    int (*allocate)(cu::address*, std::size_t);
    int (*release)(cu::address);
    int (*to_device)(cu::address, void const*, std::size_t, cu::stream);
    int (*to_host)(void*, cu::address, std::size_t, cu::stream);
    int (*within_device)(cu::address, cu::address, std::size_t, cu::stream);
    int (*copy_rows)(cu::rows const*, cu::stream);
    int (*fill)(cu::address, unsigned char, std::size_t, cu::stream);
    int (*load_module)(cu::module*, void const*);
    int (*unload_module)(cu::module);
    int (*find_function)(cu::function*, cu::module, char const*);
    int (*launch)(cu::function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cu::stream,
                  void**, void**);
    int (*error_name)(int, char const**);

    /// The functions of the driver, loaded once and kept. *Errors* `errors::no_device`.
    [[nodiscard]] static result<cuda_api const*> get() {
        static auto const loaded = load();
        if (!loaded) return loaded.error();
        return &*loaded;
    }

private:
    static result<cuda_api> load() {
        shared_library library{"libcuda.so.1"};
        if (!library.loaded())
            return error{errors::no_device,
                         "there is no CUDA: libcuda.so.1, which comes with NVIDIA's driver, is missing"};
        cuda_api out{};
        library.find(out.init, "cuInit"), library.find(out.device_count, "cuDeviceGetCount");
        library.find(out.device_get, "cuDeviceGet"), library.find(out.device_name, "cuDeviceGetName");
        library.find(out.device_attribute, "cuDeviceGetAttribute");
        library.find(out.retain_context, "cuDevicePrimaryCtxRetain");
        library.find(out.release_context, "cuDevicePrimaryCtxRelease_v2");
        library.find(out.set_context, "cuCtxSetCurrent"), library.find(out.create_stream, "cuStreamCreate");
        library.find(out.destroy_stream, "cuStreamDestroy_v2"), library.find(out.wait, "cuStreamSynchronize");
        library.find(out.allocate, "cuMemAlloc_v2"), library.find(out.release, "cuMemFree_v2");
        library.find(out.to_device, "cuMemcpyHtoDAsync_v2"), library.find(out.to_host, "cuMemcpyDtoHAsync_v2");
        library.find(out.within_device, "cuMemcpyDtoDAsync_v2");
        library.find(out.copy_rows, "cuMemcpy2DAsync_v2"), library.find(out.fill, "cuMemsetD8Async");
        library.find(out.load_module, "cuModuleLoadData"), library.find(out.unload_module, "cuModuleUnload");
        library.find(out.find_function, "cuModuleGetFunction"), library.find(out.launch, "cuLaunchKernel");
        library.find(out.error_name, "cuGetErrorName");
        if (!library.missing().empty())
            return error{errors::no_device, "CUDA's driver is too old: libcuda.so.1 lacks " + library.missing()};
        if (auto const status = out.init(0); status != cu::success)
            return error{errors::no_device, "CUDA's driver does not start: error " + std::to_string(status)};
        return out;
    }
};

struct nvrtc_api {
    using program = struct program_object*;

    int (*version)(int*, int*);
    int (*create)(program*, char const*, char const*, int, char const* const*, char const* const*);
    int (*destroy)(program*);
    int (*compile)(program, int, char const* const*);
    int (*log_size)(program, std::size_t*);
    int (*log)(program, char*);
    int (*ptx_size)(program, std::size_t*);
    int (*ptx)(program, char*);
    int (*cubin_size)(program, std::size_t*);
    int (*cubin)(program, char*);

    /// The functions of NVRTC, loaded once and kept. *Errors* `errors::no_device`.
    [[nodiscard]] static result<nvrtc_api const*> get() {
        static auto const loaded = load();
        if (!loaded) return loaded.error();
        return &*loaded;
    }

private:
    static result<nvrtc_api> load() {
        shared_library library{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
        if (!library.loaded())
            return error{errors::no_device,
                         "there is no NVRTC: libnvrtc.so.13 or 12, which compiles CUDA C++, is missing; "
                         "it comes with CUDA's toolkit, or alone from PyPI: nvidia-cuda-nvrtc"};
        nvrtc_api out{};
        library.find(out.version, "nvrtcVersion");
        library.find(out.create, "nvrtcCreateProgram"), library.find(out.destroy, "nvrtcDestroyProgram");
        library.find(out.compile, "nvrtcCompileProgram"), library.find(out.log_size, "nvrtcGetProgramLogSize");
        library.find(out.log, "nvrtcGetProgramLog"), library.find(out.ptx_size, "nvrtcGetPTXSize");
        library.find(out.ptx, "nvrtcGetPTX"), library.find(out.cubin_size, "nvrtcGetCUBINSize");
        library.find(out.cubin, "nvrtcGetCUBIN");
        if (!library.missing().empty())
            return error{errors::no_device, library.name() + " is too old: it lacks " + library.missing()};
        return out;
    }
};

} // namespace gsub::runtime::detail
