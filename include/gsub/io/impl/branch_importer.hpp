// branch_importer: `If` nodes of a file, and what all nodes with subgraphs share.
#pragma once

#include <gsub/core/small_vector.hpp>
#include <gsub/io/impl/loop_budget.hpp>
#include <gsub/io/impl/onnx_symbols.hpp>
#include <gsub/io/impl/onnx_values.hpp>
#include <gsub/io/onnx_traits.hpp>
#include <gsub/ir/module.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::io::detail {

/// A model, and what it becomes.
struct import_task {
    onnx_model const& model;
    std::string const* path; // null: the model is in memory
    dialect const& operators;
    std::span<onnx_row const> table;
    load_options const& options;
    module* functions; // where branches go; null: a graph alone is wanted
    loop_budget& budget;
    std::int64_t& constant_budget; // elements of constants that nodes may still be written with
    bool in_loop = false;          // the model is a loop's body, or part of one: no node may stay opaque
};

/// What a node of a file has become.
struct imported_node {
    value_id made{};                   // its first result; not valid where the node must stay opaque
    std::optional<problem> reason{};   // why it must
    small_vector<value_id, 4> given{}; // results that are values of other nodes; not valid where they are not
    std::vector<type_id> types{};      // of results that nothing else declares, where it stays opaque
};

/// A node whose results are all values of other nodes. Without results it stands for a constant that nothing reads.
imported_node node_of_values(graph_builder& builder, std::span<value_id const> values);
/// A subgraph of a model as one of its own, which reads the same file.
onnx_model model_of_subgraph(onnx_model const& around, std::string_view graph);
/// Problems of a subgraph, told of the node around it: that is the one in the file's own graph.
error within_subgraph(error const& e, std::string_view where);

/// A branch as a graph, and the values around it that its inputs stand for.
struct imported_branch {
    any_graph body;
    std::vector<value_id> passed;
};

/// Imports `If` nodes. Where the condition is known a node becomes the branch taken, node by node, so that its types
/// follow from what is known here; else each branch becomes a function.
template <class = void>
class branch_importer {
public:
    branch_importer(import_task const& task, onnx_symbols<> const& symbols, onnx_values<>& values)
        : task_(task), symbols_(symbols), values_(values) {}

    /// *Errors* throws `error`.
    imported_node import(std::uint32_t node, std::vector<value_id> const& operands, std::size_t results);

private:
    imported_branch import_branch(std::uint32_t node, std::string_view graph);
    std::vector<type_id> common_types(std::string_view first, std::string_view second) const;
    std::string add_function(std::string name, any_graph body);
    std::vector<value_id> insert(imported_branch const& branch);

    import_task const& task_;
    onnx_symbols<> const& symbols_;
    onnx_values<>& values_;
};

} // namespace gsub::io::detail
