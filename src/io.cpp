#include <gsub/io.hpp>
#include <gsub/io/impl/branch_importer.ipp>
#include <gsub/io/impl/byte_source.ipp>
#include <gsub/io/impl/file.ipp>
#include <gsub/io/impl/import_diagnostics.ipp>
#include <gsub/io/impl/initializer_pool.ipp>
#include <gsub/io/impl/npy.ipp>
#include <gsub/io/impl/onnx_export.ipp>
#include <gsub/io/impl/onnx_exporter.ipp>
#include <gsub/io/impl/onnx_import.ipp>
#include <gsub/io/impl/onnx_importer.ipp>
#include <gsub/io/impl/onnx_model.ipp>
#include <gsub/io/impl/onnx_ops_control.ipp>
#include <gsub/io/impl/onnx_ops_math.ipp>
#include <gsub/io/impl/onnx_ops_nn.ipp>
#include <gsub/io/impl/onnx_ops_quantized.ipp>
#include <gsub/io/impl/onnx_ops_reduce.ipp>
#include <gsub/io/impl/onnx_ops_tensor.ipp>
#include <gsub/io/impl/onnx_symbols.ipp>
#include <gsub/io/impl/onnx_traits.ipp>
#include <gsub/io/impl/onnx_values.ipp>
#include <gsub/io/impl/onnx_window.ipp>
#include <gsub/io/impl/opset_choice.ipp>
#include <gsub/io/impl/tensor_reader.ipp>
#include <gsub/io/impl/unique_names.ipp>
#include <gsub/io/impl/value_names.ipp>

template struct gsub::detail::table_storage<gsub::io::onnx_row, gsub::standard_ops>;
