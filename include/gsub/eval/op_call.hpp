// `op_call<T>`: one call of an operator on tensors, as `evaluate<Op>` sees it.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/eval/scalar.hpp>
#include <gsub/ir/ops/op.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace gsub {

/// Op call without its scalar type: operands and results of one application. Floating tensors hold the scalar that is
/// computed with, whatever the graph declares; integer and boolean ones hold what they are.
struct op_call_args {
    op_info const* op = nullptr;
    attributes_id attributes;
    std::span<tensor const* const> operands; ///< null where one is left out
    /// Of the right types, elements not set; nothing where data decide sizes: then `make_result` makes them.
    std::span<tensor> results;
    std::span<dtype const> declared; ///< element types of the operands in the graph
    dtype scalar = dtype::f32;       ///< f32, f64 or field61 where floats are involved, else the integers' type
    executor* threads = nullptr;     ///< never null in a call
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max(); ///< refuse a result larger than this

    /// Makes a result, elements not set. *Errors* throws `error` (`unsupported`) beyond `max_bytes`.
    tensor& make_result(std::size_t port, dtype element, std::span<std::int64_t const> dims);
};

/// Op call: `op_call_args` with the scalar as a type.
template <class T>
class op_call {
public:
    explicit op_call(op_call_args& args) noexcept : args_(&args) {}

    template <operation Op>
    [[nodiscard]] attributes_of<Op> const& attributes() const {
        static attributes_of<Op> const defaults{};
        auto const* typed = static_cast<attributes_of<Op> const*>(args_->attributes.typed());
        return typed ? *typed : defaults;
    }
    [[nodiscard]] std::size_t operands() const noexcept { return args_->operands.size(); }
    [[nodiscard]] bool has(std::size_t i) const noexcept { return i < args_->operands.size() && args_->operands[i]; }
    [[nodiscard]] tensor const& operand(std::size_t i) const noexcept { return *args_->operands[i]; }
    [[nodiscard]] std::span<std::int64_t const> dims(std::size_t i) const noexcept { return operand(i).dims(); }
    [[nodiscard]] std::span<T const> in(std::size_t i) const { return operand(i).template data<T>(); }
    [[nodiscard]] std::size_t results() const noexcept { return args_->results.size(); }
    [[nodiscard]] tensor& result(std::size_t i) const noexcept { return args_->results[i]; }
    [[nodiscard]] std::span<std::int64_t const> result_dims(std::size_t i = 0) const noexcept {
        return result(i).dims();
    }
    [[nodiscard]] std::span<T> out(std::size_t i = 0) const { return result(i).template mutable_data<T>(); }
    [[nodiscard]] executor& threads() const noexcept { return *args_->threads; }
    [[nodiscard]] op_call_args& args() const noexcept { return *args_; }

private:
    op_call_args* args_;
};

/// Evaluation of an operator. A specialisation has one of
/// - `template <class T> static T scalar(T x, ...)`: elementwise, of one or two operands, and the same with the
///   attributes in front: `scalar(attributes_of<Op> const&, T x, ...)`;
/// - `template <class T> static void run(op_call<T>&)`: anything that computes;
/// - `static void move(op_call_args&)`: what only moves elements, for every element type;
/// and may have `integers` (false: whether it is defined on integers too), `booleans` (false: whether truth values are
/// such integers, 0 and 1), `any_scalar` (false: whether `run` also
/// means something for a scalar that lacks what the operator needs), `uninterpreted_in_field` (false: whether `move`
/// means nothing there), and `static std::optional<ints> result_dims(std::span<tensor const* const>)`, the dimensions
/// of the result where inference cannot tell them without the elements of large or floating operands; or
/// `decides_sizes` (false: whether `move` makes all results itself, since data decide a size that inference leaves
/// open).
template <class Op>
struct evaluate;

namespace detail {

/// Image of a real constant in the integer or floating type that operand 0 has in the graph: integers narrower than T
/// saturate too.
template <class T>
[[nodiscard]] T constant_in(op_call<T>& k, double value) {
    auto const exact = math::constant<T>(value);
    if constexpr (std::is_integral_v<T>) {
        auto const type = k.args().declared[0];
        auto const most = static_cast<T>(std::numeric_limits<std::uint64_t>::max() >> (64 - integer_digits(type)));
        return std::clamp(exact, info(type).is_signed ? static_cast<T>(~most) : T{0}, most);
    } else {
        return exact;
    }
}

} // namespace detail

/// Box index: steps through the positions of a box in row-major order.
class box_index {
public:
    explicit box_index(std::span<std::int64_t const> dims) : dims_(dims.begin(), dims.end()), at_(dims.size(), 0) {}
    [[nodiscard]] std::int64_t operator[](std::size_t i) const noexcept { return at_[i]; }
    [[nodiscard]] std::span<std::int64_t const> position() const noexcept { return at_; }
    /// Goes to the next position; false at the end, where it is at the first again.
    bool next() noexcept {
        for (auto i = dims_.size(); i-- > 0;) {
            if (++at_[i] < dims_[i]) return true;
            at_[i] = 0;
        }
        return false;
    }

private:
    small_vector<std::int64_t, 6> dims_, at_;
};

namespace detail {

/// to[j][i] = from[i][j] for a matrix of `rows` x `columns`, whose rows are `from_step` elements apart and those of the
/// result `to_step`, in squares that stay in the first-level cache.
template <class T>
void transpose_matrix(T const* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t rows,
                      std::int64_t columns) {
    constexpr std::int64_t square = 32;
    for (std::int64_t j0 = 0; j0 < columns; j0 += square)
        for (std::int64_t i0 = 0; i0 < rows; i0 += square) {
            auto const i1 = i0 + square < rows ? i0 + square : rows, j1 = j0 + square < columns ? j0 + square : columns;
            for (auto j = j0; j < j1; ++j)
                for (auto i = i0; i < i1; ++i) to[j * to_step + i] = from[i * from_step + j];
        }
}

} // namespace detail

} // namespace gsub
