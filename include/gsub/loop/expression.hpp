// What a kernel computes, without how: axes, reads with affine indices, and a value for each element of the result.
#pragma once

#include <gsub/ir/dtype.hpp>
#include <gsub/loop/affine.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::loop {

/// An array in memory, row-major over `dims` as they are stored (a blocked layout has its blocks as dimensions).
struct buffer {
    std::string name;
    dtype element = dtype::f32;
    small_vector<std::int64_t, 6> dims;
    bool written = false;

    [[nodiscard]] std::int64_t elements() const noexcept;
};

/// Place of an axis in a computation: one element of the result for each position on the spatial axes, each the
/// combination of a term for each position on the reduction axes.
enum class axis_kind : std::uint8_t { spatial, reduction };

struct axis {
    std::string name;
    std::int64_t extent = 1;
    axis_kind kind = axis_kind::spatial;
};

/// One element of a buffer.
struct access {
    std::int32_t of = 0; ///< number of the buffer
    std::vector<affine> index{};
};

/// Operations of scalar terms. `maximum` and `minimum` give the second operand only where it is greater or less: a NaN
/// in the first stays.
enum class scalar_op : std::uint8_t {
    constant,
    load,
    reduced,
    add,
    subtract,
    multiply,
    divide,
    maximum,
    minimum,
    square_root
};

/// A scalar term: a node of `tensor_expression::terms`.
struct term {
    scalar_op op = scalar_op::constant;
    double value = 0;                    ///< of a constant
    access source{};                     ///< of a load
    std::int32_t operands[2] = {-1, -1}; ///< earlier terms
};

/// `0 <= value < extent`.
struct bound {
    affine value;
    std::int64_t extent = 0;
};

/// A computation over buffers. For each position on the spatial axes, `reduced` is `initial` combined with `update` of
/// all positions on the reduction axes that lie within `bounds`; the element stored is `result`.
struct tensor_expression {
    std::string name;
    std::vector<axis> axes; ///< variable i is axis i
    std::vector<buffer> buffers;
    std::vector<term> terms;
    scalar_op combine = scalar_op::add; ///< add, or maximum, which here keeps any NaN
    std::int32_t initial = -1;          ///< what a reduction starts from; -1: there is none
    std::int32_t update = -1;
    std::int32_t result = -1; ///< may read `reduced`
    access target;
    std::vector<bound> bounds; ///< of reads by `update`; outside, a position adds nothing
    std::vector<bound> domain; ///< spatial positions outside do not exist

    /// Additions, multiplications and comparisons, those outside bounds included.
    [[nodiscard]] double operations() const;
};

class expression_builder;

/// A scalar term under construction.
class value {
public:
    friend value operator+(value a, value b) { return a.apply(scalar_op::add, b); }
    friend value operator-(value a, value b) { return a.apply(scalar_op::subtract, b); }
    friend value operator*(value a, value b) { return a.apply(scalar_op::multiply, b); }
    friend value operator/(value a, value b) { return a.apply(scalar_op::divide, b); }
    friend value max(value a, value b) { return a.apply(scalar_op::maximum, b); }
    friend value min(value a, value b) { return a.apply(scalar_op::minimum, b); }
    [[nodiscard]] std::int32_t id() const noexcept { return id_; }

private:
    friend class expression_builder;
    value(expression_builder& in, std::int32_t id) noexcept : in_(&in), id_(id) {}
    [[nodiscard]] value apply(scalar_op op, value other) const;
    expression_builder* in_;
    std::int32_t id_;
};

/// Builds a computation:
///
///     expression_builder e{"matmul"};
///     auto const i = e.spatial("i", m), j = e.spatial("j", n), k = e.reduction("k", inner);
///     auto const a = e.input("a", {m, inner}), b = e.input("b", {inner, n}), c = e.output("c", {m, n});
///     auto const sum = e.sum(e.constant(0), e.at(a, {i, k}) * e.at(b, {k, j}));
///     auto const product = e.store(c, {i, j}, sum);
class expression_builder {
public:
    explicit expression_builder(std::string_view name) { made_.name = name; }

    [[nodiscard]] affine spatial(std::string_view name, std::int64_t extent);
    [[nodiscard]] affine reduction(std::string_view name, std::int64_t extent);
    [[nodiscard]] std::int32_t input(std::string_view name, std::initializer_list<std::int64_t> dims);
    [[nodiscard]] std::int32_t output(std::string_view name, std::initializer_list<std::int64_t> dims);

    [[nodiscard]] value constant(double v);
    /// An element of a buffer. *Requires* an index for each dimension.
    [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index);
    /// The reduction of `update`, within bounds where an index may lie outside its buffer.
    [[nodiscard]] value sum(value initial, value update, std::initializer_list<bound> within = {});
    [[nodiscard]] value maximum(value initial, value update, std::initializer_list<bound> within = {});
    /// Leaves out positions on the spatial axes: the tail of an axis that is given in blocks.
    void only(bound where) { made_.domain.push_back(std::move(where)); }
    /// The computation, whose element at an index is `v`.
    [[nodiscard]] tensor_expression store(std::int32_t buffer, std::initializer_list<affine> index, value v);

private:
    friend class value;
    affine add_axis(std::string_view name, std::int64_t extent, axis_kind kind);
    std::int32_t add_buffer(std::string_view name, std::initializer_list<std::int64_t> dims, bool written);
    value add(term t);
    value reduce(scalar_op combine, value initial, value update, std::initializer_list<bound> within);
    tensor_expression made_;
};

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/expression.ipp>
#endif
