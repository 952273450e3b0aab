// Node sink: the interface to which rules, decompositions and builders write nodes. A graph under construction is one,
// a patch being prepared another.
#pragma once

#include <gsub/core/strong.hpp>
#include <gsub/ir/ops/infer.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

namespace gsub {

/// Node sink: takes applications of operators and infers their types.
class node_sink {
public:
    virtual ~node_sink() = default;

    /// The operators that may be used.
    [[nodiscard]] dialect const& operators() const noexcept { return *dialect_; }
    /// Type of a value that the sink knows: its own, or one of the graph that it belongs to.
    [[nodiscard]] virtual type_id type_of(value_id value) const = 0;

    /// Appends an application of the operator in a row; an invalid value stands for an operand left out.
    /// Gives the node's first result, or an invalid value where the application is ill-typed (`on_ill_typed` is
    /// called).
    value_id emit(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                  std::size_t results = 1);

    /// Appends an application of `Op`, e.g. `sink.add<ops::clip>({.min = 0, .max = 6}, {x})`.
    template <operation Op>
    value_id add(attributes_of<Op> const& attributes, std::initializer_list<value_id> operands,
                 std::size_t results = 1) {
        return emit(row<Op>(), intern<Op>(attributes), {operands.begin(), operands.size()}, results);
    }
    template <operation Op>
    value_id add(attributes_of<Op> const& attributes, std::span<value_id const> operands, std::size_t results = 1) {
        return emit(row<Op>(), intern<Op>(attributes), operands, results);
    }
    /// Appends an application of an operator without attributes, e.g. `sink.add<ops::add>(x, y)`.
    template <operation Op, std::same_as<value_id>... Values>
    value_id add(Values... operands) {
        return add<Op>(attributes_of<Op>{}, {operands...});
    }

    /// Row of an operator. *Requires* that the dialect has it.
    template <operation Op>
    [[nodiscard]] std::uint16_t row() const {
        auto const found = find_row(dialect_->ops, id_of<Op>);
        GSUB_ASSERT(found.has_value(), "the graph's set of operators lacks the operator that is added");
        return *found;
    }

protected:
    explicit node_sink(dialect const& d) noexcept : dialect_(&d) {}
    node_sink(node_sink const&) = default;
    node_sink(node_sink&&) = default;
    node_sink& operator=(node_sink const&) = default;
    node_sink& operator=(node_sink&&) = default;

    /// Stores a node whose types are right.
    virtual value_id append(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                            std::span<type_id const> results) = 0;
    /// Elements of a value where the sink follows shape arithmetic.
    [[nodiscard]] virtual tensor_knowledge const* known_elements(value_id) const { return nullptr; }
    /// Receives what inference found out about the elements of a value just appended.
    virtual void on_known_elements(value_id, tensor_knowledge const&) {}
    /// An application was ill-typed and has not been appended.
    virtual void on_ill_typed(std::uint16_t row, std::string_view reason) = 0;

private:
    dialect const* dialect_;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/impl/node_sink.ipp>
#endif
