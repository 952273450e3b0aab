// opencl_device: a device of OpenCL, whose library is loaded at run time.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/runtime/device.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace gsub::runtime {

/// Opens the device of this number of all that OpenCL's platforms have, in their order. *Errors* `errors::no_device`
/// where the library (`libOpenCL.so.1`), its platforms or the device are missing, telling which.
GSUB_LAZY [[nodiscard]] result<std::shared_ptr<device>> opencl_device(std::size_t number);

/// What OpenCL's devices call themselves. *Errors* `errors::no_device` where there is none.
GSUB_LAZY [[nodiscard]] result<std::vector<std::string>> opencl_device_titles();

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/opencl/impl/opencl_device.ipp>
#endif
