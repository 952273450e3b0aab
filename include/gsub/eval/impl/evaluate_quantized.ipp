#pragma once

#include <gsub/eval/elementwise.hpp>
#include <gsub/eval/evaluate_quantized.hpp>
#include <gsub/eval/reference_kernel.hpp>

#include <cmath>

namespace gsub {

namespace detail {

// Element i of a scale or zero point for the elements of a tensor of `dims`, as offsets in steps: f(element, entry).
GSUB_INLINE void for_each_scaled(std::span<std::int64_t const> dims, scale_attributes const& a, tensor const& scale,
                                 function_ref<void(std::size_t first, std::size_t entry, std::size_t count)> f) {
    auto const count = static_cast<std::size_t>(product(dims));
    if (count == 0) return;
    if (scale.elements() == 1) return f(0, 0, count);
    auto const axis = normalized_axis(a.axis, dims.size()).value();
    auto const outer = static_cast<std::size_t>(product(dims.first(axis)));
    auto const length = static_cast<std::size_t>(dims[axis]);
    auto const inner = static_cast<std::size_t>(product(dims.subspan(axis + 1)));
    auto const block = static_cast<std::size_t>(a.block_size);
    for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t i = 0; i < length; ++i) {
            auto const first = (o * length + i) * inner;
            if (block == 0)
                f(first, i, inner);
            else // neighbours along the inner dimensions have entries of their own
                for (std::size_t j = 0; j < inner; ++j)
                    f(first + j, (o * ((length + block - 1) / block) + i / block) * inner + j, 1);
        }
}

struct integer_range {
    double low, high;
};
GSUB_INLINE integer_range range_of(dtype t) {
    auto const end = std::ldexp(1.0, integer_digits(t));
    return {info(t).is_signed ? -end : 0, end - 1};
}
GSUB_INLINE double saturated(double v, integer_range r) {
    return !(v > r.low) ? r.low : v > r.high ? r.high : v;
}

GSUB_INLINE tensor const* given(op_call_args const& args, std::size_t i) {
    return i < args.operands.size() ? args.operands[i] : nullptr;
}
GSUB_INLINE tensor as_double(tensor const* t) {
    return t ? t->converted_to(dtype::f64) : tensor{};
}

// An integer tensor less its zero point, which broadcasts with the dimensions given.
GSUB_INLINE tensor centred(tensor const& x, tensor const* zero, std::span<std::int64_t const> zero_dims) {
    auto out = x.converted_to(dtype::f64);
    if (!zero || x.elements() == 0) return out;
    auto const z = zero->converted_to(dtype::f64);
    auto const from = z.data<double>();
    auto const to = out.mutable_data<double>();
    broadcast_plan<2> const plan{x.dims(), {x.dims(), zero_dims}};
    plan.for_each_run([&](std::int64_t at, std::array<std::int64_t, 2> const& first, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i)
            to[static_cast<std::size_t>(at + i)] -= from[static_cast<std::size_t>(first[1] + i * plan.strides[1][0])];
    });
    return out;
}

// Dimensions that make a vector over dimension `axis` of `rank` broadcast; those of anything else as they are.
GSUB_INLINE ints along(tensor const* t, std::size_t axis, std::size_t rank) {
    if (!t) return {};
    if (t->elements() == 1) return {};
    ints dims(t->dims().begin(), t->dims().end());
    if (dims.size() != 1) return dims;
    ints out(rank - axis, 1);
    out[0] = dims[0];
    return out;
}

// Sums of products of bytes are exact in double up to 2^37 terms.
GSUB_INLINE tensor exact_convolution(op_call_args const& args, integer_window const& a, tensor const& x,
                                     tensor const& w) {
    using conv_attributes = attributes_of<ops::conv>;
    conv_attributes c;
    c.strides = a.strides;
    c.pads = a.pads;
    c.dilations = a.dilations;
    c.group = a.group;
    tensor const* const operands[] = {&x, &w};
    tensor results[] = {tensor::uninitialized(dtype::f64, args.results[0].dims())};
    auto inner = args;
    inner.attributes = intern<ops::conv>(c);
    inner.operands = operands;
    inner.results = results;
    op_call<double> k{inner};
    reference_kernel<ops::conv>::run(k);
    return std::move(results[0]);
}
GSUB_INLINE tensor exact_product(op_call_args const& args, tensor const& a, tensor const& b) {
    tensor const* const operands[] = {&a, &b};
    tensor results[] = {tensor::uninitialized(dtype::f64, args.results[0].dims())};
    auto inner = args;
    inner.attributes = {};
    inner.operands = operands;
    inner.results = results;
    op_call<double> k{inner};
    reference_kernel<ops::mat_mul>::run(k);
    return std::move(results[0]);
}

GSUB_INLINE std::int32_t wrapped(double sum) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
}

GSUB_INLINE tensor convolved(op_call_args const& args, integer_window const& a, std::size_t w, std::size_t x_zero,
                             std::size_t w_zero) {
    auto const &x = *args.operands[0], &weight = *args.operands[w];
    auto const* const zero = given(args, w_zero);
    return exact_convolution(args, a, centred(x, given(args, x_zero), {}),
                             centred(weight, zero, along(zero, 0, weight.rank())));
}
GSUB_INLINE tensor multiplied(op_call_args const& args, std::size_t b, std::size_t a_zero, std::size_t b_zero) {
    auto const &x = *args.operands[0], &y = *args.operands[b];
    auto const *const zx = given(args, a_zero), *const zy = given(args, b_zero);
    auto const rank = [](tensor const& t) { return static_cast<std::size_t>(t.rank()); };
    return exact_product(args, centred(x, zx, along(zx, rank(x) > 1 ? rank(x) - 2 : 0, rank(x))),
                         centred(y, zy, along(zy, rank(y) - 1, rank(y))));
}

GSUB_INLINE double first_of(tensor const& t) {
    return t.converted_to(dtype::f64).data<double>()[0];
}
GSUB_INLINE float as_float(double v) {
    return static_cast<float>(v);
}

// Sums to quantized results: multipliers are entries of `a` times entries of `b`, each broadcast, over y's scale.
GSUB_INLINE void requantize(op_call_args& args, tensor const& sums, tensor const& a, ints const& a_dims,
                            tensor const& b, ints const& b_dims, tensor const& y_scale, tensor const& y_zero,
                            tensor const* bias) {
    auto& out = args.results[0];
    if (out.elements() == 0) return;
    auto const range = range_of(out.element());
    auto const scale = as_float(first_of(y_scale));
    auto const zero = first_of(y_zero);
    auto rounded = tensor::uninitialized(dtype::f64, out.dims());
    auto const to = rounded.mutable_data<double>();
    auto const from = sums.data<double>();
    auto const wide_a = as_double(&a), wide_b = as_double(&b), wide_bias = as_double(bias);
    ints const one_a = along(bias, 1, out.rank());
    broadcast_plan<3> const plan{out.dims(), {a_dims, b_dims, one_a}};
    plan.for_each_run([&](std::int64_t at, std::array<std::int64_t, 3> const& first, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) {
            auto const entry = [&](std::size_t k) {
                return static_cast<std::size_t>(first[k] + i * plan.strides[k][0]);
            };
            auto const here = static_cast<std::size_t>(at + i);
            auto const factor =
                as_float(wide_a.data<double>()[entry(0)]) * as_float(wide_b.data<double>()[entry(1)]) / scale;
            auto const sum = wrapped(from[here] + (bias ? wide_bias.data<double>()[entry(2)] : 0.0));
            to[here] = saturated(static_cast<double>(std::nearbyint(static_cast<float>(sum) * factor)) + zero, range);
        }
    });
    out = rounded.converted_to(out.element());
}

template <class Op>
attributes_of<Op> const& attributes_in(op_call_args const& args) {
    static attributes_of<Op> const defaults{};
    auto const* typed = static_cast<attributes_of<Op> const*>(args.attributes.typed());
    return typed ? *typed : defaults;
}

// Applies `f(element, scale, zero point)` to each element: operands are the elements, scales and zero points, which may
// be left out.
template <class Op, class F>
void map_scaled(op_call_args& args, F&& f) {
    auto& out = args.results[0];
    auto const x = as_double(args.operands[0]), scale = as_double(args.operands[1]), zero = as_double(given(args, 2));
    auto const has_zero = given(args, 2) != nullptr;
    auto wide = tensor::uninitialized(dtype::f64, out.dims());
    auto const from = x.data<double>();
    auto const to = wide.mutable_data<double>();
    for_each_scaled(out.dims(), attributes_in<Op>(args), scale,
                    [&](std::size_t first, std::size_t entry, std::size_t count) {
                        auto const s = scale.data<double>()[entry], z = has_zero ? zero.data<double>()[entry] : 0.0;
                        for (auto i = first; i < first + count; ++i) to[i] = f(from[i], s, z);
                    });
    out = wide.converted_to(out.element());
}

} // namespace detail

GSUB_INLINE void evaluate<ops::quantize>::move(op_call_args& args) {
    auto const range = detail::range_of(args.results[0].element());
    detail::map_scaled<ops::quantize>(args, [&](double x, double scale, double zero) {
        return detail::saturated(static_cast<double>(std::nearbyint(detail::as_float(x / scale))) + zero, range);
    });
}

GSUB_INLINE void evaluate<ops::dequantize>::move(op_call_args& args) {
    detail::map_scaled<ops::dequantize>(args, [](double x, double scale, double zero) {
        return static_cast<double>(detail::as_float(x - zero)) * scale;
    });
}

GSUB_INLINE void evaluate<ops::conv_integer>::move(op_call_args& args) {
    auto const sums = detail::convolved(args, detail::attributes_in<ops::conv_integer>(args), 1, 2, 3);
    auto const to = args.results[0].mutable_data<std::int32_t>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = detail::wrapped(sums.data<double>()[i]);
}

GSUB_INLINE void evaluate<ops::mat_mul_integer>::move(op_call_args& args) {
    auto const sums = detail::multiplied(args, 1, 2, 3);
    auto const to = args.results[0].mutable_data<std::int32_t>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = detail::wrapped(sums.data<double>()[i]);
}

GSUB_INLINE void evaluate<ops::qlinear_conv>::move(op_call_args& args) {
    auto const sums = detail::convolved(args, detail::attributes_in<ops::qlinear_conv>(args), 3, 2, 5);
    auto const& o = args.operands;
    detail::requantize(args, sums, *o[1], {}, *o[4], detail::along(o[4], 1, args.results[0].rank()), *o[6], *o[7],
                       detail::given(args, 8));
}

GSUB_INLINE void evaluate<ops::qlinear_mat_mul>::move(op_call_args& args) {
    auto const sums = detail::multiplied(args, 3, 2, 5);
    auto const& o = args.operands;
    // A vector operand has no rows or columns of its own, and one scale.
    auto const rank = args.results[0].rank();
    detail::requantize(args, sums, *o[1], detail::along(o[1], rank > 1 ? rank - 2 : 0, rank), *o[4],
                       detail::along(o[4], rank > 0 ? rank - 1 : 0, rank), *o[6], *o[7], nullptr);
}

} // namespace gsub
