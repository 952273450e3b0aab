// The device of OpenCL that tests use: the first one, or none.
#pragma once

#include "catch.hpp"
#include <gsub/runtime/device.hpp>

#include <memory>

namespace opencl_here {

/// Null, with the reason as a warning, where there is no device.
inline std::shared_ptr<gsub::runtime::device> device() {
    auto opened = gsub::runtime::open_device("opencl:0");
    if (opened) return *opened;
    WARN(opened.error().message());
    return nullptr;
}

} // namespace opencl_here
