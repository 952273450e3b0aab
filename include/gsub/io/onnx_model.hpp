// ONNX model as plain structs, as parsed and before its import. Large weights stay where they are.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/core/small_vector.hpp>
#include <gsub/io/file.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::io {

/// Limits of the ONNX importer; files may come from strangers.
struct onnx_limits {
    std::uint64_t max_file_bytes = std::uint64_t{1} << 40;
    std::uint64_t max_structure_bytes = std::uint64_t{2} << 30; ///< of everything but the elements of initializers
    std::uint64_t max_tensor_bytes = std::uint64_t{64} << 30;   ///< of one tensor
    std::size_t max_nodes = 2'000'000;  ///< as many initializers, inputs, outputs; a quarter for loops
    std::size_t max_depth = 64;         ///< of nested subgraphs
    std::size_t max_functions = 10'000; ///< that the branches of a model become
    std::int64_t max_written_elements = std::int64_t{1} << 26; ///< of the constants that nodes are written with
    std::size_t max_problems = 100;                            ///< of the problems that one report lists
};

/// Numbers of ONNX's `AttributeProto.type`.
enum class onnx_attribute_type : int {
    undefined,
    real,
    integer,
    text,
    tensor,
    graph,
    reals,
    integers,
    texts,
    tensors,
    graphs
};

/// A `TensorProto`. Either `elements` holds its raw bytes, or they lie in the file at `offset`, or in a file of their
/// own.
struct onnx_tensor {
    std::string_view name;
    ints dims;
    std::int64_t data_type = 0;
    bool has_raw = false;
    std::string_view raw;                 ///< raw bytes in memory
    std::uint64_t offset = 0, length = 0; ///< raw bytes in the model's file, where `raw` is empty and length > 0
    std::string_view message;             ///< the other fields, for typed elements
    std::size_t typed_elements = 0;       ///< elements in typed fields
    bool external = false;
    std::string_view location; ///< of external data
    std::uint64_t external_offset = 0, external_length = 0;
    bool has_external_length = false;
};

struct onnx_attribute {
    std::string_view name;
    onnx_attribute_type type = onnx_attribute_type::undefined;
    std::string_view refers_to; ///< attribute of the function around the node, whose value it has
    std::string_view message;   ///< the whole attribute
};

struct onnx_node {
    std::vector<std::string_view> inputs, outputs;
    std::string_view name, op_type, domain;
    std::vector<onnx_attribute> attributes;
    std::string_view message; ///< the whole node
};

/// A `TensorShapeProto.Dimension` of a declared type.
struct onnx_dim {
    std::int64_t size = -1; ///< -1: not given
    std::string_view name;
};

/// A `ValueInfoProto`.
struct onnx_value {
    std::string_view name;
    bool is_tensor = false;
    std::int64_t data_type = 0;
    bool has_shape = false;
    std::vector<onnx_dim> dims;
    std::string_view type; ///< the whole `TypeProto`
};

struct onnx_graph {
    std::string_view name;
    std::vector<onnx_node> nodes;
    std::vector<onnx_tensor> initializers;
    std::vector<onnx_value> inputs, outputs, values;
    bool has_sparse_initializers = false;
};

/// A `ModelProto`. Owns the memory that the views point into.
struct onnx_model {
    std::int64_t ir_version = 0;
    std::vector<std::pair<std::string_view, std::int64_t>> opsets; ///< domain and version
    std::vector<std::pair<std::string_view, std::string_view>> metadata;
    std::vector<std::string_view> functions;
    onnx_graph graph;
    bool has_graph = false, has_training = false;

    std::shared_ptr<input_file const> file;                ///< the file that tensors with an offset lie in
    std::shared_ptr<std::deque<std::string> const> memory; ///< what was read of it
};

/// Parses a file without reading the elements of its initializers. *Errors* `environment`; `invalid_input` for
/// malformed data; `unsupported` beyond a limit. *Complexity* linear in the size of the structure.
GSUB_LAZY [[nodiscard]] result<onnx_model> parse_onnx_file(std::string const& path, onnx_limits const& limits = {});
/// Parses a model in memory, which must outlive the result.
GSUB_LAZY [[nodiscard]] result<onnx_model> parse_onnx(std::span<std::byte const> data, onnx_limits const& limits = {});
/// Parses one node, tensor or graph out of a larger message. *Errors* throws `error` (`invalid_input`).
GSUB_LAZY [[nodiscard]] onnx_node parse_onnx_node(std::string_view message);
GSUB_LAZY [[nodiscard]] onnx_tensor parse_onnx_tensor(std::string_view message);
GSUB_LAZY [[nodiscard]] onnx_graph parse_onnx_graph(std::string_view message);

/// Captured names: what the subgraphs of a node read from the graphs around them, in order of first mention.
/// *Errors* throws `error`: `invalid_input` for malformed data, `unsupported` beyond `max_depth` nested graphs or
/// `max_nodes` nodes in them.
GSUB_LAZY [[nodiscard]] std::vector<std::string_view> captured_names(onnx_node const& node,
                                                                     onnx_limits const& limits = {});

} // namespace gsub::io

#ifndef GSUB_COMPILED
#include <gsub/io/impl/byte_source.ipp>
#include <gsub/io/impl/onnx_model.ipp>
#endif
