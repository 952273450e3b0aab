// Umbrella of layer codegen: from loop nests to kernels.
#pragma once

#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/emit_cpp.hpp>
#include <gsub/codegen/kernel_ir.hpp>
#include <gsub/codegen/lower.hpp>
#include <gsub/codegen/vector_math.hpp>
