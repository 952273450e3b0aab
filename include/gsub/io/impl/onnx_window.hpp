// Windows of convolutions and poolings in files.
#pragma once

#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

#include <cstddef>
#include <cstdint>

namespace gsub::io::detail {

/// Spatial sizes of the weight, operand `i`.
[[nodiscard]] ints read_kernel(onnx_import_context& cx, std::size_t i);
/// Strides, pads and dilations of a node, with ONNX's defaults and SAME modes made explicit.
[[nodiscard]] window_attributes read_window(onnx_import_context& cx, ints const& kernel);
/// Writes the attributes that all convolutions have.
void write_convolution(onnx_attribute_writer& w, window_attributes const& window, std::int64_t group);

} // namespace gsub::io::detail
