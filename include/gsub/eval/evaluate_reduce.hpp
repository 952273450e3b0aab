// Evaluation of reduction operators.
#pragma once

#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_reduce.hpp>

#include <limits>
#include <vector>

namespace gsub {

namespace detail {

/// Reduction plan: where the elements that a reduction combines lie. Each result, in row-major order, has a first
/// element; from there the runs are the same for all.
struct reduction_plan {
    small_vector<std::int64_t, 6> kept, kept_strides; ///< dimensions of x that stay
    std::vector<std::int64_t> runs;                   ///< offsets at which the runs of one result start
    std::int64_t length = 1, stride = 1;              ///< of each run; a length of 0: there is nothing to combine

    explicit reduction_plan(op_call_args const& args);
};

/// out[i] = combine(elements of result i), where `combine` gets a function that calls another for each element.
template <class T, class Combine>
void reduce(op_call<T>& k, Combine&& combine) {
    reduction_plan const plan{k.args()};
    auto const x = k.in(0);
    auto* to = k.out().data();
    if (k.out().empty()) return;
    box_index at{plan.kept};
    do {
        std::int64_t first = 0;
        for (std::size_t i = 0; i < plan.kept.size(); ++i) first += at[i] * plan.kept_strides[i];
        *to++ = combine([&](auto&& f) {
            for (auto run : plan.runs)
                for (std::int64_t i = 0; i < plan.length; ++i)
                    f(x[static_cast<std::size_t>(first + run + i * plan.stride)]);
        });
    } while (at.next());
}

/// Pairwise sum of the elements that `each` gives, and their number. Adds pieces in pairs, and pairs of pairs, so that
/// the error grows with the logarithm of their number.
template <class T, class Each>
T sum_of(Each&& each, std::int64_t& count) {
    constexpr std::int64_t piece = 16;
    T part{}, sums[60]{}; // sums[i]: of 2^i pieces, where that bit is set in the number of pieces
    count = 0;
    each([&](T x) {
        part = math::add(part, x);
        if (++count % piece != 0) return;
        std::size_t level = 0;
        for (auto pieces = count / piece; pieces % 2 == 0; pieces /= 2) part = math::add(part, sums[level++]);
        sums[level] = part;
        part = T{};
    });
    std::size_t level = 0;
    for (auto pieces = count / piece; pieces != 0; pieces /= 2, ++level)
        if (pieces % 2 != 0) part = math::add(part, sums[level]);
    return part;
}

} // namespace detail

template <>
struct evaluate<ops::reduce_sum> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        std::int64_t count = 0;
        detail::reduce(k, [&](auto&& each) { return detail::sum_of<T>(each, count); });
    }
};
template <>
struct evaluate<ops::reduce_mean> {
    static constexpr bool integers = true;
    template <class T>
    static void run(op_call<T>& k) {
        detail::reduce(k, [](auto&& each) {
            // The mean of nothing is NaN, of no integers 0.
            std::int64_t count = 0;
            auto const sum = detail::sum_of<T>(each, count);
            if constexpr (std::is_integral_v<T>)
                return math::div(sum, static_cast<T>(count));
            else
                return sum / math::constant<T>(static_cast<double>(count));
        });
    }
};
template <>
struct evaluate<ops::reduce_max> {
    static constexpr bool integers = true, any_scalar = true;
    template <class T>
    static void run(op_call<T>& k) {
        std::vector<T> elements;
        detail::reduce(k, [&](auto&& each) {
            elements.clear();
            each([&](T x) { elements.push_back(x); });
            return elements.empty() ? detail::constant_in(k, -std::numeric_limits<double>::infinity())
                                    : math::maximum<T>(elements);
        });
    }
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/eval/impl/evaluate_reduce.ipp>
#endif
