// Evaluation of elementwise operators and matrix products.
#pragma once

#include <gsub/eval/elementwise.hpp>
#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>

namespace gsub {

template <>
struct evaluate<ops::relu> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T x) {
        if constexpr (std::is_unsigned_v<T>)
            return x;
        else
            return x < T(0) ? T(0) : x; // keeps NaN
    }
};
template <>
struct evaluate<ops::clip> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::clip>();
        constexpr auto infinity = std::numeric_limits<double>::infinity();
        auto const bound = [&](std::size_t operand, double attribute) -> T {
            return k.has(operand) ? k.in(operand)[0] : detail::constant_in(k, attribute);
        };
        // A NaN is no bound, as no number is beyond it; an infinite bound of integers is the end of their range.
        auto const low = bound(1, a.min != a.min ? -infinity : a.min),
                   high = bound(2, a.max != a.max ? infinity : a.max);
        // As min(max(x, low), high): where low > high everything is high.
        detail::map_unary(k, [&](T x) {
            auto const raised = x < low ? low : x;
            return raised > high ? high : raised;
        });
    }
};
template <>
struct evaluate<ops::sigmoid> {
    template <class T>
    static T scalar(T x) {
        return T(1) / (T(1) + math::exp(-x));
    }
};
template <>
struct evaluate<ops::tanh> {
    template <class T>
    static T scalar(T x) {
        return math::tanh(x);
    }
};
template <>
struct evaluate<ops::sqrt> {
    static constexpr bool any_scalar = true;
    template <class T>
    static T scalar(T x) {
        return math::sqrt(x);
    }
};
template <>
struct evaluate<ops::exp> {
    template <class T>
    static T scalar(T x) {
        return math::exp(x);
    }
};
template <>
struct evaluate<ops::log> {
    template <class T>
    static T scalar(T x) {
        return math::log(x);
    }
};
template <>
struct evaluate<ops::erf> {
    template <class T>
    static T scalar(T x) {
        return math::erf(x);
    }
};
template <>
struct evaluate<ops::sin> {
    template <class T>
    static T scalar(T x) {
        return math::sin(x);
    }
};
template <>
struct evaluate<ops::cos> {
    template <class T>
    static T scalar(T x) {
        return math::cos(x);
    }
};
template <>
struct evaluate<ops::tan> {
    template <class T>
    static T scalar(T x) {
        return math::tan(x);
    }
};
template <>
struct evaluate<ops::asin> {
    template <class T>
    static T scalar(T x) {
        return math::asin(x);
    }
};
template <>
struct evaluate<ops::acos> {
    template <class T>
    static T scalar(T x) {
        return math::acos(x);
    }
};
template <>
struct evaluate<ops::atan> {
    template <class T>
    static T scalar(T x) {
        return math::atan(x);
    }
};
template <>
struct evaluate<ops::sinh> {
    template <class T>
    static T scalar(T x) {
        return math::sinh(x);
    }
};
template <>
struct evaluate<ops::cosh> {
    template <class T>
    static T scalar(T x) {
        return math::cosh(x);
    }
};
template <>
struct evaluate<ops::asinh> {
    template <class T>
    static T scalar(T x) {
        return math::asinh(x);
    }
};
template <>
struct evaluate<ops::acosh> {
    template <class T>
    static T scalar(T x) {
        return math::acosh(x);
    }
};
template <>
struct evaluate<ops::atanh> {
    template <class T>
    static T scalar(T x) {
        return math::atanh(x);
    }
};
template <>
struct evaluate<ops::neg> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T x) {
        if constexpr (std::is_integral_v<T>)
            return math::sub(T{0}, x);
        else
            return -x; // of 0 too, which 0 - x is not
    }
};
template <>
struct evaluate<ops::abs> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T x) {
        if constexpr (std::is_unsigned_v<T>)
            return x;
        else if constexpr (std::is_integral_v<T>)
            return x < T(0) ? math::sub(T{0}, x) : x;
        else
            return x < T(0) ? -x : x + T(0); // -0 becomes 0
    }
};
template <>
struct evaluate<ops::reciprocal> {
    template <class T>
    static T scalar(T x) {
        return math::div(T(1), x);
    }
};
template <>
struct evaluate<ops::floor> {
    template <class T>
    static T scalar(T x) {
        using std::floor;
        return floor(x);
    }
};
template <>
struct evaluate<ops::ceil> {
    template <class T>
    static T scalar(T x) {
        using std::ceil;
        return ceil(x);
    }
};
template <>
struct evaluate<ops::round> {
    template <class T>
    static T scalar(T x) {
        using std::nearbyint; // the mode of rounding is the one that programs start in
        return nearbyint(x);
    }
};
template <>
struct evaluate<ops::softplus> {
    template <class T>
    static T scalar(T x) { // the logarithm of 1 + power is that of the sum, and what the sum has lost of the power
        auto const power = math::exp(x < T(0) ? x : -x), sum = T(1) + power;
        return evaluate<ops::relu>::scalar(x) + (math::log(sum) + (power - (sum - T(1))) / sum);
    }
};
template <>
struct evaluate<ops::softsign> {
    template <class T>
    static T scalar(T x) {
        return x / (T(1) + (x < T(0) ? -x : x));
    }
};
template <>
struct evaluate<ops::pow> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::power(a, b);
    }
};
template <>
struct evaluate<ops::remainder> {
    template <class T>
    static T scalar(T a, T b) {
        return math::fmod(a, b);
    }
};
template <>
struct evaluate<ops::bitwise_and> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::combine_bits(a, b, std::bit_and<>{});
    }
};
template <>
struct evaluate<ops::bitwise_or> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::combine_bits(a, b, std::bit_or<>{});
    }
};
template <>
struct evaluate<ops::bitwise_xor> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::combine_bits(a, b, std::bit_xor<>{});
    }
};
template <>
struct evaluate<ops::add> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::add(a, b);
    }
};
template <>
struct evaluate<ops::sub> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::sub(a, b);
    }
};
template <>
struct evaluate<ops::mul> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::mul(a, b);
    }
};
template <>
struct evaluate<ops::div> {
    static constexpr bool integers = true;
    template <class T>
    static T scalar(T a, T b) {
        return math::div(a, b);
    }
};

/// Cast. A floating tensor keeps the scalar that it is computed with, unless the declared target is narrower and the
/// scalar is float; a field treats conversions that round as uninterpreted.
template <>
struct evaluate<ops::cast> {
    static void move(op_call_args& args);
};

/// Copies bytes, whatever the operator set computes with.
template <>
struct evaluate<ops::bit_cast> {
    static constexpr bool uninterpreted_in_field = true;
    static void move(op_call_args& args);
};

namespace detail {
/// Comparison relation: the orders of two numbers for which it holds. With NaN it holds for none.
struct relation {
    bool lower = false, same = false, higher = false;
};
void compare_elements(op_call_args& args, relation r);
/// Applies a truth table: bit `2 * a + b` of `table` is the result.
void combine_truth(op_call_args& args, unsigned table);
/// A comparison, for the orders that its inference states; equality alone means something in a field.
template <class Inference>
struct comparison {
    static constexpr bool uninterpreted_in_field = Inference::lower || Inference::higher;
    static void move(op_call_args& args) {
        compare_elements(args, {Inference::lower, Inference::same, Inference::higher});
    }
};
template <class Inference>
struct truth_table {
    static void move(op_call_args& args) { combine_truth(args, Inference::table); }
};
} // namespace detail

template <>
struct evaluate<ops::equal> : detail::comparison<infer_shape<ops::equal>> {};
template <>
struct evaluate<ops::less> : detail::comparison<infer_shape<ops::less>> {};
template <>
struct evaluate<ops::less_or_equal> : detail::comparison<infer_shape<ops::less_or_equal>> {};
template <>
struct evaluate<ops::greater> : detail::comparison<infer_shape<ops::greater>> {};
template <>
struct evaluate<ops::greater_or_equal> : detail::comparison<infer_shape<ops::greater_or_equal>> {};
template <>
struct evaluate<ops::logical_and> : detail::truth_table<infer_shape<ops::logical_and>> {};
template <>
struct evaluate<ops::logical_or> : detail::truth_table<infer_shape<ops::logical_or>> {};
template <>
struct evaluate<ops::logical_xor> : detail::truth_table<infer_shape<ops::logical_xor>> {};
template <>
struct evaluate<ops::logical_not> {
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::is_nan> {
    static constexpr bool uninterpreted_in_field = true;
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::is_inf> {
    static constexpr bool uninterpreted_in_field = true;
    static void move(op_call_args& args);
};
template <>
struct evaluate<ops::where> {
    static void move(op_call_args& args);
};

template <>
struct evaluate<ops::mat_mul> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        run_with(k, [](T const* a, T const* b, T* c, std::int64_t m, std::int64_t inner, std::int64_t n) {
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                    T sum{};
                    for (std::int64_t p = 0; p < inner; ++p)
                        sum = math::add(sum, math::mul(a[i * inner + p], b[p * n + j]));
                    c[i * n + j] = sum;
                }
        });
    }

    /// Calls `multiply(a, b, c, m, k, n)` for each pair of matrices of two stacks.
    template <class T, class Multiply>
    static void run_with(op_call<T>& k, Multiply&& multiply) {
        ints a(k.dims(0).begin(), k.dims(0).end()), b(k.dims(1).begin(), k.dims(1).end());
        if (a.size() == 1) a.insert(0, 1);
        if (b.size() == 1) b.push_back(1);
        auto const m = a[a.size() - 2], inner = a[a.size() - 1], n = b[b.size() - 1];
        ints const batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
        ints batch(std::max(batch_a.size(), batch_b.size()), 1);
        auto const dim_from_back = [](ints const& d, std::size_t back) {
            return back < d.size() ? d[d.size() - 1 - back] : 1;
        };
        for (std::size_t i = 0; i < batch.size(); ++i) {
            auto const x = dim_from_back(batch_a, i), y = dim_from_back(batch_b, i);
            batch[batch.size() - 1 - i] = x == 1 ? y : x;
        }
        detail::broadcast_plan<2> const plan{
            batch, {std::span<std::int64_t const>{batch_a}, std::span<std::int64_t const>{batch_b}}};
        auto const *pa = k.in(0).data(), *pb = k.in(1).data();
        auto* const out = k.out().data();
        plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 2> from, std::int64_t length) {
            for (std::int64_t i = 0; i < length; ++i)
                multiply(pa + (from[0] + i * plan.strides[0][0]) * m * inner,
                         pb + (from[1] + i * plan.strides[1][0]) * inner * n, out + (to + i) * m * n, m, inner, n);
        });
    }
};

template <>
struct evaluate<ops::gemm> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const& attributes = k.template attributes<ops::gemm>();
        auto const m = k.result_dims()[0], n = k.result_dims()[1];
        auto const inner = k.dims(0)[attributes.transpose_a ? 0 : 1];
        auto const a = k.in(0), b = k.in(1);
        auto const out = k.out();
        auto const alpha = detail::constant_in(k, attributes.alpha), beta = detail::constant_in(k, attributes.beta);
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                T sum{};
                for (std::int64_t p = 0; p < inner; ++p)
                    sum = math::add(
                        sum,
                        math::mul(a[static_cast<std::size_t>(attributes.transpose_a ? p * m + i : i * inner + p)],
                                  b[static_cast<std::size_t>(attributes.transpose_b ? j * inner + p : p * n + j)]));
                out[static_cast<std::size_t>(i * n + j)] = math::mul(alpha, sum);
            }
        if (k.has(2)) add_scaled(k, beta);
    }

    /// The addend: out += beta * c, broadcast.
    template <class T>
    static void add_scaled(op_call<T>& k, T beta) {
        auto const out = k.out();
        auto const* const c = k.in(2).data();
        detail::broadcast_plan<1> const plan{k.result_dims(), {k.dims(2)}};
        plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 1> from, std::int64_t length) {
            for (std::int64_t i = 0; i < length; ++i) {
                auto& y = out[static_cast<std::size_t>(to + i)];
                y = math::add(y, math::mul(beta, c[from[0] + i * plan.strides[0][0]]));
            }
        });
    }
};

template <>
struct evaluate<ops::einsum> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        std::vector<std::size_t> ranks;
        for (std::size_t i = 0; i < k.operands(); ++i) ranks.push_back(k.dims(i).size());
        auto const terms = read_einsum(k.template attributes<ops::einsum>().equation, ranks);
        auto const count = static_cast<std::size_t>(terms.count);
        ints sizes(count, 1);
        std::vector<ints> strides(k.operands(), ints(count, 0)); // of a label that an operand has twice the diagonal
        for (std::size_t i = 0; i < k.operands(); ++i) {
            std::int64_t step = 1;
            for (auto d = ranks[i]; d-- > 0; step *= k.dims(i)[d]) {
                auto const l = static_cast<std::size_t>(terms.operands[i][d]);
                if (k.dims(i)[d] == 1) continue;
                sizes[l] = k.dims(i)[d];
                strides[i][l] += step;
            }
        }
        std::vector<std::size_t> kept(terms.result.begin(), terms.result.end()), summed;
        ints outer_sizes, inner_sizes;
        for (auto const l : kept) outer_sizes.push_back(sizes[l]);
        for (std::size_t l = 0; l < count; ++l)
            if (std::find(kept.begin(), kept.end(), l) == kept.end())
                summed.push_back(l), inner_sizes.push_back(sizes[l]);
        box_index outer{outer_sizes};
        for (auto& y : k.out()) {
            y = T{};
            box_index inner{inner_sizes};
            for (auto more = product(inner_sizes) != 0; more; more = inner.next()) {
                auto term = T(1);
                for (std::size_t i = 0; i < k.operands(); ++i) {
                    std::int64_t at = 0;
                    for (std::size_t l = 0; l < kept.size(); ++l) at += outer[l] * strides[i][kept[l]];
                    for (std::size_t l = 0; l < summed.size(); ++l) at += inner[l] * strides[i][summed[l]];
                    term = math::mul(term, k.in(i)[static_cast<std::size_t>(at)]);
                }
                y = math::add(y, term);
            }
            outer.next();
        }
    }
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/evaluate_math.ipp>
#endif
