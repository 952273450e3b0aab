// ONNX importer: reads a model from a file or from memory as a graph or a module.
#pragma once

#include <gsub/core/observer.hpp>
#include <gsub/core/result.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/io/onnx_ops.hpp>
#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/module.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::io {

/// Options of the ONNX importer.
struct load_options {
    onnx_limits limits{};
    /// Memory-map large weights instead of reading them, where their place in the file is aligned, as it is in files of
    /// external data: faster, and only what is read comes into memory. For files that nobody changes while the graph,
    /// or what was built of it, lives.
    bool map = false;
    observer* observe = nullptr; ///< hears notes, e.g. of operators that stay opaque
    /// Sizes of dimensions that inputs have by name, such as `{"batch", 8}`: the model is specialised for them.
    std::vector<std::pair<std::string, std::int64_t>> dims{};
    /// Sizes of inputs by name; all dimensions of one name get the same.
    std::vector<std::pair<std::string, ints>> shapes{};
    /// Values of inputs by name, which become constants: settings that shapes depend on, such as a number of elements.
    /// Whole numbers of i64 are taken for an input of any type that has them, and one number for a vector of one.
    std::vector<std::pair<std::string, tensor>> values{};
};

/// Reads an ONNX model: operator sets 7 to 28, weights inside of the file or in files beside it. Types are inferred,
/// shape arithmetic over fixed sizes is folded, settings given as constant operands become attributes. The order of
/// nodes in the file does not matter; the graph's order follows from its outputs. An `If` whose condition is known by
/// then becomes the branch taken, a `Loop` or `Scan` whose number of iterations is known the nodes of all of them. An
/// operator that gsub does not know, or not in this form, becomes an opaque node, and so does any other loop, and any
/// other `If`: `load_onnx_module` has a form for it. *Errors* all problems of the model together, each with node,
/// operator, reason and hint: `invalid_input` (malformed file, undefined or cyclic values, ill-typed nodes),
/// `unsupported` (beyond a limit, an operator set that is too new), `usage` (sizes and values that no input has, or
/// that do not fit it), `environment`. *Complexity* O(n log n) in nodes,
/// linear in weights; *memory* the weights and about the structure.
GSUB_LAZY [[nodiscard]] result<any_graph> load_onnx(std::string const& path, dialect const& d,
                                                    std::span<onnx_row const> table, load_options const& options = {});
/// Reads an ONNX model from memory, without external data.
GSUB_LAZY [[nodiscard]] result<any_graph> load_onnx(std::span<std::byte const> data, dialect const& d,
                                                    std::span<onnx_row const> table, load_options const& options = {});

/// Reads a model as a module: its graph is the function `main`, the branches of each `If` whose condition is not known
/// are functions of their own. A branch takes what the branches of its `If` capture. *Errors* as `load_onnx`.
GSUB_LAZY [[nodiscard]] result<module> load_onnx_module(std::string const& path, dialect const& d,
                                                        std::span<onnx_row const> table,
                                                        load_options const& options = {});
GSUB_LAZY [[nodiscard]] result<module> load_onnx_module(std::span<std::byte const> data, dialect const& d,
                                                        std::span<onnx_row const> table,
                                                        load_options const& options = {});

template <class OpSet = standard_ops>
[[nodiscard]] result<basic_graph<OpSet>> load_onnx(std::string const& path, load_options const& options = {}) {
    auto g = load_onnx(path, dialect::of<OpSet>(), table_of<onnx_row, OpSet>(), options);
    if (!g) return g.error();
    return basic_graph<OpSet>{std::move(*g)};
}
template <class OpSet = standard_ops>
[[nodiscard]] result<basic_graph<OpSet>> load_onnx(std::span<std::byte const> data, load_options const& options = {}) {
    auto g = load_onnx(data, dialect::of<OpSet>(), table_of<onnx_row, OpSet>(), options);
    if (!g) return g.error();
    return basic_graph<OpSet>{std::move(*g)};
}

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/branch_importer.ipp>
#include <gsub/io/impl/import_diagnostics.ipp>
#include <gsub/io/impl/input_bindings.ipp>
#include <gsub/io/impl/loop_importer.ipp>
#include <gsub/io/impl/onnx_import.ipp>
#include <gsub/io/impl/onnx_importer.ipp>
#include <gsub/io/impl/onnx_symbols.ipp>
#include <gsub/io/impl/onnx_values.ipp>
#include <gsub/io/impl/tensor_reader.ipp>
#endif
