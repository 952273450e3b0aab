// Type inference: one trait an operator, local, and able to follow shape arithmetic element by element.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/core/result.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/ir/ops/op.hpp>
#include <gsub/ir/types/tensor_type.hpp>

#include <optional>
#include <span>
#include <string>

namespace gsub {

/// Type inference of an operator. A specialisation has `static void infer(infer_context&)`, which gives every result a
/// type or calls `fail`. An operator with `decompose<Op>` needs none.
template <class Op>
struct infer_shape;

/// Known element of a small tensor: a fixed whole number, a name, or unknown. Numbers may be negative here, hence not
/// `dim`; they are zero only where their sign is none. Truth values count as the numbers 0 and 1.
struct element_knowledge {
    bool fixed = false;
    std::int64_t value = 0; ///< where `fixed`
    dim size;               ///< where not `fixed`: a named dimension, or unknown
    friend bool operator==(element_knowledge const&, element_knowledge const&) = default;
};
using tensor_knowledge = small_vector<element_knowledge, 4>; ///< in row-major order
/// Limit of shape arithmetic: tensors with more elements than this are not followed.
inline constexpr std::size_t max_known_elements = 64;

/// Inference context: one application of an operator.
class infer_context {
public:
    infer_context(op_info const& op, attributes_id attributes, std::span<type_id const> operands, std::size_t results);

    [[nodiscard]] op_info const& op() const noexcept { return *op_; }
    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes() const {
        static attributes_of<Op> const defaults{};
        auto const* typed = static_cast<attributes_of<Op> const*>(attributes_.typed());
        return typed ? *typed : defaults;
    }
    [[nodiscard]] attributes_id attributes() const noexcept { return attributes_; }

    /// Number of operands given, absent ones included.
    [[nodiscard]] std::size_t operands() const noexcept { return types_.size(); }
    [[nodiscard]] bool has(std::size_t operand) const noexcept { return operand < types_.size() && !absent_[operand]; }
    [[nodiscard]] tensor_type const& type(std::size_t operand) const { return *types_[operand]; }
    /// Elements of an operand where they are known and it is a list or one number.
    [[nodiscard]] tensor_knowledge const* known(std::size_t operand) const noexcept;
    /// The same of an operand of any rank; where it has more than one dimension, its type is static.
    [[nodiscard]] tensor_knowledge const* known_elements(std::size_t operand) const noexcept;
    /// Elements of an operand where every one is a known number.
    [[nodiscard]] std::optional<ints> known_ints(std::size_t operand) const;
    /// Marks an optional operand as left out.
    void set_absent(std::size_t operand) { absent_[operand] = true; }
    void set_known(std::size_t operand, tensor_knowledge k) {
        known_.resize(has_known_.size());
        known_[operand] = std::move(k), has_known_[operand] = true;
    }

    /// How many results the node has.
    [[nodiscard]] std::size_t results() const noexcept { return result_types_.size(); }
    void result(std::size_t port, tensor_type type) { result_types_[port] = std::move(type); }
    /// The elements of result 0.
    void result_knowledge(tensor_knowledge k) { result_known_ = std::move(k); }
    /// Reports an ill-typed application. The first reason is kept; inference should return after it.
    void fail(std::string reason);

    [[nodiscard]] bool failed() const noexcept { return !reason_.empty(); }
    [[nodiscard]] std::string const& reason() const noexcept { return reason_; }
    [[nodiscard]] tensor_type const& result_type(std::size_t port) const { return result_types_[port]; }
    [[nodiscard]] std::optional<tensor_knowledge> const& result_known() const noexcept { return result_known_; }

private:
    op_info const* op_;
    attributes_id attributes_;
    small_vector<type_id, 6> types_;
    small_vector<bool, 6> absent_;
    std::vector<tensor_knowledge> known_; // empty where nothing is known
    small_vector<bool, 6> has_known_;
    std::vector<tensor_type> result_types_;
    std::optional<tensor_knowledge> result_known_;
    std::string reason_;
};

class node_sink;

/// Decomposition of a composite operator into others. A specialisation has
/// `static value_id build(node_sink&, attributes_of<Op> const&, std::span<value_id const> operands)`.
template <class Op>
struct decompose;

template <class Op>
concept decomposable = requires(node_sink& sink, attributes_of<Op> const& a, std::span<value_id const> operands) {
    { decompose<Op>::build(sink, a, operands) } -> std::same_as<value_id>;
};

/// The inference row of an operator.
struct infer_row {
    void (*infer)(infer_context&) = nullptr; ///< null: by decomposition, or not at all
    value_id (*build)(node_sink&, attributes_id, std::span<value_id const>) = nullptr; ///< null: not composite

    template <operation Op>
    static constexpr infer_row of() noexcept {
        infer_row row;
        if constexpr (requires(infer_context & cx) { infer_shape<Op>::infer(cx); })
            row.infer = &infer_shape<Op>::infer;
        else
            static_assert(!specialised<infer_shape<Op>>, "infer_shape<Op> has no `static void infer(infer_context&)`");
        if constexpr (decomposable<Op>)
            row.build = [](node_sink& sink, attributes_id a, std::span<value_id const> operands) {
                static attributes_of<Op> const defaults{};
                auto const* typed = static_cast<attributes_of<Op> const*>(a.typed());
                return decompose<Op>::build(sink, typed ? *typed : defaults, operands);
            };
        return row;
    }
};

/// Dialect: the operators that a graph may contain, as tables.
struct dialect {
    std::span<op_info const> ops;
    std::span<infer_row const> infer;

    /// The tables of a set of operators. There is one object a set, for the life of the program.
    template <class OpSet>
    static dialect const& of() noexcept {
        static dialect const instance{table_of<op_info, OpSet>(), table_of<infer_row, OpSet>()};
        return instance;
    }
};

/// Infers the results of one application. The context holds types or the reason of the failure afterwards.
void infer(dialect const& d, std::uint16_t row, infer_context& cx);

/// Type inference that copies an operand's type: `template <> struct infer_shape<my_op> : same_as_input<0> {};`
template <std::size_t Operand>
struct same_as_input {
    static void infer(infer_context& cx) {
        for (std::size_t port = 0; port < cx.results(); ++port) cx.result(port, cx.type(Operand));
    }
};

/// Type inference of an elementwise operator over all operands, with numpy's broadcasting.
struct broadcast_inputs {
    static void infer(infer_context& cx);
};

/// Broadcast shape of two operands, or nothing where they do not broadcast.
[[nodiscard]] std::optional<shape> broadcast(shape const& a, shape const& b);
/// The axis in [0, rank) of one in [-rank, rank), or nothing.
[[nodiscard]] constexpr std::optional<std::size_t> normalized_axis(std::int64_t axis, std::size_t rank) noexcept {
    auto const r = static_cast<std::int64_t>(rank);
    if (axis < -r || axis >= r) return std::nullopt;
    return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/infer.ipp>
#endif
