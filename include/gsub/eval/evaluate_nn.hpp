// Evaluation of neural-network operators, for any number of spatial dimensions.
#pragma once

#include <gsub/eval/elementwise.hpp>
#include <gsub/eval/op_call.hpp>
#include <gsub/ir/ops/ops_math.hpp>
#include <gsub/ir/ops/ops_nn.hpp>

#include <vector>

namespace gsub {

/// Fused activation of a convolution; in a field the same uninterpreted function as the operator's own.
template <class T>
[[nodiscard]] T apply_activation(activation a, double low, double high, T x) {
    if constexpr (std::same_as<T, field61>) {
        auto const as = [&](op_id op, hash128 attributes) {
            return field61::from_bits(
                hasher{static_cast<std::uint64_t>(op)}.add(attributes).add(x.value()).finish().low);
        };
        switch (a) {
        case activation::none:
            return x;
        case activation::relu:
            return as(id_of<ops::relu>, attributes_id{}.hash());
        case activation::clip:
            return as(id_of<ops::clip>, intern<ops::clip>({.min = low, .max = high}).hash());
        case activation::sigmoid:
            return as(id_of<ops::sigmoid>, attributes_id{}.hash());
        case activation::tanh:
            return as(id_of<ops::tanh>, attributes_id{}.hash());
        }
        return x;
    } else {
        switch (a) {
        case activation::none:
            return x;
        case activation::relu:
            return x < T(0) ? T(0) : x;
        case activation::clip:
            x = x < T(low) ? T(low) : x;
            return x > T(high) ? T(high) : x;
        case activation::sigmoid:
            return T(1) / (T(1) + math::exp(-x));
        case activation::tanh:
            return math::tanh(x);
        }
        return x;
    }
}

namespace detail {

/// Calls `f(input offset)` for each tap of a window that lies inside of the input, and gives the number of taps.
/// `kernel` and `input` are spatial sizes, `at` is the position of the window.
template <class F>
void for_each_tap(window_attributes const& w, std::span<std::int64_t const> kernel, std::span<std::int64_t const> input,
                  std::span<std::int64_t const> at, F&& f) {
    box_index tap{kernel};
    std::int64_t number = 0;
    do {
        std::int64_t offset = 0;
        bool inside = true;
        for (std::size_t i = 0; i < kernel.size(); ++i) {
            auto const x = at[i] * w.strides[i] - w.pads[i] + tap[i] * w.dilations[i];
            inside = inside && x >= 0 && x < input[i];
            offset = offset * input[i] + x;
        }
        if (inside) f(number, offset);
        ++number;
    } while (tap.next());
}

/// Planes that a pool reads and writes, one for each image and channel.
struct pooled_planes {
    pooled_planes(std::span<std::int64_t const> x, std::span<std::int64_t const> y)
        : count(y[0] * y[1]), in(x.subspan(2)), out(y.subspan(2)), area_in(product(in)), area_out(product(out)) {}

    std::int64_t count;
    std::span<std::int64_t const> in, out; ///< sizes of a plane
    std::int64_t area_in, area_out;
};

} // namespace detail

template <>
struct evaluate<ops::conv> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::conv>();
        auto const x_dims = k.dims(0), w_dims = k.dims(1), y_dims = k.result_dims();
        auto const spatial_in = x_dims.subspan(2), spatial_k = w_dims.subspan(2), spatial_out = y_dims.subspan(2);
        auto const outputs = y_dims[1], inputs = w_dims[1], per_group = outputs / a.group;
        auto const area_in = product(spatial_in), area_k = product(spatial_k), area_out = product(spatial_out);
        auto const x = k.in(0), w = k.in(1);
        auto const y = k.out();
        if (y.empty()) return;
        // y[n,o,p] = sum over i,t of w[o,i,t] * x[n, i + group(o) * inputs, p * stride - pad + t * dilation]
        for (std::int64_t n = 0; n < y_dims[0]; ++n) {
            box_index at{spatial_out};
            std::int64_t p = 0;
            do {
                for (std::int64_t o = 0; o < outputs; ++o) {
                    T sum = k.has(2) ? k.in(2)[static_cast<std::size_t>(o)] : T{};
                    auto const* const input = x.data() + (n * x_dims[1] + o / per_group * inputs) * area_in;
                    auto const* const weight = w.data() + o * inputs * area_k;
                    detail::for_each_tap(a, spatial_k, spatial_in, at.position(),
                                         [&](std::int64_t tap, std::int64_t from) {
                                             for (std::int64_t i = 0; i < inputs; ++i)
                                                 sum += weight[i * area_k + tap] * input[i * area_in + from];
                                         });
                    y[static_cast<std::size_t>((n * outputs + o) * area_out + p)] =
                        apply_activation(a.act, a.act_min, a.act_max, sum);
                }
                ++p;
            } while (at.next());
        }
    }
};

template <>
struct evaluate<ops::batch_norm> {
    static constexpr bool any_scalar = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const epsilon = math::constant<T>(k.template attributes<ops::batch_norm>().epsilon);
        auto const dims = k.result_dims();
        auto const channels = static_cast<std::size_t>(dims[1]);
        auto const area = static_cast<std::size_t>(product(dims.subspan(2)));
        auto const x = k.in(0);
        auto const y = k.out();
        for (std::size_t c = 0; c < channels; ++c) {
            // y = (x - mean) * scale / sqrt(variance + epsilon) + shift
            auto const factor = k.in(1)[c] / math::sqrt(k.in(4)[c] + epsilon);
            auto const mean = k.in(3)[c], shift = k.in(2)[c];
            for (std::size_t n = 0; n < static_cast<std::size_t>(dims[0]); ++n) {
                auto const from = (n * channels + c) * area;
                for (auto i = from; i < from + area; ++i) y[i] = (x[i] - mean) * factor + shift;
            }
        }
    }
};

template <>
struct evaluate<ops::batch_norm_training> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::batch_norm_training>();
        auto const dims = k.result_dims();
        auto const channels = static_cast<std::size_t>(dims[1]);
        auto const area = static_cast<std::size_t>(product(dims.subspan(2)));
        auto const x = k.in(0);
        auto const y = k.out();
        auto const each = [&](std::size_t c, auto&& f) {
            for (std::size_t n = 0; n < static_cast<std::size_t>(dims[0]); ++n)
                for (auto i = (n * channels + c) * area, end = i + area; i < end; ++i) f(i);
        };
        auto const count = math::constant<T>(static_cast<double>(dims[0]) * static_cast<double>(area));
        auto const running = [&](std::size_t i, std::size_t c, T now) {
            if (k.results() == 3)
                k.out(i - 2)[c] = k.in(i)[c] * math::constant<T>(a.momentum) + now * math::constant<T>(1 - a.momentum);
        };
        for (std::size_t c = 0; c < channels; ++c) {
            T sum{}, squares{};
            each(c, [&](std::size_t i) { sum += x[i]; });
            auto const mean = sum / count;
            each(c, [&](std::size_t i) { squares += (x[i] - mean) * (x[i] - mean); });
            auto const variance = squares / count;
            auto const factor = k.in(1)[c] / math::sqrt(variance + math::constant<T>(a.epsilon));
            each(c, [&](std::size_t i) { y[i] = (x[i] - mean) * factor + k.in(2)[c]; });
            running(3, c, mean);
            running(4, c, variance);
        }
    }
};

template <>
struct evaluate<ops::max_pool> {
    static constexpr bool integers = true, any_scalar = true;
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::max_pool>();
        detail::pooled_planes const planes{k.dims(0), k.result_dims()};
        auto const x = k.in(0);
        auto const y = k.out();
        if (y.empty()) return;
        std::vector<T> window;
        for (std::int64_t plane = 0; plane < planes.count; ++plane) {
            auto const* const input = x.data() + plane * planes.area_in;
            box_index at{planes.out};
            std::int64_t p = 0;
            do {
                window.clear();
                std::int64_t best = -1;
                detail::for_each_tap(a, a.kernel_shape, planes.in, at.position(), [&](std::int64_t, std::int64_t from) {
                    window.push_back(input[from]);
                    // The first NaN is the maximum, as for `math::maximum`.
                    auto const beats = [](T one, T other) { return one > other || (one != one && other == other); };
                    if (best < 0 || beats(input[from], input[best])) best = from;
                });
                auto const to = static_cast<std::size_t>(plane * planes.area_out + p);
                // A window wholly inside of the pads sees minus infinity.
                y[to] = window.empty() ? detail::constant_in(k, -std::numeric_limits<double>::infinity())
                                       : math::maximum<T>(window);
                if (k.results() == 2)
                    k.result(1).template mutable_data<std::int64_t>()[to] =
                        plane * planes.area_in + (a.column_major_indices ? transposed(best, planes.in) : best);
                ++p;
            } while (at.next());
        }
    }

private:
    // A flat row-major offset as one in which the first spatial dimension is the fastest.
    static std::int64_t transposed(std::int64_t offset, std::span<std::int64_t const> dims) {
        std::int64_t out = 0;
        auto step = product(dims);
        for (auto i = dims.size(); i-- > 0;) {
            step /= dims[i];
            out += offset % dims[i] * step;
            offset /= dims[i];
        }
        return out;
    }
};

template <>
struct evaluate<ops::average_pool> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::average_pool>();
        detail::pooled_planes const planes{k.dims(0), k.result_dims()};
        auto const x = k.in(0);
        auto const y = k.out();
        if (y.empty()) return;
        box_index at{planes.out};
        std::int64_t p = 0;
        do {
            // With pads counted, a window counts its places in the padded input; in ceil mode it may reach beyond that.
            std::int64_t counted = 1;
            for (std::size_t i = 0; i < planes.out.size(); ++i) {
                std::int64_t places = 0;
                for (std::int64_t t = 0; t < a.kernel_shape[i]; ++t) {
                    auto const place = at[i] * a.strides[i] + t * a.dilations[i];
                    auto const inside = a.count_include_pad
                                            ? place < planes.in[i] + a.pads[i] + a.pads[i + planes.out.size()]
                                            : place >= a.pads[i] && place < planes.in[i] + a.pads[i];
                    places += inside;
                }
                counted *= places;
            }
            for (std::int64_t plane = 0; plane < planes.count; ++plane) {
                T sum{};
                detail::for_each_tap(a, a.kernel_shape, planes.in, at.position(), [&](std::int64_t, std::int64_t from) {
                    sum += x[static_cast<std::size_t>(plane * planes.area_in + from)];
                });
                y[static_cast<std::size_t>(plane * planes.area_out + p)] =
                    sum / math::constant<T>(static_cast<double>(counted));
            }
            ++p;
        } while (at.next());
    }
};

template <>
struct evaluate<ops::global_average_pool> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const area = static_cast<std::size_t>(product(k.dims(0).subspan(2)));
        auto const x = k.in(0);
        auto const y = k.out();
        for (std::size_t plane = 0; plane < y.size(); ++plane) {
            T sum{};
            for (std::size_t i = 0; i < area; ++i) sum += x[plane * area + i];
            y[plane] = sum / math::constant<T>(static_cast<double>(area));
        }
    }
};

template <>
struct evaluate<ops::lrn> {
    template <class T>
    static void run(op_call<T>& k) {
        auto const& a = k.template attributes<ops::lrn>();
        auto const dims = k.result_dims();
        auto const channels = dims[1], area = product(dims.subspan(2));
        auto const x = k.in(0);
        auto const y = k.out();
        // y[c] = x[c] / (bias + alpha / size * sum of x[j]^2 over j in [c - (size-1)/2, c + size/2])^beta
        for (std::int64_t n = 0; n < dims[0]; ++n)
            for (std::int64_t c = 0; c < channels; ++c) {
                auto const first = std::max<std::int64_t>(0, c - (a.size - 1) / 2);
                auto const last = std::min<std::int64_t>(channels - 1, c + a.size / 2);
                for (std::int64_t i = 0; i < area; ++i) {
                    T squares{};
                    for (auto j = first; j <= last; ++j) {
                        auto const v = x[static_cast<std::size_t>((n * channels + j) * area + i)];
                        squares += v * v;
                    }
                    auto const at = static_cast<std::size_t>((n * channels + c) * area + i);
                    y[at] = x[at] / math::pow(T(a.bias) + T(a.alpha) / T(a.size) * squares, T(a.beta));
                }
            }
    }
};

template <>
struct evaluate<ops::softmax> {
    template <class T>
    static void run(op_call<T>& k) {
        run_with(k, k.template attributes<ops::softmax>(), [](T x) { return math::exp(x); });
    }

    /// Softmax with the exponential function given.
    template <class T, class Exp>
    static void run_with(op_call<T>& k, attributes_of<ops::softmax> const& a, Exp&& exp) {
        auto const dims = k.result_dims();
        auto const rank = static_cast<std::int64_t>(dims.size());
        auto const axis = static_cast<std::size_t>(a.axis < 0 ? a.axis + rank : a.axis);
        auto const rows = product(dims.first(axis));
        auto const length = a.flatten ? product(dims.subspan(axis)) : dims.empty() ? 1 : dims[axis];
        auto const inner = a.flatten || dims.empty() ? 1 : product(dims.subspan(axis + 1));
        auto const x = k.in(0);
        auto const y = k.out();
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t i = 0; i < inner; ++i) {
                auto const at = [&](std::int64_t j) { return static_cast<std::size_t>((r * length + j) * inner + i); };
                auto largest = -std::numeric_limits<T>::infinity();
                for (std::int64_t j = 0; j < length; ++j) largest = x[at(j)] > largest ? x[at(j)] : largest;
                T sum{};
                for (std::int64_t j = 0; j < length; ++j) sum += y[at(j)] = exp(x[at(j)] - largest);
                for (std::int64_t j = 0; j < length; ++j) y[at(j)] = y[at(j)] / sum;
            }
    }
};

template <>
struct evaluate<ops::dropout> {
    static void move(op_call_args& args) {
        auto const number = [&](std::size_t i, double otherwise) {
            auto const* t = i < args.operands.size() ? args.operands[i] : nullptr;
            return t && t->elements() == 1 ? t->converted_to(dtype::f64).data<double>()[0] : otherwise;
        };
        if (number(2, 0) != 0 && number(1, 0.5) != 0)
            throw error{problem{errors::operator_form, {}, "Dropout", "training mode, whose result is random", {}}};
        args.results[0] = *args.operands[0];
        if (args.results.size() == 2)
            for (auto& kept : args.results[1].mutable_data<bool>()) kept = true;
    }
};

} // namespace gsub
