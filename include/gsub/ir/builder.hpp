// Graph builder: appends nodes one by one, infers their types and follows shape arithmetic.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <map>
#include <string>
#include <string_view>

namespace gsub {

/// Graph builder: appends nodes to a graph and infers their types. Follows the elements of small tensors of whole
/// numbers, so that shape arithmetic over fixed sizes is known at once; `known` gives them. *Errors* an ill-typed
/// application throws `error` (`invalid_input`). *Example* `examples/04_operator.cpp`
class graph_builder : public node_sink {
public:
    /// Builds into `g`, which must outlive the builder.
    explicit graph_builder(any_graph& g) : node_sink(g.operators()), graph_(&g) {}

    value_id input(dtype element, shape dims, std::string_view name) {
        return graph_->add_input(tensor_type{element, std::move(dims)}, name);
    }
    value_id constant(tensor value, std::string_view name = {});
    /// Declares the result of the graph, or several.
    void outputs(std::initializer_list<value_id> values, std::initializer_list<std::string> names = {}) {
        graph_->set_outputs({values.begin(), values.size()}, {names.begin(), names.size()});
    }

    [[nodiscard]] any_graph& graph() noexcept { return *graph_; }
    [[nodiscard]] type_id type_of(value_id v) const override { return graph_->type_of(v); }
    /// Known elements of a list or of one number, or null; and of a value of any rank.
    [[nodiscard]] tensor_knowledge const* known(value_id v) const;
    [[nodiscard]] tensor_knowledge const* known_elements(value_id v) const override;
    /// Records known elements of a value.
    void set_known(value_id v, tensor_knowledge k) { known_.insert_or_assign(v, std::move(k)); }

protected:
    GSUB_INLINE value_id append(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                                std::span<type_id const> results) override;
    void on_known_elements(value_id v, tensor_knowledge const& k) override { set_known(v, k); }
    GSUB_INLINE void on_ill_typed(std::uint16_t row, std::string_view reason) override;

private:
    any_graph* graph_;
    std::map<value_id, tensor_knowledge> known_;
};

/// Known elements of a small tensor: integers, truth values, and what is whole of its reals; nothing for others.
[[nodiscard]] std::optional<tensor_knowledge> knowledge_of(tensor const& t);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/builder.ipp>
#endif
