// cuda_device: a GPU through CUDA's driver and NVRTC, both loaded at run time; neither the toolkit nor its headers are
// needed to build.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/runtime/device.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::runtime {

/// Opens a GPU by its number. *Errors* `errors::no_device` where the driver (`libcuda.so.1`), NVRTC (`libnvrtc.so.13`,
/// 12 or 11) or the GPU is missing, or it is older than compute capability 7.0, telling which.
GSUB_LAZY [[nodiscard]] result<std::shared_ptr<device>> cuda_device(std::size_t number);

/// What CUDA's devices call themselves. *Errors* `errors::no_device` where there is none.
GSUB_LAZY [[nodiscard]] result<std::vector<std::string>> cuda_device_titles();

/// What NVRTC makes of CUDA C++: PTX, or a cubin for one architecture.
struct compiled_cuda {
    std::string code; ///< PTX as text, or the bytes of a cubin
    std::string log;
};
/// Compiles CUDA C++ for an architecture: PTX for `compute_90`, a cubin for `sm_90`. No GPU is needed. What was
/// compiled is kept in the cache of kernels (`jit_options`), by its text, the architecture and NVRTC's version.
/// *Errors* `errors::no_device` where there is no NVRTC, `errors::compiler_failed` with the first lines that it said.
GSUB_LAZY [[nodiscard]] result<compiled_cuda> compile_cuda(std::string const& text, std::string_view architecture,
                                                           jit_options const& how = {});

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/cuda/impl/cuda_device.ipp>
#endif
