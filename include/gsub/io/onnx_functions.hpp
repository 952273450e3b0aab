// ONNX functions: operators of files that are read as graphs of others.
#pragma once

#include <gsub/io/onnx_traits.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub::io {

/// ONNX function: an operator that gsub has none of its own for, and reads as a graph of others. Where ONNX defines it
/// by such a graph, it is that one. A graph that was read so is written as it stands. An operator belongs here where
/// rules and kernels gain nothing by knowing it; `onnx_traits` is for all others.
struct onnx_function {
    std::string_view name;
    std::int64_t since = 0;                             ///< the first version with a definition that is read
    value_id (*import)(onnx_import_context&) = nullptr; ///< adds the graph; its first result
    std::size_t results = 1;                            ///< at most
    std::string_view domain{};                          ///< of the name; empty: ONNX's own
};

/// All of them, by domain and name.
[[nodiscard]] std::span<onnx_function const> onnx_functions();

/// One of them, or null.
[[nodiscard]] onnx_function const* find_onnx_function(std::string_view domain, std::string_view name);

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/onnx_functions.ipp>
#include <gsub/io/impl/onnx_functions_attention.ipp>
#include <gsub/io/impl/onnx_functions_conv.ipp>
#include <gsub/io/impl/onnx_functions_fourier.ipp>
#include <gsub/io/impl/onnx_functions_heads.ipp>
#include <gsub/io/impl/onnx_functions_index.ipp>
#include <gsub/io/impl/onnx_functions_loss.ipp>
#include <gsub/io/impl/onnx_functions_math.ipp>
#include <gsub/io/impl/onnx_functions_microsoft.ipp>
#include <gsub/io/impl/onnx_functions_nn.ipp>
#include <gsub/io/impl/onnx_functions_product.ipp>
#include <gsub/io/impl/onnx_functions_reduce.ipp>
#include <gsub/io/impl/onnx_functions_resize.ipp>
#include <gsub/io/impl/onnx_functions_rnn.ipp>
#include <gsub/io/impl/onnx_functions_sample.ipp>
#include <gsub/io/impl/onnx_functions_state.ipp>
#include <gsub/io/impl/onnx_functions_tensor.ipp>
#include <gsub/io/impl/onnx_functions_warp.ipp>
#endif
