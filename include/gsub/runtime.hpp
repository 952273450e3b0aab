// Layer runtime: programs, executables, memory plans, the kernel compiler and its cache, the thread pool.
#pragma once

#include <gsub/runtime/compiler/assembly_text.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/runtime/cuda/cuda_device.hpp>
#include <gsub/runtime/device.hpp>
#include <gsub/runtime/executable.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/runtime/memory_planner.hpp>
#include <gsub/runtime/opencl/opencl_device.hpp>
#include <gsub/runtime/program.hpp>
