#pragma once

#include <gsub/lower/scalar_lowering.hpp>

namespace gsub {

GSUB_INLINE scalar scalar_builder::value(std::int32_t number, dtype type) {
    scalar s;
    s.in_ = this;
    s.value_ = number;
    s.type_ = type;
    return s;
}
GSUB_INLINE scalar scalar_builder::number(double real, std::int64_t whole, dtype type) {
    scalar s;
    s.in_ = this;
    s.real_ = real;
    s.whole_ = whole;
    s.type_ = type;
    return s;
}
GSUB_INLINE std::optional<std::int32_t> scalar_builder::number_of(scalar s) const noexcept {
    if (refused_ || !s.present() || s.value_ < 0) return std::nullopt;
    return s.value_;
}
GSUB_INLINE scalar scalar_builder::emit(kernels::row_reduction_op op, dtype type) {
    ops_->push_back(op);
    return value(first_ + static_cast<std::int32_t>(ops_->size()) - 1, type);
}
GSUB_INLINE scalar scalar_builder::reduce(kernels::reduction_step step, scalar a) {
    auto const op = step == kernels::reduction_step::maximum ? loop::scalar_op::maximum : loop::scalar_op::add;
    if (refused_ || !a.present() || a.is_number() || !computes(op, a.type())) {
        refuse();
        return a;
    }
    return emit({step, {loop::scalar_op::add, a.value_}}, a.type());
}

GSUB_INLINE scalar apply(loop::scalar_op op, scalar a) {
    if (!a.present()) return a;
    auto& b = *a.in_;
    if (a.is_number() || !is_unary(op) || !computes(op, a.type())) b.refuse();
    if (b.refused()) return a;
    return b.emit({kernels::reduction_step::elementwise, {op, a.value_}}, a.type());
}
GSUB_INLINE scalar apply(loop::scalar_op op, scalar a, scalar b) {
    if (!a.present() || !b.present()) {
        if (a.present()) a.in_->refuse();
        if (b.present()) b.in_->refuse();
        return {};
    }
    auto& in = *a.in_;
    auto const fits = info(op).operands == 2 && a.type() == b.type() && computes(op, a.type());
    if (!fits || (a.is_number() && b.is_number())) in.refuse();
    if (in.refused()) return a;
    auto const& n = a.is_number() ? a : b;
    kernels::elementwise_op what{op, a.value_, b.value_, n.real_, -1, a.type(), n.whole_};
    return in.emit({kernels::reduction_step::elementwise, what}, info(op).truth ? dtype::boolean : a.type());
}
GSUB_INLINE scalar select(scalar condition, scalar a, scalar b) {
    if (!condition.present()) return {};
    auto& in = *condition.in_;
    auto const fits = a.present() && b.present() && condition.type() == dtype::boolean && a.type() == b.type();
    if (!fits) in.refuse();
    if (in.refused()) return a;
    if (condition.is_number()) {
        auto const &chosen = condition.whole_ != 0 ? a : b, &other = condition.whole_ != 0 ? b : a;
        if (!chosen.is_number() || other.is_number()) return chosen;
        auto const same = apply(loop::scalar_op::equal, other, other); // a number everywhere: whatever that is
        return select(apply(loop::scalar_op::logical_not, same), chosen, select(same, chosen, other));
    }
    if (a.is_number() && b.is_number()) { // an operation has one number as operand: two operations, one of them each
        auto const first = select(condition, a, cast(condition, a.type()));
        return select(apply(loop::scalar_op::logical_not, condition), b, first);
    }
    auto const& n = a.is_number() ? a : b;
    kernels::elementwise_op what{
        loop::scalar_op::select, condition.value_, a.value_, n.real_, b.value_, a.type(), n.whole_};
    return in.emit({kernels::reduction_step::elementwise, what}, a.type());
}
GSUB_INLINE scalar cast(scalar a, dtype to) {
    if (!a.present() || a.type() == to) return a;
    auto& in = *a.in_;
    if (a.is_number()) in.refuse();
    if (in.refused()) return a;
    if (a.half_ >= 0 && a.half_type_ == to) return in.value(a.half_, to); // the bits of a NaN too
    kernels::elementwise_op what{loop::scalar_op::cast, a.value_};
    what.type = to;
    auto made = in.emit({kernels::reduction_step::elementwise, what}, to);
    if (to == dtype::f32 && loop::computed_in(a.type()) != a.type()) made.half_ = a.value_, made.half_type_ = a.type();
    return made;
}

GSUB_INLINE scalar operator+(scalar a, scalar b) {
    return apply(loop::scalar_op::add, a, b);
}
GSUB_INLINE scalar operator-(scalar a, scalar b) {
    return apply(loop::scalar_op::subtract, a, b);
}
GSUB_INLINE scalar operator*(scalar a, scalar b) {
    return apply(loop::scalar_op::multiply, a, b);
}
GSUB_INLINE scalar operator/(scalar a, scalar b) {
    return apply(loop::scalar_op::divide, a, b);
}
GSUB_INLINE scalar operator-(scalar a) {
    return apply(loop::scalar_op::negate, a);
}
GSUB_INLINE scalar max(scalar a, scalar b) {
    return apply(loop::scalar_op::maximum, a, b);
}
GSUB_INLINE scalar min(scalar a, scalar b) {
    return apply(loop::scalar_op::minimum, a, b);
}

} // namespace gsub
