#pragma once

#include <gsub/core/thread_workspace.hpp>
#include <gsub/eval/elementwise.hpp>
#include <gsub/eval/evaluate_math.hpp>
#include <gsub/eval/evaluate_nn.hpp>
#include <gsub/eval/reference_kernel.hpp>

#ifndef EIGEN_MPL2_ONLY
#define EIGEN_MPL2_ONLY
#endif
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <vector>

namespace gsub {

namespace detail {

// c[m,n] = alpha * a[m,k] * b[k,n], row-major with the given row lengths in memory.
// This calls Eigen below its expressions, at the function that its BLAS interface calls: the expressions' evaluators
// are thousands of functions in every header-only translation unit. Eigen counts by columns, hence b before a.
template <class T>
void blocked_product(T const* a, std::int64_t a_row, T const* b, std::int64_t b_row, T* c, std::int64_t c_row,
                     std::int64_t m, std::int64_t k, std::int64_t n, T alpha = 1) {
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_row, n, T{});
    if (m == 0 || n == 0 || k == 0) return;
    if (m == 1) { // a vector: b is read once, where it lies
        for (std::int64_t i = 0; i < k; ++i)
            for (std::int64_t j = 0; j < n; ++j) c[j] += alpha * a[i] * b[i * b_row + j];
        return;
    }
    namespace internal = Eigen::internal;
    constexpr int by_columns = Eigen::ColMajor, any = Eigen::Dynamic;
    internal::gemm_blocking_space<by_columns, T, T, any, any, any> blocks{n, m, k, 1, true};
    using product = internal::general_matrix_matrix_product<std::int64_t, T, by_columns, false, T, by_columns, false,
                                                            by_columns, 1>;
    product::run(n, m, k, b, b_row, a, a_row, c, 1, c_row, alpha, blocks, nullptr);
}

// A matrix [rows, columns] as [columns, rows].
template <class T>
std::vector<T> transposed(T const* from, std::int64_t rows, std::int64_t columns) {
    std::vector<T> to(static_cast<std::size_t>(rows * columns));
    transpose_matrix(from, columns, to.data(), rows, rows, columns);
    return to;
}

// y[n] = alpha * b[n,k] * x[k], in four sums a row that go on side by side.
template <class T>
void product_with_vector(T const* b, T const* x, T* y, std::int64_t k, std::int64_t n, T alpha) {
    for (std::int64_t j = 0; j < n; ++j, b += k) {
        T sums[4] = {};
        std::int64_t i = 0;
        for (; i + 4 <= k; i += 4)
            for (int s = 0; s < 4; ++s) sums[s] += b[i + s] * x[i + s];
        for (; i < k; ++i) sums[0] += b[i] * x[i];
        y[j] = alpha * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

// Runs `body(begin, end)` over pieces of [0, count), one a thread and more where pieces are large. Pieces begin at
// multiples of `step`.
template <class F>
void parallel_pieces(executor& threads, std::int64_t count, std::int64_t least, std::int64_t step, F&& body) {
    auto const pieces = std::clamp<std::int64_t>(count / std::max<std::int64_t>(least, 1), 1,
                                                 4 * static_cast<std::int64_t>(threads.concurrency()));
    if (pieces == 1 || threads.concurrency() == 1) return body(std::int64_t{0}, count);
    threads.parallel_for(static_cast<std::size_t>(pieces), [&](std::size_t i) {
        auto const p = static_cast<std::int64_t>(i);
        auto const begin = count * p / pieces / step * step;
        auto const end = p + 1 == pieces ? count : count * (p + 1) / pieces / step * step;
        if (begin < end) body(begin, end);
    });
}

// Taps of a window over places [begin, end) of one output plane: row t of `columns` holds the input under tap t.
template <class T>
void gather_columns(window_attributes const& w, std::span<std::int64_t const> input,
                    std::span<std::int64_t const> kernel_dims, std::span<std::int64_t const> output, T const* plane,
                    std::int64_t begin, std::int64_t end, T* columns) {
    auto const width_out = output.back(), width_in = input.back();
    auto const stride = w.strides.back(), pad = w.pads[input.size() - 1], dilation = w.dilations.back();
    box_index tap{kernel_dims};
    do {
        for (auto p = begin; p < end;) { // one row of the output at a time
            auto const column = p % width_out;
            auto const count = std::min(width_out - column, end - p);
            std::int64_t row = 0, rest = p / width_out;
            bool inside = true;
            small_vector<std::int64_t, 4> at(input.size(), 0);
            for (auto i = input.size() - 1; i-- > 0;) at[i] = rest % output[i], rest /= output[i];
            for (std::size_t i = 0; i + 1 < input.size(); ++i) {
                auto const x = at[i] * w.strides[i] - w.pads[i] + tap[i] * w.dilations[i];
                inside = inside && x >= 0 && x < input[i];
                row = row * input[i] + x;
            }
            auto const first = column * stride - pad + tap[input.size() - 1] * dilation;
            for (std::int64_t i = 0; i < count; ++i) {
                auto const x = first + i * stride;
                *columns++ = inside && x >= 0 && x < width_in ? plane[row * width_in + x] : T{};
            }
            p += count;
        }
    } while (tap.next());
}

template <class T>
void finish_row(T* y, std::int64_t count, T bias, attributes_of<ops::conv> const& a) {
    auto const low = T(a.act_min), high = T(a.act_max);
    // The common activations get loops of their own, which vectorise.
    if (a.act == activation::none) {
        if (bias != T{})
            for (std::int64_t i = 0; i < count; ++i) y[i] += bias;
    } else if (a.act == activation::relu) {
        for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] + bias < T{} ? T{} : y[i] + bias;
    } else {
        for (std::int64_t i = 0; i < count; ++i) y[i] = apply_activation<T>(a.act, low, high, y[i] + bias);
    }
}

// Adds an input row times each weight of a kernel row, shifted, to a row of the output. Columns whose input lies
// outside add nothing.
template <class T>
void add_kernel_row(attributes_of<ops::conv> const& a, std::span<T const> weights, std::span<T const> input,
                    std::span<T> output) {
    auto const columns_in = std::ssize(input), columns_out = std::ssize(output);
    auto const stride = a.strides[1];
    auto* const to = output.data();
    for (std::int64_t kc = 0; kc < std::ssize(weights); ++kc) {
        auto const weight = weights[static_cast<std::size_t>(kc)];
        auto const shift = kc * a.dilations[1] - a.pads[1];
        auto const first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        auto const last = columns_in - shift <= 0 ? 0 : std::min(columns_out, (columns_in - shift - 1) / stride + 1);
        auto const* const from = input.data() + shift;
        if (stride == 1)
            for (auto i = first; i < last; ++i) to[i] += weight * from[i];
        else
            for (auto i = first; i < last; ++i) to[i] += weight * from[i * stride];
    }
}

// One input channel a group: for each row of the output, the rows of the input that its kernel rows read.
template <class T>
void depthwise_2d(op_call<T>& k, attributes_of<ops::conv> const& a) {
    auto const x = k.dims(0), w = k.dims(1), y = k.result_dims();
    auto const per_group = y[1] / a.group;
    auto const in = k.in(0), weights = k.in(1);
    auto const* const bias = k.has(2) ? k.in(2).data() : nullptr;
    auto const out = k.out();
    auto const row_of = [](auto all, std::int64_t row, std::int64_t columns) {
        return all.subspan(static_cast<std::size_t>(row * columns), static_cast<std::size_t>(columns));
    };
    parallel_pieces(k.threads(), y[0] * y[1], 8, 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto plane = begin; plane < end; ++plane) {
            auto const n = plane / y[1], o = plane % y[1];
            auto const input_plane = n * x[1] + o / per_group;
            for (std::int64_t r = 0; r < y[2]; ++r) {
                auto const to = row_of(out, plane * y[2] + r, y[3]);
                std::fill(to.begin(), to.end(), T{});
                for (std::int64_t kr = 0; kr < w[2]; ++kr) {
                    auto const row = r * a.strides[0] - a.pads[0] + kr * a.dilations[0];
                    if (row < 0 || row >= x[2]) continue;
                    add_kernel_row<T>(a, row_of(weights, o * w[2] + kr, w[3]),
                                      row_of(in, input_plane * x[2] + row, x[3]), to);
                }
                finish_row(to.data(), y[3], bias ? bias[o] : T{}, a);
            }
        }
    });
}

} // namespace detail

template <class T>
void reference_kernel<ops::conv>::run(op_call<T>& k) {
    auto const& a = k.template attributes<ops::conv>();
    auto const x = k.dims(0), w = k.dims(1), y = k.result_dims();
    if (k.out().empty()) return;
    auto const spatial = y.size() - 2;
    if (w[1] == 1 && spatial == 2 && a.group > 1) return detail::depthwise_2d(k, a);
    auto const inputs = w[1], outputs = y[1] / a.group;
    auto const area_in = product(x.subspan(2)), area_k = product(w.subspan(2)), area_out = product(y.subspan(2));
    auto const depth = inputs * area_k;
    bool plain = area_k == 1; // a product without gathering
    for (std::size_t i = 0; i < spatial; ++i)
        plain = plain && a.strides[i] == 1 && a.pads[i] == 0 && a.pads[i + spatial] == 0;
    auto const *in = k.in(0).data(), *weights = k.in(1).data(), *bias = k.has(2) ? k.in(2).data() : nullptr;
    auto* const out = k.out().data();
    // Gathered padding is zero, which such weights would not leave alone.
    if (!plain && !std::all_of(weights, weights + w[0] * depth, [](T v) { return std::isfinite(v); }))
        return evaluate<ops::conv>::run(k);
    // Pieces of places such that the gathered columns stay in the second-level cache.
    auto const piece = std::clamp<std::int64_t>(
        (std::int64_t{1} << 18) / static_cast<std::int64_t>(sizeof(T)) / std::max<std::int64_t>(depth, 1), 48, 1024);
    auto const pieces = (area_out + piece - 1) / piece;
    auto const work = [&](std::size_t index) {
        auto const job = static_cast<std::int64_t>(index);
        auto const begin = job % pieces * piece, end = std::min(area_out, begin + piece);
        auto const g = job / pieces % a.group, n = job / pieces / a.group;
        auto const* const input = in + (n * x[1] + g * inputs) * area_in;
        auto const* columns_at = input + begin;
        auto columns_row = area_in;
        if (!plain) {
            auto* const columns =
                static_cast<T*>(thread_workspace(static_cast<std::size_t>(depth * (end - begin)) * sizeof(T)));
            for (std::int64_t c = 0; c < inputs; ++c)
                detail::gather_columns(a, x.subspan(2), w.subspan(2), y.subspan(2), input + c * area_in, begin, end,
                                       columns + c * area_k * (end - begin));
            columns_at = columns;
            columns_row = end - begin;
        }
        auto* const to = out + (n * y[1] + g * outputs) * area_out + begin;
        detail::blocked_product(weights + g * outputs * depth, depth, columns_at, columns_row, to, area_out, outputs,
                                depth, end - begin);
        for (std::int64_t o = 0; o < outputs; ++o)
            detail::finish_row(to + o * area_out, end - begin, bias ? bias[g * outputs + o] : T{}, a);
    };
    auto const jobs = static_cast<std::size_t>(pieces * a.group * y[0]);
    auto const flop = 2 * static_cast<double>(product(y)) * static_cast<double>(depth);
    if (k.threads().concurrency() > 1 && flop > 2e6)
        k.threads().parallel_for(jobs, work);
    else
        for (std::size_t i = 0; i < jobs; ++i) work(i);
}

template <class T>
void reference_kernel<ops::mat_mul>::run(op_call<T>& k) {
    auto const a = k.dims(0), b = k.dims(1);
    // One right operand for all: the left batch is one tall matrix.
    if (a.size() >= 2 && b.size() == 2) {
        auto const inner = b[0], n = b[1], m = inner == 0 ? product(a.first(a.size() - 1)) : product(a) / inner;
        auto const *pa = k.in(0).data(), *pb = k.in(1).data();
        auto* const out = k.out().data();
        // Rows are split between threads; where there are few, columns. Eigen sums the rows that are left over by its
        // vectors in another order, so pieces hold whole vectors of any width: the result is the same for any number of
        // threads.
        constexpr std::int64_t whole_vectors = 96;
        if (m >= n)
            detail::parallel_pieces(k.threads(), m, 32, whole_vectors, [&](std::int64_t begin, std::int64_t end) {
                detail::blocked_product(pa + begin * inner, inner, pb, n, out + begin * n, n, end - begin, inner, n);
            });
        else
            detail::parallel_pieces(k.threads(), n, 64, whole_vectors, [&](std::int64_t begin, std::int64_t end) {
                detail::blocked_product(pa, inner, pb + begin, n, out + begin, n, m, inner, end - begin);
            });
        return;
    }
    evaluate<ops::mat_mul>::run_with(
        k, [](T const* x, T const* y, T* z, std::int64_t m, std::int64_t inner, std::int64_t n) {
            detail::blocked_product(x, inner, y, n, z, n, m, inner, n);
        });
}

template <class T>
void reference_kernel<ops::gemm>::run(op_call<T>& k) {
    auto const& a = k.template attributes<ops::gemm>();
    auto const m = k.result_dims()[0], n = k.result_dims()[1], inner = k.dims(0)[a.transpose_a ? 0 : 1];
    if (m == 0 || n == 0) return;
    auto const *pa = k.in(0).data(), *pb = k.in(1).data();
    auto* const out = k.out().data();
    if (m == 1 && a.transpose_b) {
        detail::product_with_vector(pb, pa, out, inner, n, T(a.alpha));
    } else { // one way of the product for all four: turning an operand costs little beside it
        std::vector<T> turned_a, turned_b;
        if (a.transpose_a) pa = (turned_a = detail::transposed(pa, inner, m)).data();
        if (a.transpose_b) pb = (turned_b = detail::transposed(pb, n, inner)).data();
        detail::blocked_product(pa, inner, pb, n, out, n, m, inner, n, T(a.alpha));
    }
    if (k.has(2)) evaluate<ops::gemm>::add_scaled(k, T(a.beta));
}

} // namespace gsub
