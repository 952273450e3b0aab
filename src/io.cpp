#include <gsub/io.hpp>
#include <gsub/io/impl/file.ipp>
#include <gsub/io/impl/npy.ipp>
#include <gsub/io/impl/onnx_export.ipp>
#include <gsub/io/impl/onnx_import.ipp>
#include <gsub/io/impl/onnx_model.ipp>
#include <gsub/io/impl/onnx_ops.ipp>
#include <gsub/io/impl/onnx_traits.ipp>

template struct gsub::detail::table_storage<gsub::io::onnx_row, gsub::standard_ops>;
