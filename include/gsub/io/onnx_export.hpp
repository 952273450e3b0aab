// ONNX exporter: writes a graph as a model that every other tool reads.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/io/onnx_ops.hpp>
#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/module.hpp>

#include <cstdint>
#include <string>

namespace gsub::io {

/// Options of the ONNX exporter.
struct save_options {
    /// Tensors of at least this many bytes go to a file beside the model, `<model>.data`.
    std::uint64_t external_tensor_bytes = std::uint64_t{16} << 20;
    /// Where all weights together take more than this, every tensor of 1 KiB and more goes there.
    std::uint64_t external_total_bytes = std::uint64_t{1} << 30;
    /// Operator set of ONNX's own domain, 0: the oldest from 13 on that can express the graph, or that of the imported
    /// model where opaque nodes depend on it.
    std::int64_t opset = 0;
};

/// Writes a graph as an ONNX model, as a whole file or not at all. Names of inputs and outputs are kept, others where
/// they are unique. A fused activation becomes a node of its own. Equal graphs in equal order give equal bytes.
/// *Requires* folded weights: no operators internal to gsub. *Errors* `unsupported` naming the node that has no form in
/// the operator set, or the name that two values must have; `environment`. *Complexity* linear.
GSUB_LAZY result<void> save_onnx(any_graph const& g, std::span<onnx_row const> table, std::string const& path,
                                 save_options const& options = {});
/// Writes a graph as an ONNX model into memory, with all weights inside. *Errors* as above.
GSUB_LAZY [[nodiscard]] result<std::string> to_onnx(any_graph const& g, std::span<onnx_row const> table,
                                                    save_options const& options = {});

/// Writes the entry point of a module, with its calls inlined and the branches of each `If` as subgraphs that capture
/// its operands. *Errors* as above and as `module::inlined`.
GSUB_LAZY result<void> save_onnx(module const& m, std::span<onnx_row const> table, std::string const& path,
                                 save_options const& options = {}, std::string_view entry = "main");
GSUB_LAZY [[nodiscard]] result<std::string> to_onnx(module const& m, std::span<onnx_row const> table,
                                                    save_options const& options = {}, std::string_view entry = "main");

template <class OpSet>
result<void> save_onnx(basic_graph<OpSet> const& g, std::string const& path, save_options const& options = {}) {
    return save_onnx(g, table_of<onnx_row, OpSet>(), path, options);
}
template <class OpSet>
[[nodiscard]] result<std::string> to_onnx(basic_graph<OpSet> const& g, save_options const& options = {}) {
    return to_onnx(g, table_of<onnx_row, OpSet>(), options);
}

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/initializer_pool.ipp>
#include <gsub/io/impl/onnx_export.ipp>
#include <gsub/io/impl/onnx_exporter.ipp>
#include <gsub/io/impl/opset_choice.ipp>
#include <gsub/io/impl/unique_names.ipp>
#include <gsub/io/impl/value_names.ipp>
#endif
