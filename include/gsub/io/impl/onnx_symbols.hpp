// onnx_symbols: the symbol table of a graph in a file.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/io/impl/import_diagnostics.hpp>
#include <gsub/io/onnx_model.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gsub::io::detail {

/// Symbol table: who makes each value of a graph in a file, who reads it, and the order of nodes that follows.
template <class = void>
class onnx_symbols {
public:
    onnx_symbols(onnx_graph const& graph, onnx_limits const& limits, import_diagnostics<>& diagnostics)
        : graph_(graph), limits_(limits), diagnostics_(diagnostics) {}

    /// Declares a value of the graph around this one.
    void add_outside(std::string_view name) { outside_.insert(name); }
    /// Finds who makes each value. A name is made once.
    void collect();
    /// Finds the order of nodes, and with it who reads each value. Follows `collect`.
    void sort();

    /// Nodes from which an output can be reached, each after those that it reads.
    [[nodiscard]] std::span<std::uint32_t const> order() const noexcept { return as_span(order_); }
    /// Inputs that the caller gives: those without an initializer.
    [[nodiscard]] std::span<onnx_value const* const> signature() const noexcept { return as_span(signature_); }
    /// Name of a node in messages.
    [[nodiscard]] std::string_view label(std::uint32_t node) const;
    /// Values of the graphs around a node's subgraphs that these read.
    [[nodiscard]] std::span<std::string_view const> captured(std::uint32_t node) const {
        return as_span(captures_[node]);
    }
    /// Whether a node, or the outside, reads a value.
    [[nodiscard]] bool is_read(std::string_view name) const { return read_.contains(name); }
    /// The initializer of a name, or null.
    [[nodiscard]] onnx_tensor const* initializer(std::string_view name) const;
    /// What the file says of a value, or null.
    [[nodiscard]] onnx_value const* declaration(std::string_view name) const;

private:
    [[nodiscard]] bool exists(std::string_view name) const;
    std::vector<std::string_view> reads(std::uint32_t node);

    onnx_graph const& graph_;
    onnx_limits const& limits_;
    import_diagnostics<>& diagnostics_;
    std::unordered_map<std::string_view, std::uint32_t> initializers_, producers_; // to places in the graph's lists
    std::unordered_map<std::string_view, onnx_value const*> declared_;
    std::unordered_set<std::string_view> read_; // values that a node or the outside reads
    std::vector<onnx_value const*> signature_;
    std::unordered_set<std::string_view> outside_;        // names of the signature, and of the graph around
    std::vector<std::vector<std::string_view>> captures_; // of each node
    std::vector<std::uint32_t> order_;
};

} // namespace gsub::io::detail
