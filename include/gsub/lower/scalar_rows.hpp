// Scalar lowering rows of gsub's own elementwise operators.
#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/lower/scalar_lowering.hpp>

#include <cmath>
#include <limits>

namespace gsub {

namespace detail {
template <loop::scalar_op Op>
struct one_operation {
    static constexpr auto op = Op;
};
} // namespace detail

template <>
struct scalar_lowering<ops::add> : detail::one_operation<loop::scalar_op::add> {};
template <>
struct scalar_lowering<ops::sub> : detail::one_operation<loop::scalar_op::subtract> {};
template <>
struct scalar_lowering<ops::mul> : detail::one_operation<loop::scalar_op::multiply> {};
template <>
struct scalar_lowering<ops::div> : detail::one_operation<loop::scalar_op::divide> {};
template <>
struct scalar_lowering<ops::sqrt> : detail::one_operation<loop::scalar_op::square_root> {};
template <>
struct scalar_lowering<ops::exp> : detail::one_operation<loop::scalar_op::exponential> {};
template <>
struct scalar_lowering<ops::log> : detail::one_operation<loop::scalar_op::logarithm> {};
template <>
struct scalar_lowering<ops::tanh> : detail::one_operation<loop::scalar_op::tanh> {};
template <>
struct scalar_lowering<ops::erf> : detail::one_operation<loop::scalar_op::erf> {};
template <>
struct scalar_lowering<ops::sin> : detail::one_operation<loop::scalar_op::sin> {};
template <>
struct scalar_lowering<ops::cos> : detail::one_operation<loop::scalar_op::cos> {};
template <>
struct scalar_lowering<ops::tan> : detail::one_operation<loop::scalar_op::tan> {};
template <>
struct scalar_lowering<ops::asin> : detail::one_operation<loop::scalar_op::asin> {};
template <>
struct scalar_lowering<ops::acos> : detail::one_operation<loop::scalar_op::acos> {};
template <>
struct scalar_lowering<ops::atan> : detail::one_operation<loop::scalar_op::atan> {};
template <>
struct scalar_lowering<ops::sinh> : detail::one_operation<loop::scalar_op::sinh> {};
template <>
struct scalar_lowering<ops::cosh> : detail::one_operation<loop::scalar_op::cosh> {};
template <>
struct scalar_lowering<ops::asinh> : detail::one_operation<loop::scalar_op::asinh> {};
template <>
struct scalar_lowering<ops::acosh> : detail::one_operation<loop::scalar_op::acosh> {};
template <>
struct scalar_lowering<ops::atanh> : detail::one_operation<loop::scalar_op::atanh> {};
template <>
struct scalar_lowering<ops::sigmoid> : detail::one_operation<loop::scalar_op::sigmoid> {};
template <>
struct scalar_lowering<ops::neg> : detail::one_operation<loop::scalar_op::negate> {};
template <>
struct scalar_lowering<ops::abs> : detail::one_operation<loop::scalar_op::absolute> {};
template <>
struct scalar_lowering<ops::floor> : detail::one_operation<loop::scalar_op::floor> {};
template <>
struct scalar_lowering<ops::round> : detail::one_operation<loop::scalar_op::round> {};
template <>
struct scalar_lowering<ops::equal> : detail::one_operation<loop::scalar_op::equal> {};
template <>
struct scalar_lowering<ops::less> : detail::one_operation<loop::scalar_op::less> {};
template <>
struct scalar_lowering<ops::less_or_equal> : detail::one_operation<loop::scalar_op::less_equal> {};
template <>
struct scalar_lowering<ops::logical_and> : detail::one_operation<loop::scalar_op::logical_and> {};
template <>
struct scalar_lowering<ops::logical_or> : detail::one_operation<loop::scalar_op::logical_or> {};
template <>
struct scalar_lowering<ops::logical_xor> : detail::one_operation<loop::scalar_op::logical_xor> {};
template <>
struct scalar_lowering<ops::logical_not> : detail::one_operation<loop::scalar_op::logical_not> {};
template <>
struct scalar_lowering<ops::bitwise_and> : detail::one_operation<loop::scalar_op::bitwise_and> {};
template <>
struct scalar_lowering<ops::bitwise_or> : detail::one_operation<loop::scalar_op::bitwise_or> {};
template <>
struct scalar_lowering<ops::bitwise_xor> : detail::one_operation<loop::scalar_op::bitwise_xor> {};
template <>
struct scalar_lowering<ops::remainder> : detail::one_operation<loop::scalar_op::remainder> {};
template <>
struct scalar_lowering<ops::fast_exp> : detail::one_operation<loop::scalar_op::fast_exponential> {};
template <>
struct scalar_lowering<ops::fast_tanh> : detail::one_operation<loop::scalar_op::fast_tanh> {};
template <>
struct scalar_lowering<ops::fast_erf> : detail::one_operation<loop::scalar_op::fast_erf> {};

template <>
struct scalar_lowering<ops::greater> {
    static scalar lower(scalar_builder&, no_attributes const&, std::span<scalar const> x) {
        return apply(loop::scalar_op::less, x[1], x[0]);
    }
};
template <>
struct scalar_lowering<ops::greater_or_equal> {
    static scalar lower(scalar_builder&, no_attributes const&, std::span<scalar const> x) {
        return apply(loop::scalar_op::less_equal, x[1], x[0]);
    }
};
template <>
struct scalar_lowering<ops::relu> {
    static scalar lower(scalar_builder& b, no_attributes const&, std::span<scalar const> x) {
        return max(x[0], b.number(0, x[0]));
    }
};
template <>
struct scalar_lowering<ops::reciprocal> {
    static scalar lower(scalar_builder& b, no_attributes const&, std::span<scalar const> x) {
        return b.number(1, x[0]) / x[0];
    }
};
template <>
struct scalar_lowering<ops::ceil> {
    static scalar lower(scalar_builder&, no_attributes const&, std::span<scalar const> x) {
        return -apply(loop::scalar_op::floor, -x[0]);
    }
};
template <>
struct scalar_lowering<ops::softplus> {
    static scalar lower(scalar_builder& b, no_attributes const&, std::span<scalar const> x) {
        auto const one = b.number(1, x[0]);
        auto const power = apply(loop::scalar_op::exponential, -apply(loop::scalar_op::absolute, x[0]));
        auto const sum = power + one;
        auto const lost = (power - (sum - one)) / sum;
        return max(x[0], b.number(0, x[0])) + (apply(loop::scalar_op::logarithm, sum) + lost);
    }
};
template <>
struct scalar_lowering<ops::softsign> {
    static scalar lower(scalar_builder& b, no_attributes const&, std::span<scalar const> x) {
        return x[0] / (apply(loop::scalar_op::absolute, x[0]) + b.number(1, x[0]));
    }
};
template <>
struct scalar_lowering<ops::clip> {
    static scalar lower(scalar_builder& b, attributes_of<ops::clip> const& a, std::span<scalar const> x) {
        auto v = x[0];
        // Bounds that no element is beyond, NaN included, are none; those of integers that floats cannot tell from the
        // ends of the range neither.
        auto const bounds = [&](double bound, double least, double most) {
            return is_floating(v.type()) ? std::isfinite(bound) : bound > least && bound < most;
        };
        auto const most = is_integer(v.type()) ? std::ldexp(1.0, integer_digits(v.type())) : 0;
        auto const least = is_integer(v.type()) && info(v.type()).is_signed ? -most : -1;
        if (x.size() > 1 && x[1].present())
            v = max(v, x[1]);
        else if (bounds(a.min, least, most) || a.min == std::numeric_limits<double>::infinity())
            v = max(v, b.number(a.min, v));
        if (x.size() > 2 && x[2].present())
            v = min(v, x[2]);
        else if (bounds(a.max, least, most) || a.max == -std::numeric_limits<double>::infinity())
            v = min(v, b.number(a.max, v));
        return v;
    }
};
template <>
struct scalar_lowering<ops::pow> {
    static scalar lower(scalar_builder& b, no_attributes const&, std::span<scalar const> x) {
        if (x[1].is_number() && x[1].real() == 2) return x[0] * x[0];
        if (x[1].is_number() && x[1].real() == 3) return x[0] * x[0] * x[0];
        if (!is_floating(x[0].type())) b.refuse();
        return apply(loop::scalar_op::power, x[0], x[1]);
    }
};
template <>
struct scalar_lowering<ops::is_nan> {
    static scalar lower(scalar_builder&, no_attributes const&, std::span<scalar const> x) {
        return apply(loop::scalar_op::logical_not, apply(loop::scalar_op::equal, x[0], x[0]));
    }
};
template <>
struct scalar_lowering<ops::is_inf> {
    static scalar lower(scalar_builder& b, attributes_of<ops::is_inf> const& a, std::span<scalar const> x) {
        auto const infinity = std::numeric_limits<double>::infinity();
        if (!is_floating(x[0].type()) || (!a.negative && !a.positive)) {
            b.refuse();
            return x[0];
        }
        auto const v = a.negative && a.positive ? apply(loop::scalar_op::absolute, x[0]) : x[0];
        return apply(loop::scalar_op::equal, v, b.number(a.positive ? infinity : -infinity, v));
    }
};
template <>
struct scalar_lowering<ops::where> {
    static scalar lower(scalar_builder&, no_attributes const&, std::span<scalar const> x) {
        return select(x[0], x[1], x[2]);
    }
};
template <>
struct scalar_lowering<ops::cast> {
    static scalar lower(scalar_builder&, attributes_of<ops::cast> const& a, std::span<scalar const> x) {
        return cast(x[0], a.to);
    }
};
template <>
struct scalar_lowering<ops::bit_cast> { // registers hold numbers: a kernel of its own copies the bits
    static scalar lower(scalar_builder& b, attributes_of<ops::bit_cast> const&, std::span<scalar const> x) {
        b.refuse();
        return x[0];
    }
};

#ifdef GSUB_COMPILED
extern template struct detail::table_storage<scalar_row, standard_ops>;
#endif

} // namespace gsub
