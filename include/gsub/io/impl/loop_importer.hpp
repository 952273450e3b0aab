// loop_importer: `Loop` and `Scan` nodes of a file, written iteration by iteration.
#pragma once

#include <gsub/io/impl/branch_importer.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gsub::io::detail {

template <class>
struct loop_body; // as the file has it, and what imports it

/// Imports `Loop` and `Scan` nodes whose number of iterations is known: the nodes of the body once an iteration, and
/// once for all those that no iteration changes.
template <class T = void>
class loop_importer {
public:
    loop_importer(import_task const& task, onnx_symbols<> const& symbols, onnx_values<>& values)
        : task_(task), symbols_(symbols), values_(values) {}

    [[nodiscard]] static bool takes(onnx_node const& n) noexcept {
        return n.domain.empty() && (n.op_type == "Loop" || n.op_type == "Scan");
    }
    /// Version of the operator set from which on a node is read.
    [[nodiscard]] static std::int64_t since(onnx_node const& n) noexcept { return n.op_type == "Loop" ? 1 : 8; }
    /// *Errors* throws `error`, or `not_supported` where the node stays opaque.
    imported_node import(std::uint32_t node, onnx_import_context& cx);

private:
    import_task const& task_;
    onnx_symbols<> const& symbols_;
    onnx_values<>& values_;
    std::unordered_map<std::uint32_t, std::shared_ptr<loop_body<T>>> bodies_; // by node: a loop in a body comes again
};

} // namespace gsub::io::detail
