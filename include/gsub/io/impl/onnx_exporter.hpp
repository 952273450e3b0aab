// onnx_exporter: writes a graph as a model.
#pragma once

#include <gsub/io/impl/initializer_pool.hpp>
#include <gsub/io/impl/opset_choice.hpp>
#include <gsub/io/impl/unique_names.hpp>
#include <gsub/io/impl/value_names.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::io::detail {

/// What a model and its branches have in common.
struct shared_export {
    opset_choice opsets;
    unique_names<> names;
    initializer_pool<> initializers;
};

/// Collects the parts of a model; weights are written from where they are.
template <class = void>
class onnx_exporter {
public:
    onnx_exporter(any_graph const& g, export_task const& task)
        : onnx_exporter(g, task, std::make_shared<shared_export>(), 0) {}

    /// `data_name` is the file for large weights, empty: none.
    void collect(std::string const& data_name);
    /// Calls `text(string_view)` and `raw(span)` with the pieces of the file, in order. Follows `collect`.
    template <class Text, class Raw>
    void write(Text&& text, Raw&& raw);
    [[nodiscard]] initializer_pool<> const& initializers() const noexcept { return shared_->initializers; }

private:
    onnx_exporter(any_graph const& g, export_task const& task, std::shared_ptr<shared_export> shared,
                  std::size_t depth);
    std::string write_branch(any_graph const& body, std::span<std::string const> captured);

    void write_nodes();
    void write_known(node_id n);
    void write_if(node_id n);
    void write_opaque(node_id n);
    void write_identity(value_id from, std::string const& to);
    [[nodiscard]] bool is_written(value_id v) const;
    [[nodiscard]] std::string value_info(std::string const& name, tensor_type const& t) const;

    any_graph const& g_;
    export_task const& task_;
    std::shared_ptr<shared_export> shared_;
    std::size_t depth_; // of the branch that is written
    value_names<> names_;
    std::map<std::string_view, std::string_view> foreign_types_;
    std::vector<std::string> nodes_;
};

} // namespace gsub::io::detail
