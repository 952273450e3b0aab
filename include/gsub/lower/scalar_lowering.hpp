// scalar_lowering: the trait that lowers an elementwise operator to an expression, one row an operator.
#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/kernels/row_reduction.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gsub {

class scalar_builder;

/// Scalar of a kernel under construction: a value or a number. Its type is that of computation: f32 for f16 and bf16.
class scalar {
public:
    scalar() = default; ///< an operand that is left out
    [[nodiscard]] dtype type() const noexcept { return type_; }
    [[nodiscard]] bool present() const noexcept { return in_ != nullptr; }
    [[nodiscard]] bool is_number() const noexcept { return present() && value_ < 0; }
    /// The number. *Requires* `is_number()`.
    [[nodiscard]] double real() const noexcept { return is_floating(type_) ? real_ : static_cast<double>(whole_); }

    friend scalar operator+(scalar a, scalar b);
    friend scalar operator-(scalar a, scalar b);
    friend scalar operator*(scalar a, scalar b);
    friend scalar operator/(scalar a, scalar b);
    friend scalar operator-(scalar a);
    friend scalar max(scalar a, scalar b);
    friend scalar min(scalar a, scalar b);
    /// Applies an operation of the table to as many operands, of one type that it takes.
    friend scalar apply(loop::scalar_op op, scalar a);
    friend scalar apply(loop::scalar_op op, scalar a, scalar b);
    friend scalar select(scalar condition, scalar a, scalar b);
    friend scalar cast(scalar a, dtype to);

private:
    friend class scalar_builder;
    scalar_builder* in_ = nullptr;
    std::int32_t value_ = -1;
    double real_ = 0;
    std::int64_t whole_ = 0;
    dtype type_ = dtype::undefined;
    std::int32_t half_ = -1; // the value of 16 bits that this one is in f32
    dtype half_type_ = dtype::undefined;
};
[[nodiscard]] scalar apply(loop::scalar_op op, scalar a);
[[nodiscard]] scalar apply(loop::scalar_op op, scalar a, scalar b);
[[nodiscard]] scalar select(scalar condition, scalar a, scalar b);
[[nodiscard]] scalar cast(scalar a, dtype to);

/// Builder of the scalar operations of a kernel, in order. It refuses an expression that no kernel computes (of numbers
/// alone, of operands that are left out, of types that differ or that an operation does not take); the results are then
/// void, and the operator is lowered in another way.
class scalar_builder {
public:
    /// Operations are appended to `ops`; the first one is value `first`.
    explicit scalar_builder(std::vector<kernels::row_reduction_op>& ops, std::int32_t first)
        : ops_(&ops), first_(first) {}

    /// Scalar of an existing value.
    [[nodiscard]] scalar value(std::int32_t number, dtype type);
    /// A number of a type: `real` where that is floating, else `whole`.
    [[nodiscard]] scalar number(double real, std::int64_t whole, dtype type);
    /// A number of the type of `like`, rounded towards zero where that is an integer.
    [[nodiscard]] scalar number(double v, scalar like) {
        return number(v, is_floating(like.type()) ? 0 : static_cast<std::int64_t>(v), like.type());
    }
    /// A reduction along the rows of the kernel.
    [[nodiscard]] scalar reduce(kernels::reduction_step step, scalar a);
    void refuse() noexcept { refused_ = true; }
    [[nodiscard]] bool refused() const noexcept { return refused_; }
    /// Value number of a scalar; nothing for a number, or for what was refused.
    [[nodiscard]] std::optional<std::int32_t> number_of(scalar s) const noexcept;

private:
    friend scalar apply(loop::scalar_op op, scalar a);
    friend scalar apply(loop::scalar_op op, scalar a, scalar b);
    friend scalar select(scalar condition, scalar a, scalar b);
    friend scalar cast(scalar a, dtype to);
    [[nodiscard]] scalar emit(kernels::row_reduction_op op, dtype type);
    std::vector<kernels::row_reduction_op>* ops_;
    std::int32_t first_;
    bool refused_ = false;
};

/// Scalar lowering trait: how an elementwise operator of one result is computed. Either
/// - `static constexpr loop::scalar_op op`: one operation of the table, of the operator's operands, or
/// - `static scalar lower(scalar_builder&, attributes_of<Op> const&, std::span<scalar const> x)`: an expression.
/// Composite operators need none: they are lowered by their parts.
/// *Example* `template <> struct gsub::scalar_lowering<app::swish> { static scalar lower(scalar_builder&, no_attributes
/// const&, std::span<scalar const> x) { return x[0] * apply(loop::scalar_op::sigmoid, x[0]); } };`
template <class Op>
struct scalar_lowering;

/// The row of an operator in the table of `scalar_lowering`.
struct scalar_row {
    /// Null where an operator has no row.
    scalar (*lower)(scalar_builder&, attributes_id, std::span<scalar const>) = nullptr;

    template <operation Op>
    static constexpr scalar_row of() noexcept {
        scalar_row row;
        if constexpr (requires { scalar_lowering<Op>::op; }) {
            row.lower = [](scalar_builder& b, attributes_id, std::span<scalar const> x) {
                constexpr auto op = scalar_lowering<Op>::op;
                static_assert(loop::info(op).operands == 1 || loop::info(op).operands == 2,
                              "scalar_lowering<Op>::op is an operation of one operand or two");
                if (x.size() != static_cast<std::size_t>(loop::info(op).operands)) b.refuse();
                if (b.refused()) return scalar{};
                if constexpr (loop::info(op).operands == 1)
                    return apply(op, x[0]);
                else
                    return apply(op, x[0], x[1]);
            };
        } else if constexpr (requires(scalar_builder & b, attributes_of<Op> const& a, std::span<scalar const> x) {
                                 { scalar_lowering<Op>::lower(b, a, x) } -> std::same_as<scalar>;
                             }) {
            row.lower = [](scalar_builder& b, attributes_id a, std::span<scalar const> x) {
                static attributes_of<Op> const defaults{};
                auto const* const typed = static_cast<attributes_of<Op> const*>(a.typed());
                return scalar_lowering<Op>::lower(b, typed ? *typed : defaults, x);
            };
        } else {
            static_assert(
                !specialised<scalar_lowering<Op>>,
                "scalar_lowering<Op> has no `loop::scalar_op op` and no `static scalar lower(scalar_builder&, "
                "attributes_of<Op> const&, std::span<scalar const>)`");
        }
        return row;
    }
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/scalar_lowering.ipp>
#endif
