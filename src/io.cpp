#include <gsub/io.hpp>
#include <gsub/io/impl/file.ipp>
#include <gsub/io/impl/npy.ipp>
#include <gsub/io/impl/onnx_export.ipp>
#include <gsub/io/impl/onnx_import.ipp>
#include <gsub/io/impl/onnx_model.ipp>
#include <gsub/io/impl/onnx_ops_control.ipp>
#include <gsub/io/impl/onnx_ops_math.ipp>
#include <gsub/io/impl/onnx_ops_nn.ipp>
#include <gsub/io/impl/onnx_ops_quantized.ipp>
#include <gsub/io/impl/onnx_ops_reduce.ipp>
#include <gsub/io/impl/onnx_ops_tensor.ipp>
#include <gsub/io/impl/onnx_traits.ipp>
#include <gsub/io/impl/onnx_window.ipp>

template struct gsub::detail::table_storage<gsub::io::onnx_row, gsub::standard_ops>;
