// onnx_values: the graph that an import makes, by the names of the file.
#pragma once

#include <gsub/io/impl/import_diagnostics.hpp>
#include <gsub/io/impl/input_bindings.hpp>
#include <gsub/io/impl/onnx_symbols.hpp>
#include <gsub/io/impl/tensor_reader.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/graph.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gsub::io::detail {

/// What a branch reads from the graph around it, by name.
struct captured_value {
    std::string_view name;
    type_id type;
    tensor const* known = nullptr; // small constants are taken along
    tensor_knowledge const* elements = nullptr;
};

/// The graph that is made of a model: its values by the names that they have in the file.
template <class = void>
class onnx_values {
public:
    /// Makes a graph of its own, or more of that of a builder.
    onnx_values(onnx_model const& model, std::string const* path, dialect const& d, load_options const& options,
                onnx_symbols<> const& symbols, import_diagnostics<>& diagnostics, graph_builder* into = nullptr)
        : model_(model),
          options_(options),
          symbols_(symbols),
          diagnostics_(diagnostics),
          bindings_(options, diagnostics),
          tensors_(model, path, options),
          own_graph_(d),
          own_builder_(own_graph_),
          builder_(into ? *into : own_builder_),
          graph_(builder_.graph()) {}

    [[nodiscard]] any_graph& graph() noexcept { return graph_; }
    [[nodiscard]] graph_builder& builder() noexcept { return builder_; }
    /// Types that gsub does not compute with, by the name of the value.
    [[nodiscard]] std::map<std::string_view, std::string_view>& foreign() noexcept { return foreign_; }
    [[nodiscard]] tensor read(onnx_tensor const& t) { return tensors_.read(t); }

    /// Reads what the caller says of the inputs: of the model's own graph, which no branch is.
    void bind_inputs() { bindings_.read(symbols_.signature()); }
    void make_inputs();
    /// Makes an input of a captured value, or a constant of one that is known.
    void make_captured(captured_value const& c);
    /// A value as a subgraph on its own is told of it.
    [[nodiscard]] captured_value captured(std::string_view name, value_id v) const;
    /// Gives an input of a body its value, which must have the element type declared.
    void bind(onnx_value const& input, value_id v);
    void make_outputs();

    /// The value of a name, made on first use where it is an initializer. Invalid where making it failed.
    value_id value(std::string_view name);
    void set(std::string_view name, value_id v) { values_[name] = v; }
    /// The truth value of one element, where it is known.
    [[nodiscard]] std::optional<bool> known_truth(value_id v) const;
    /// A value all of whose elements are known needs no computation.
    [[nodiscard]] value_id folded(value_id v, std::size_t results);
    /// An opaque node, which `node` serialises. `types`: of results without a declaration, as far as they are known.
    node_id add_opaque(attributes_of<ops::opaque> const& attributes, std::string_view node,
                       std::span<value_id const> operands, std::span<std::string_view const> results,
                       std::span<type_id const> types = {});
    /// The type that a file declares of a value.
    [[nodiscard]] tensor_type type_of(onnx_value const& v) const;

private:
    static constexpr std::int64_t max_size = std::int64_t{1} << 62; // of a dimension
    type_id declared_type(std::string_view name);
    void remember_if_foreign(onnx_value const& v);
    void check_weight(onnx_value const& v);
    value_id opaque_constant(onnx_tensor const& t, std::string_view name, std::string const& reason);

    onnx_model const& model_;
    load_options const& options_;
    onnx_symbols<> const& symbols_;
    import_diagnostics<>& diagnostics_;
    input_bindings<> bindings_;
    tensor_reader<> tensors_;
    any_graph own_graph_;
    graph_builder own_builder_;
    graph_builder& builder_;
    any_graph& graph_;
    std::unordered_map<std::string_view, value_id> values_;
    std::map<std::string_view, std::string_view> foreign_;
};

} // namespace gsub::io::detail
