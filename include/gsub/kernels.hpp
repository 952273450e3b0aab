// Layer kernels: kernel templates: descriptor, configuration space, loop nest, weight packing.
#pragma once

#include <gsub/kernels/attention.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/depth_direction.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/kernels/image_layout.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/kernels/local_response_norm.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/kernels/movement.hpp>
#include <gsub/kernels/pool2d.hpp>
#include <gsub/kernels/record_text.hpp>
#include <gsub/kernels/reduction.hpp>
#include <gsub/kernels/register_tile.hpp>
#include <gsub/kernels/row_reduction.hpp>
#include <gsub/kernels/scatter.hpp>
#include <gsub/kernels/separable.hpp>
#include <gsub/kernels/winograd.hpp>
