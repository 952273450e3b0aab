// Tensor expressions: what a kernel computes, without a schedule: axes, affine accesses, a value for each element.
#pragma once

#include <gsub/ir/types/dtype.hpp>
#include <gsub/loop/affine.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::loop {

/// Buffer: an array, row-major over `dims` as they are stored (a blocked layout has its blocks as dimensions).
struct buffer {
    std::string name;
    dtype element = dtype::f32;
    small_vector<std::int64_t, 6> dims;
    bool written = false;
    bool workspace = false; ///< memory of the thread that runs a position of the outermost loop; written too
    small_vector<std::int64_t, 6> strides{}; ///< elements from one index to the next, at least 0; none: row-major

    /// Elements from the first to the last one that an index reaches, gaps included.
    GSUB_LAZY [[nodiscard]] std::int64_t elements() const noexcept;
};

/// Axis kind. Each position on the spatial axes gives one element of the result; it combines an expression over all
/// positions on the reduction axes.
enum class axis_kind : std::uint8_t { spatial, reduction };

struct axis {
    std::string name;
    std::int64_t extent = 1;
    axis_kind kind = axis_kind::spatial;
};

/// Lookup: a function of axes that is not affine, the entry `by` of a table.
struct lookup {
    affine by{};
    std::vector<std::int64_t> table{}; ///< empty: zero
};

/// Access: one element of a buffer.
struct access {
    std::int32_t of = 0; ///< number of the buffer
    std::vector<affine> index{};
    lookup beyond{}; ///< of loads: offset from the index, in elements
};

/// Bound: `0 <= value < extent`.
struct bound {
    affine value;
    std::int64_t extent = 0;
};

/// Gather index: the entry of a buffer that an integer chooses at run time; negative ones count from the end. Where it
/// is out of range, the one element of the i32 buffer `status` becomes 1, and the entry is the first one.
struct chosen_entry {
    std::int32_t by = -1;     ///< a scalar expression, i32 or i64; -1: nothing is chosen
    std::int64_t entries = 0; ///< at least one
    std::int64_t stride = 0;  ///< between entries, in elements
    std::int32_t status = -1; ///< number of the status buffer
};

/// Scatter index: a variable behind those of the axes, whose value an integer of a buffer gives at run time, below
/// `entries`; negative ones count from the end. Where it is out of range, the one element of the i32 buffer `status`
/// becomes 1, and the value is 0. Positions that may store to one place run in the order of the axes.
struct chosen_index {
    variable var = -1;
    access source{};          ///< an i32 or i64
    std::int64_t entries = 1; ///< at least one
    std::int32_t status = -1; ///< number of the status buffer
};

/// A scalar expression, whose operands are earlier ones: an entry of `tensor_expression::exprs`.
struct scalar_expr {
    scalar_op op = scalar_op::constant;
    dtype type = dtype::f32;                 ///< of its value
    std::int32_t load = -1;                  ///< of a load: its entry of `tensor_expression::loads`
    std::int32_t operands[3] = {-1, -1, -1}; ///< earlier ones
    double value = 0;                        ///< of a constant of a floating type; of a load: outside of its predicate
    std::int64_t integer = 0;                ///< the same of other types; of u64 beyond i64 its bits
};

/// What a load reads: an entry of `tensor_expression::loads`, which are few beside the expressions.
struct loaded_element {
    access source{};
    std::vector<bound> predicate{}; ///< outside, the expression is its `value` or `integer`
    chosen_entry chosen{};          ///< the element lies in this entry, `source` in the first one
};

/// Additional store: one more element that a position stores.
struct stored_expr {
    access target{};
    std::int32_t value = -1;        ///< a scalar expression
    std::vector<bound> predicate{}; ///< outside, it is not stored
};

/// Tensor expression: a computation over buffers. For each position on the spatial axes, `reduced` combines `initial`
/// with `update` of all positions on the reduction axes that lie within `bounds`; the element stored is `result`.
/// `more_stores` store more elements. A `guard` is legal only in a `fused_nest` with a fallback.
struct tensor_expression {
    std::string name;
    std::vector<axis> axes; ///< variable i is axis i
    std::vector<buffer> buffers;
    std::vector<scalar_expr> exprs;
    std::vector<loaded_element> loads;
    std::vector<chosen_index> chosen{};
    scalar_op combine = scalar_op::add; ///< add, or maximum, which here keeps any NaN
    std::int32_t initial = -1;          ///< what a reduction starts from; -1: there is none
    std::int32_t update = -1;
    std::int32_t result = -1; ///< may read `reduced`
    access target;
    std::vector<bound> target_predicate{}; ///< outside, `result` is not stored
    std::vector<stored_expr> more_stores{};
    std::int32_t guard =
        -1; ///< a scalar expression; where a lane of it is not finite, the fallback of the nest stores anew
    std::vector<affine> fallback_at{}; ///< the first positions of the fallback
    std::vector<bound> bounds;         ///< of reads by `update`; outside, a position adds nothing
    std::vector<bound> domain;         ///< spatial positions outside do not exist

    /// What a load reads.
    [[nodiscard]] loaded_element const& read_by(scalar_expr const& t) const {
        return loads[static_cast<std::size_t>(t.load)];
    }
    /// The access as an offset in its buffer, in elements.
    GSUB_LAZY [[nodiscard]] affine offset_of(access const& a) const;
    /// Counts additions, multiplications, comparisons and functions, each once, those outside bounds included.
    GSUB_LAZY [[nodiscard]] double operations() const;
};

class expression_builder;
class value;
[[nodiscard]] value apply(scalar_op op, value a, value b);
[[nodiscard]] value apply(scalar_op op, value a);
[[nodiscard]] value cast(value a, dtype to);
[[nodiscard]] value select(value condition, value a, value b);

/// Handle of a scalar expression under construction.
class value {
public:
    friend value operator+(value a, value b) { return apply(scalar_op::add, a, b); }
    friend value operator-(value a, value b) { return apply(scalar_op::subtract, a, b); }
    friend value operator*(value a, value b) { return apply(scalar_op::multiply, a, b); }
    friend value operator/(value a, value b) { return apply(scalar_op::divide, a, b); }
    friend value max(value a, value b) { return apply(scalar_op::maximum, a, b); }
    friend value min(value a, value b) { return apply(scalar_op::minimum, a, b); }
    friend value operator-(value a) { return apply(scalar_op::negate, a); }
    friend value sqrt(value a) { return apply(scalar_op::square_root, a); }
    friend value abs(value a) { return apply(scalar_op::absolute, a); }
    friend value floor(value a) { return apply(scalar_op::floor, a); }
    friend value exp(value a) { return apply(scalar_op::exponential, a); }
    friend value log(value a) { return apply(scalar_op::logarithm, a); }
    friend value tanh(value a) { return apply(scalar_op::tanh, a); }
    friend value erf(value a) { return apply(scalar_op::erf, a); }
    friend value sigmoid(value a) { return apply(scalar_op::sigmoid, a); }
    /// *Requires* an operation of as many operands, which are of one type that it computes with.
    friend value apply(scalar_op op, value a, value b);
    friend value apply(scalar_op op, value a);
    /// The value in another type; itself where it has that type.
    friend value cast(value a, dtype to);
    /// `a` where the condition holds, else `b`. *Requires* a bool, and two values of one type.
    friend value select(value condition, value a, value b);
    [[nodiscard]] std::int32_t id() const noexcept { return id_; }
    [[nodiscard]] dtype type() const noexcept;

private:
    friend class expression_builder;
    value(expression_builder& in, std::int32_t id) noexcept : in_(&in), id_(id) {}
    [[nodiscard]] scalar_expr const& made() const noexcept;
    expression_builder* in_;
    std::int32_t id_;
};

/// Builder of a tensor expression:
///
///     expression_builder e{"matmul"};
///     auto const i = e.spatial("i", m), j = e.spatial("j", n), k = e.reduction("k", inner);
///     auto const a = e.input("a", {m, inner}), b = e.input("b", {inner, n}), c = e.output("c", {m, n});
///     auto const sum = e.sum(e.constant(0), e.at(a, {i, k}) * e.at(b, {k, j}));
///     auto const product = e.store(c, {i, j}, sum);
class expression_builder {
public:
    explicit expression_builder(std::string_view name) { made_.name = name; }
    /// Begins a stage of a fused nest, over the buffers of the stage before it and those that it adds.
    expression_builder(std::string_view name, std::vector<buffer> buffers) : expression_builder(name) {
        made_.buffers = std::move(buffers);
    }

    GSUB_LAZY [[nodiscard]] affine spatial(std::string_view name, std::int64_t extent);
    GSUB_LAZY [[nodiscard]] affine reduction(std::string_view name, std::int64_t extent);
    GSUB_LAZY [[nodiscard]] std::int32_t input(std::string_view name, std::initializer_list<std::int64_t> dims,
                                               dtype element = dtype::f32);
    GSUB_LAZY [[nodiscard]] std::int32_t output(std::string_view name, std::initializer_list<std::int64_t> dims,
                                                dtype element = dtype::f32);
    GSUB_LAZY [[nodiscard]] std::int32_t workspace(std::string_view name, std::initializer_list<std::int64_t> dims,
                                                   dtype element = dtype::f32);
    /// Sets the strides of a buffer that is not row-major, one a dimension. *Returns* the buffer.
    GSUB_LAZY std::int32_t set_strides(std::int32_t b, std::initializer_list<std::int64_t> strides);
    [[nodiscard]] std::vector<buffer> const& buffers() const noexcept { return made_.buffers; }

    /// Constant of a floating type.
    GSUB_LAZY [[nodiscard]] value constant(double v, dtype type = dtype::f32);
    /// Constant of an integer type, or a bool; of u64 beyond the range of i64, its bits.
    GSUB_LAZY [[nodiscard]] value integer(std::int64_t v, dtype type);
    /// Constant of any type: `real` where that is floating, else `whole`.
    GSUB_LAZY [[nodiscard]] value number(double real, std::int64_t whole, dtype type);
    /// Load of an element. *Requires* an index for each dimension.
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index);
    /// Predicated load: where a bound does not hold, zero, or `outside`, a constant of the buffer's type.
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index,
                                     std::initializer_list<bound> predicate);
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index,
                                     std::vector<bound> predicate, value outside);
    /// Load `beyond` elements after an index. *Requires* that it is in the buffer for every index of the table.
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index, lookup beyond);
    /// Gather: load from the entry that `by` chooses; `index` is the place of the element in the first entry.
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index, value by,
                                     std::int64_t entries, std::int64_t stride, std::int32_t status);
    /// Scatter index: the variable that an integer of a buffer chooses below `entries`. *Requires* all axes before it.
    GSUB_LAZY [[nodiscard]] affine choose(std::int32_t buffer, std::initializer_list<affine> index,
                                          std::int64_t entries, std::int32_t status);
    /// Reduction of `update`; `predicate` bounds it where an index may lie outside its buffer.
    GSUB_LAZY [[nodiscard]] value sum(value initial, value update, std::initializer_list<bound> predicate = {});
    GSUB_LAZY [[nodiscard]] value maximum(value initial, value update, std::initializer_list<bound> predicate = {});
    /// Restricts the spatial domain: cuts off the tail of an axis that is given in blocks.
    /// Positions outside choose no index; a bound on a chosen index says which are stored.
    void restrict_domain(bound where) { made_.domain.push_back(std::move(where)); }
    /// Stores one more element a position, only where the bounds hold.
    GSUB_LAZY void also_store(std::int32_t buffer, std::initializer_list<affine> index, value v,
                              std::initializer_list<bound> predicate = {});
    /// Guards the result: where a lane of `v`, or the sum of all lanes, is infinite or NaN, the fallback of the nest
    /// replaces what was stored, at `at` on its outermost axes (see `fused_nest::fallback`).
    GSUB_LAZY void guard(value v, std::initializer_list<affine> at);
    /// Finishes the computation: `v` is its element at an index, stored only where all bounds hold.
    GSUB_LAZY [[nodiscard]] tensor_expression store(std::int32_t buffer, std::initializer_list<affine> index, value v,
                                                    std::vector<bound> predicate = {});

private:
    friend class value;
    friend value apply(scalar_op op, value a, value b);
    friend value apply(scalar_op op, value a);
    friend value cast(value a, dtype to);
    friend value select(value condition, value a, value b);
    GSUB_LAZY affine add_axis(std::string_view name, std::int64_t extent, axis_kind kind);
    GSUB_LAZY std::int32_t add_buffer(std::string_view name, std::initializer_list<std::int64_t> dims, bool written,
                                      dtype element);
    GSUB_LAZY void check_choice(std::int64_t entries, std::int32_t status) const;
    GSUB_LAZY value add(scalar_expr const& t);
    GSUB_LAZY value reduce(scalar_op combine, value initial, value update, std::initializer_list<bound> predicate);
    tensor_expression made_;
};

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/expression.ipp>
#endif
