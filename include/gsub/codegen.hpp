// Umbrella of layer codegen: from loop nests to kernels.
#pragma once

#include <gsub/codegen/attention.hpp>
#include <gsub/codegen/conv2d.hpp>
#include <gsub/codegen/elementwise.hpp>
#include <gsub/codegen/emit_cpp.hpp>
#include <gsub/codegen/isa.hpp>
#include <gsub/codegen/kernel_ir.hpp>
#include <gsub/codegen/lower.hpp>
#include <gsub/codegen/matmul.hpp>
#include <gsub/codegen/pool2d.hpp>
#include <gsub/codegen/register_tile.hpp>
#include <gsub/codegen/row_kernel.hpp>
#include <gsub/codegen/separable.hpp>
#include <gsub/codegen/vector_math.hpp>
#include <gsub/codegen/winograd.hpp>
