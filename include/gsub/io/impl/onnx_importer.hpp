// onnx_importer: makes a graph of a parsed model.
#pragma once

#include <gsub/io/impl/branch_importer.hpp>
#include <gsub/io/impl/import_diagnostics.hpp>
#include <gsub/io/impl/loop_importer.hpp>
#include <gsub/io/impl/onnx_symbols.hpp>
#include <gsub/io/impl/onnx_values.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gsub::io::detail {

/// Makes a graph of a parsed model. Collects problems and goes on after each as far as that makes sense.
template <class = void>
class onnx_importer {
public:
    /// Makes a graph of its own, or more of that of a builder.
    explicit onnx_importer(import_task const& task, graph_builder* into = nullptr);

    any_graph run();
    /// The graph of a branch: its inputs are the captured values in their order, but for small constants.
    any_graph run_branch(std::span<captured_value const> captured);

    /// Makes ready for `run_step`: orders the nodes of a loop's body, and finds those whose values the inputs named
    /// here change.
    void open_body(std::span<captured_value const> captured, std::span<std::string_view const> changing);
    /// Whether iterations change an output of the body.
    [[nodiscard]] bool changes(std::size_t output) const {
        return changing_.contains(task_.model.graph.outputs[output].name);
    }
    /// Makes the nodes of an iteration: all of them the first time, then those that iterations change. Gives the
    /// outputs. *Errors* throws `error`, or `not_supported` where a node would stay opaque.
    std::vector<value_id> run_step(std::span<value_id const> arguments, bool first);
    [[nodiscard]] onnx_values<>& values() noexcept { return values_; }
    /// What the nodes of the graph from one on cost, for the budget of loops.
    [[nodiscard]] std::uint64_t cost_since(std::size_t first);

    /// Types that gsub does not compute with, by the name of the value.
    [[nodiscard]] std::map<std::string_view, std::string_view> const& foreign() noexcept { return values_.foreign(); }

private:
    any_graph run(bool main);
    [[nodiscard]] std::int64_t opset(std::string_view domain) const;
    void read_opsets();
    void describe_graph();
    [[nodiscard]] bool has_standard_operators();
    void check_attributes(std::uint32_t i);
    void make_node(std::uint32_t i);
    imported_node import_node(std::uint32_t i, std::vector<value_id> const& operands, std::size_t results);
    node_id make_opaque(std::uint32_t i, std::vector<value_id> operands, std::span<std::string_view const> outputs,
                        imported_node const& made);
    void report_opaque();

    import_task task_;
    import_diagnostics<> diagnostics_;
    onnx_symbols<> symbols_;
    onnx_values<> values_;
    branch_importer<> branches_;
    loop_importer<> loops_;
    std::unordered_map<std::string_view, std::uint32_t> opsets_; // by domain, to places in the model's list
    std::map<std::string, std::vector<std::string>> opaque_;     // operator -> reasons
    std::optional<bool> has_standard_operators_;
    std::unordered_set<std::string_view> changing_; // values of a body that iterations change
    std::vector<bool> node_changes_;                // nodes whose results they are
};

} // namespace gsub::io::detail
