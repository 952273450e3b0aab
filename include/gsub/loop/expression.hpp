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
    bool scratch = false; ///< memory of the thread that runs a position of the outermost loop; written too

    GSUB_LAZY [[nodiscard]] std::int64_t elements() const noexcept;
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

/// `0 <= value < extent`.
struct bound {
    affine value;
    std::int64_t extent = 0;
};

/// Operations of scalar terms. `maximum` and `minimum` give the second operand only where it is greater or less: a NaN
/// in the first stays. From `square_root` on an operation has one operand; their errors are stated in
/// `codegen/vector_math.hpp`.
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
    square_root,
    negate,
    absolute,
    floor,
    exponential,
    logarithm, ///< natural
    tanh,
    erf,
    sigmoid ///< 1 / (1 + e^-x)
};
GSUB_LAZY [[nodiscard]] std::string_view to_string(scalar_op op) noexcept;

/// Whether an operation has one operand.
[[nodiscard]] constexpr bool is_unary(scalar_op op) noexcept {
    return op >= scalar_op::square_root;
}

/// A scalar term: a node of `tensor_expression::terms`.
struct term {
    scalar_op op = scalar_op::constant;
    double value = 0;                    ///< of a constant
    access source{};                     ///< of a load
    std::vector<bound> within{};         ///< of a load: outside, it is zero
    std::int32_t operands[2] = {-1, -1}; ///< earlier terms
};

/// A further element that a position stores.
struct stored_term {
    access target{};
    std::int32_t value = -1;     ///< a term
    std::vector<bound> within{}; ///< outside, it is not stored
};

/// A computation over buffers. For each position on the spatial axes, `reduced` is `initial` combined with `update` of
/// all positions on the reduction axes that lie within `bounds`; the element stored is `result`. `also` stores more
/// elements a position. A computation with a `check` has no meaning but in a `fused_nest` with a rescue.
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
    std::vector<bound> target_within{}; ///< outside, `result` is not stored
    std::vector<stored_term> also{};
    std::int32_t check = -1;         ///< a term; where a lane of it is not finite, the rescue of the nest stores anew
    std::vector<affine> rescue_at{}; ///< the first positions of the rescue
    std::vector<bound> bounds;       ///< of reads by `update`; outside, a position adds nothing
    std::vector<bound> domain;       ///< spatial positions outside do not exist

    /// Additions, multiplications, comparisons and functions, each counted once, those outside bounds included.
    GSUB_LAZY [[nodiscard]] double operations() const;
};

class expression_builder;
class value;
[[nodiscard]] value apply(scalar_op op, value a, value b);
[[nodiscard]] value apply(scalar_op op, value a);

/// A scalar term under construction.
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
    /// *Requires* an operation of as many operands.
    friend value apply(scalar_op op, value a, value b);
    friend value apply(scalar_op op, value a);
    [[nodiscard]] std::int32_t id() const noexcept { return id_; }

private:
    friend class expression_builder;
    value(expression_builder& in, std::int32_t id) noexcept : in_(&in), id_(id) {}
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
    /// A stage of a fused nest: over the buffers of the stage before it, and those that it adds.
    expression_builder(std::string_view name, std::vector<buffer> buffers) : expression_builder(name) {
        made_.buffers = std::move(buffers);
    }

    GSUB_LAZY [[nodiscard]] affine spatial(std::string_view name, std::int64_t extent);
    GSUB_LAZY [[nodiscard]] affine reduction(std::string_view name, std::int64_t extent);
    GSUB_LAZY [[nodiscard]] std::int32_t input(std::string_view name, std::initializer_list<std::int64_t> dims);
    GSUB_LAZY [[nodiscard]] std::int32_t output(std::string_view name, std::initializer_list<std::int64_t> dims);
    GSUB_LAZY [[nodiscard]] std::int32_t scratch(std::string_view name, std::initializer_list<std::int64_t> dims);
    [[nodiscard]] std::vector<buffer> const& buffers() const noexcept { return made_.buffers; }

    GSUB_LAZY [[nodiscard]] value constant(double v);
    /// An element of a buffer. *Requires* an index for each dimension.
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index);
    /// The same, but zero where a bound does not hold.
    GSUB_LAZY [[nodiscard]] value at(std::int32_t buffer, std::initializer_list<affine> index,
                                     std::initializer_list<bound> within);
    /// The reduction of `update`, within bounds where an index may lie outside its buffer.
    GSUB_LAZY [[nodiscard]] value sum(value initial, value update, std::initializer_list<bound> within = {});
    GSUB_LAZY [[nodiscard]] value maximum(value initial, value update, std::initializer_list<bound> within = {});
    /// Leaves out positions on the spatial axes: the tail of an axis that is given in blocks.
    void only(bound where) { made_.domain.push_back(std::move(where)); }
    /// Stores one more element a position; only where the bounds hold.
    GSUB_LAZY void also(std::int32_t buffer, std::initializer_list<affine> index, value v,
                        std::initializer_list<bound> within = {});
    /// Where `v` is infinite or NaN in some lane, or the sum of all lanes is, what was stored is replaced by the rescue
    /// of the nest, at `at` on its outermost axes (see `fused_nest::rescue`).
    GSUB_LAZY void check(value v, std::initializer_list<affine> at);
    /// The computation, whose element at an index is `v`; not stored where a bound does not hold.
    GSUB_LAZY [[nodiscard]] tensor_expression store(std::int32_t buffer, std::initializer_list<affine> index, value v,
                                                    std::initializer_list<bound> within = {});

private:
    friend value apply(scalar_op op, value a, value b);
    friend value apply(scalar_op op, value a);
    GSUB_LAZY affine add_axis(std::string_view name, std::int64_t extent, axis_kind kind);
    GSUB_LAZY std::int32_t add_buffer(std::string_view name, std::initializer_list<std::int64_t> dims, bool written);
    GSUB_LAZY value add(term t);
    GSUB_LAZY value reduce(scalar_op combine, value initial, value update, std::initializer_list<bound> within);
    tensor_expression made_;
};

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/expression.ipp>
#endif
