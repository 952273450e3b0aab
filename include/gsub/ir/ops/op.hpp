// Operators: an empty tag, a trait with its facts, and tables made from the traits of a set of operators.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/result.hpp>
#include <gsub/ir/ops/attributes.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace gsub {

/// Operator category: what an operator does with its operands, as far as fusion, costs and rules need to know it.
enum class op_category : std::uint8_t {
    structural,  ///< inputs, constants, results, calls: the graph's own nodes
    source,      ///< makes a tensor out of attributes
    elementwise, ///< each result element depends on one element of each operand, with numpy's broadcasting
    injective,   ///< moves elements: reshape, transpose, concat, split, slice, pad, gather
    reduction,   ///< combines elements along dimensions: pooling, softmax
    contraction, ///< sums of products: convolution, matrix product
    opaque,      ///< not known to gsub: kept, never touched
};
[[nodiscard]] constexpr std::string_view to_string(op_category c) noexcept {
    constexpr std::string_view names[] = {"structural", "source",      "elementwise", "injective",
                                          "reduction",  "contraction", "opaque"};
    return names[static_cast<std::size_t>(c)];
}

/// Scalar requirement: what an operator needs of the scalar that it computes with. For a scalar that lacks it (a prime
/// field has no order) the operator is an uninterpreted function.
enum class scalar_needs : std::uint8_t {
    nothing,        ///< moves elements
    ring,           ///< sums and products
    field,          ///< quotients too
    ordered,        ///< comparisons
    transcendental, ///< exp and the like
};

/// Layout policy: which operands an operator reads in other layouts than row-major, and the layout of its results then.
/// A layout names the storage of a value and never what it means, so every operator computes the same in all of them.
enum class layout_policy : std::uint8_t {
    row_major,        ///< it reads and gives row-major values alone
    propagates,       ///< operands agree, and the result is stored as they are; those that broadcast may be row-major
    propagates_first, ///< the result is stored as operand 0; all others are row-major
    concatenates,     ///< operands agree, all of them, and the result is stored as they are
    any,              ///< it reads every layout and says itself how the result is stored
};

/// Operator traits: the facts of an operator. A specialisation has
/// `name`; `min_inputs`, `max_inputs` (`variadic` for no bound); `category`; and may have `domain` (default: ONNX's
/// own, the empty string), `results` (1; `variadic` where attributes decide), `needs`, `commutative` (false: whether
/// the order of the operands has no meaning), `composite` (false: given by `decompose<Op>`), `aliasing_view` (false:
/// result is the operand's memory), `commutative_reduction` (false: each operand element goes into exactly one result
/// element, as in a mean along an axis and not in a window or a softmax), `layouts` (a `layout_policy`; `propagates`
/// for elementwise operators, else `row_major`), and an `attributes` struct with an array `fields`.
template <class Op>
struct op_traits;

/// Number of operands or results without an upper bound.
inline constexpr int variadic = -1;

/// A type that has operator traits.
template <class Op>
concept operation = requires {
    { op_traits<Op>::name } -> std::convertible_to<std::string_view>;
    { op_traits<Op>::min_inputs } -> std::convertible_to<int>;
    { op_traits<Op>::max_inputs } -> std::convertible_to<int>;
    { op_traits<Op>::category } -> std::convertible_to<op_category>;
};

namespace detail {
template <class Op>
struct attributes_type {
    using type = no_attributes;
};
template <class Op>
requires requires {
    typename op_traits<Op>::attributes;
}
struct attributes_type<Op> {
    using type = typename op_traits<Op>::attributes;
};
} // namespace detail

/// The attribute struct of an operator.
template <operation Op>
using attributes_of = typename detail::attributes_type<Op>::type;

/// Domain of an operator; the empty string is ONNX's own.
template <operation Op>
[[nodiscard]] constexpr std::string_view domain_of() noexcept {
    if constexpr (requires { op_traits<Op>::domain; })
        return op_traits<Op>::domain;
    else
        return {};
}

[[nodiscard]] constexpr op_id make_op_id(std::string_view domain, std::string_view name) noexcept {
    return static_cast<op_id>(hasher{}.add(domain).add(name).finish().low);
}

/// Identity of an operator.
template <operation Op>
inline constexpr op_id id_of = make_op_id(domain_of<Op>(), op_traits<Op>::name);

/// Interned form of an operator's attributes.
template <operation Op>
[[nodiscard]] attributes_id intern(attributes_of<Op> const& a) {
    return {id_of<Op>, layout_of<attributes_of<Op>>, &a};
}

/// Operator traits as data: one row of the table that engines read.
struct op_info {
    op_id id{};
    std::string_view name;
    std::string_view domain;
    int min_inputs = 0;
    int max_inputs = 0;
    int results = 1;
    op_category category = op_category::opaque;
    scalar_needs needs = scalar_needs::transcendental;
    bool commutative = false;
    bool composite = false;
    bool aliasing_view = false;
    bool commutative_reduction = false;
    layout_policy layouts = layout_policy::row_major;
    attribute_layout layout;

    [[nodiscard]] std::span<attribute_info const> attributes() const noexcept { return layout.fields; }
    /// Interns values of the declared kinds. *Errors* `invalid_input` for a value that names no enumerator.
    [[nodiscard]] result<attributes_id> intern(std::vector<attribute_value> values) const;
    [[nodiscard]] bool accepts(std::size_t operands) const noexcept {
        return static_cast<int>(operands) >= min_inputs &&
               (max_inputs == variadic || static_cast<int>(operands) <= max_inputs);
    }
    /// Whether an application to `operands` operands is of the category `c`, has one result that is no view, and treats
    /// all operands alike: operands that may be left out are settings, as a clip's bounds are.
    [[nodiscard]] bool is_plain(op_category c, std::size_t operands) const noexcept {
        return category == c && !aliasing_view && results == 1 && accepts(operands) &&
               (operands <= 1 || static_cast<int>(operands) <= min_inputs || max_inputs == variadic);
    }

    /// The row of `Op`.
    template <operation Op>
    static constexpr op_info of() noexcept {
        using t = op_traits<Op>;
        op_info row;
        row.id = id_of<Op>;
        row.name = t::name;
        row.domain = domain_of<Op>();
        row.min_inputs = t::min_inputs;
        row.max_inputs = t::max_inputs;
        row.category = t::category;
        row.needs = t::category == op_category::injective || t::category == op_category::structural
                        ? scalar_needs::nothing
                        : scalar_needs::transcendental;
        if constexpr (requires { t::results; }) row.results = t::results;
        if constexpr (requires { t::needs; }) row.needs = t::needs;
        if constexpr (requires { t::commutative; }) row.commutative = t::commutative;
        if constexpr (requires { t::composite; }) row.composite = t::composite;
        if constexpr (requires { t::aliasing_view; }) row.aliasing_view = t::aliasing_view;
        if constexpr (requires { t::layouts; })
            row.layouts = t::layouts;
        else if (t::category == op_category::elementwise)
            row.layouts = layout_policy::propagates;
        if constexpr (requires { t::commutative_reduction; }) row.commutative_reduction = t::commutative_reduction;
        row.layout = layout_of<attributes_of<Op>>;
        return row;
    }
};

/// The graph's own nodes, which every set of operators contains.
namespace ops {
struct input {};    ///< a parameter of the graph
struct constant {}; ///< a tensor of the graph's constant pool
struct results {};  ///< the one node whose operands are the graph's outputs
struct opaque {};   ///< an operator that gsub does not know, or not in this form, kept as it was in the file
struct call {};     ///< a call of another function of the module

/// The reason of an opaque node whose operator has no row; other reasons tell what a known operator lacks.
inline constexpr std::string_view not_known = "gsub does not know this operator";
} // namespace ops

template <>
struct op_traits<ops::input> {
    static constexpr std::string_view name = "input", domain = "gsub";
    static constexpr int min_inputs = 0, max_inputs = 0;
    static constexpr auto category = op_category::structural;
};
template <>
struct op_traits<ops::constant> : op_traits<ops::input> {
    static constexpr std::string_view name = "constant";
};
template <>
struct op_traits<ops::results> : op_traits<ops::input> {
    static constexpr std::string_view name = "results";
    static constexpr int max_inputs = variadic, results = 0;
};
template <>
struct op_traits<ops::opaque> : op_traits<ops::results> {
    static constexpr std::string_view name = "opaque";
    static constexpr auto category = op_category::opaque;
    static constexpr int results = variadic;
    struct attributes {
        std::string domain{}, op_type{}; ///< as in the file; the node itself is a blob of the constant pool
        std::string reason{};            ///< why gsub does not compute it
        static constexpr field<attributes> fields[] = {
            {"domain", &attributes::domain}, {"op_type", &attributes::op_type}, {"reason", &attributes::reason}};
    };
};
template <>
struct op_traits<ops::call> : op_traits<ops::results> {
    static constexpr std::string_view name = "call";
    static constexpr int results = variadic;
    struct attributes {
        std::string callee{}; ///< name of a function of the module
        static constexpr field<attributes> fields[] = {{"callee", &attributes::callee}};
    };
};

/// Operator set. Graphs, importers, evaluators and rules are made for one.
template <operation... Ops>
struct op_set {
    using list = type_list<ops::input, ops::constant, ops::results, ops::opaque, ops::call, Ops...>;
    /// The set with further operators.
    template <operation... More>
    using with = op_set<Ops..., More...>;
    template <class Op>
    static constexpr bool contains = (std::same_as<Op, Ops> || ...);
    static constexpr std::size_t size = sizeof...(Ops) + 5;
};

namespace detail {
template <class... Sets>
struct join_ops;
template <class... A>
struct join_ops<op_set<A...>> {
    using type = op_set<A...>;
};
template <class... A, class... B, class... Rest>
struct join_ops<op_set<A...>, op_set<B...>, Rest...> : join_ops<op_set<A..., B...>, Rest...> {};
} // namespace detail
/// Union of several operator sets.
template <class... Sets>
using joined_ops = typename detail::join_ops<Sets...>::type;

/// Row numbers of the graph's own nodes, which lead every table, in the order of `op_set::list`.
namespace structural {
inline constexpr std::uint16_t input = 0, constant = 1, results = 2, opaque = 3, call = 4;
/// Whether the payload of a node of this row is a number in the constant pool.
[[nodiscard]] constexpr bool has_blob(std::uint16_t row) noexcept {
    return row == constant || row == opaque;
}
} // namespace structural
/// Number of these rows.
inline constexpr std::uint16_t structural_rows = 5;

namespace detail {

/// Rows of the graph's own nodes first, then the others by identity: the same order for every kind of row.
template <class Row, class... Ops>
constexpr std::array<Row, sizeof...(Ops)> make_table(type_list<Ops...>) {
    std::array<Row, sizeof...(Ops)> rows{Row::template of<Ops>()...};
    std::array<std::uint64_t, sizeof...(Ops)> ids{static_cast<std::uint64_t>(id_of<Ops>)...};
    for (std::size_t i = structural_rows; i < rows.size();
         ++i) // insertion sort: std::sort cannot move two arrays at once
        for (auto j = i; j > structural_rows && ids[j] < ids[j - 1]; --j) {
            std::swap(ids[j], ids[j - 1]);
            std::swap(rows[j], rows[j - 1]);
        }
    return rows;
}

/// Storage of the table; `gsub::compiled` instantiates those of the standard operators.
template <class Row, class OpSet>
struct table_storage {
    static const std::array<Row, OpSet::size> rows;
};
template <class Row, class OpSet>
constinit const std::array<Row, OpSet::size> table_storage<Row, OpSet>::rows = make_table<Row>(typename OpSet::list{});

} // namespace detail

/// The table of one layer's trait over a set of operators: one row an operator, in the same order for every `Row`, so
/// that the row number of an operator serves in all of them.
template <class Row, class OpSet>
[[nodiscard]] std::span<Row const> table_of() noexcept {
    return detail::table_storage<Row, OpSet>::rows;
}

/// Row number of an operator in the tables of a set that contains it.
template <operation Op, class... Ops>
[[nodiscard]] constexpr std::uint16_t row_of(op_set<Ops...>) noexcept {
    for (std::uint16_t row = 0; auto id : {id_of<ops::input>, id_of<ops::constant>, id_of<ops::results>,
                                           id_of<ops::opaque>, id_of<ops::call>}) {
        if (id == id_of<Op>) return row;
        ++row;
    }
    return static_cast<std::uint16_t>((structural_rows + ... + (id_of<Ops> < id_of<Op>)));
}

/// Row number of the operator with an identity or name, or nothing.
[[nodiscard]] std::optional<std::uint16_t> find_row(std::span<op_info const> table, op_id id) noexcept;
[[nodiscard]] std::optional<std::uint16_t> find_row(std::span<op_info const> table, std::string_view domain,
                                                    std::string_view name) noexcept;

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/ir/ops/impl/op.ipp>
#endif
