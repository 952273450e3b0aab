// Layer codegen: kernel IR, its lowering from loop nests, emitters.
#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/cpp/vector_math.hpp>
#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/codegen/opencl/emit_opencl.hpp>
#include <gsub/codegen/simt/thread_group.hpp>
