// ONNX functions that reduce.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <cmath>
#include <optional>

namespace gsub::io::detail {

/// Reduction of a node: over the axes that its attributes or its last operand tell.
class function_reduction {
public:
    explicit function_reduction(function_writer const& to) : to_(to), how_(read_reduction(to.node())) {
        auto const operands = reduction_operands(to.node());
        if (operands.size() > 1) axes_ = operands[1];
    }
    /// What the axes leave of a value; the value itself where they are none.
    template <operation Op>
    [[nodiscard]] value_id of(value_id x) const {
        return of<Op>(x, how_ && how_->keepdims);
    }
    template <operation Op>
    [[nodiscard]] value_id of(value_id x, bool keepdims) const {
        if (!how_) return x;
        auto a = *how_;
        a.keepdims = keepdims;
        return axes_.valid() ? to_.make<Op>(a, {x, axes_}) : to_.make<Op>(a, {x});
    }

private:
    function_writer const& to_;
    std::optional<reduce_attributes> how_;
    value_id axes_{};
};

// A function of real numbers, of integers too: they are computed as real numbers, which are truncated.
template <operation Op>
value_id as_real(function_writer const& to, value_id x) {
    auto const element = to.element(x);
    return is_floating(element) ? to.make<Op>(x) : to.cast(to.make<Op>(to.cast(x, dtype::f64)), element);
}

GSUB_INLINE value_id import_reduce_l1(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0);
    return to.cast(function_reduction{to}.of<ops::reduce_sum>(to.make<ops::abs>(to.widened(x))), to.element(x));
}

GSUB_INLINE value_id sum_of_squares(function_writer const& to, value_id given) {
    auto const x = to.widened(given);
    return function_reduction{to}.of<ops::reduce_sum>(to.mul(x, x));
}

GSUB_INLINE value_id import_reduce_sum_square(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0);
    return to.cast(sum_of_squares(to, x), to.element(x));
}

GSUB_INLINE value_id import_reduce_l2(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0);
    return to.cast(as_real<ops::sqrt>(to, sum_of_squares(to, x)), to.element(x));
}

GSUB_INLINE value_id import_reduce_log_sum(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.typed(0);
    auto const sum = function_reduction{to}.of<ops::reduce_sum>(to.widened(x));
    return to.cast(as_real<ops::log>(to, sum), to.element(x));
}

GSUB_INLINE value_id import_reduce_log_sum_exp(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const given = to.typed(0);
    auto const x = is_floating(to.element(given)) ? to.widened(given) : to.cast(given, dtype::f64);
    function_reduction const over{to};
    auto const finite = [&](value_id most) { // inf - inf is no number
        return to.select(to.make<ops::is_inf>(most), to.number(0, most), most);
    };
    auto const powers = to.make<ops::exp>(to.sub(x, finite(over.of<ops::reduce_max>(x, true))));
    auto const sum = to.make<ops::log>(over.of<ops::reduce_sum>(powers));
    return to.cast(to.add(sum, finite(over.of<ops::reduce_max>(x))), to.element(given));
}

GSUB_INLINE value_id import_reduce_min(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const given = to.typed(0);
    auto const x = to.element(given) == dtype::boolean ? to.cast(given, dtype::u8) : given;
    auto const least = to.reversed(function_reduction{to}.of<ops::reduce_max>(to.reversed(x)));
    return to.cast(least, to.element(given));
}

// Where the greatest element along an axis stands, or the least: of several the first, or the last.
GSUB_INLINE value_id place_of_extreme(function_writer const& to, value_id x, std::size_t axis, bool greatest, bool last,
                                      bool keepdims) {
    auto const rank = to.rank(x);
    auto const size = to.size(x, axis);
    if (size == 0) to.node().invalid(format_text("axis {} of size 0 has no greatest element", axis));
    ints const along{static_cast<std::int64_t>(axis)};
    auto const ordered = greatest ? x : to.reversed(x);
    auto hit = to.make<ops::equal>(ordered, to.reduced<ops::reduce_max>(ordered, along));
    if (to.is_floating_value(x)) hit = to.make<ops::logical_or>(hit, to.make<ops::is_nan>(ordered));
    // Places count from 1 on, from the end for the first one, so that the greatest number is its.
    auto const places = last ? to.counted(size, axis, rank, 1) : to.counted(size, axis, rank, size, -1);
    auto const best = to.reduced<ops::reduce_max>(to.select(hit, places, to.number(0, places)), along, keepdims);
    return last ? to.sub(best, to.number(1, best)) : to.sub(to.number(static_cast<double>(size), best), best);
}

GSUB_INLINE value_id import_arg_extreme(onnx_import_context& cx, bool greatest) {
    function_writer const to{cx};
    auto const along = cx.integer("axis").value_or(0);
    auto const keepdims = cx.integer("keepdims").value_or(1) != 0;
    auto const last = cx.integer("select_last_index").value_or(0) != 0;
    auto const x = to.typed(0);
    if (to.rank(x) == 0) cx.unsupported("a scalar, which has no axis");
    return place_of_extreme(to, x, to.axis(along, to.rank(x)), greatest, last, keepdims);
}
GSUB_INLINE value_id import_arg_max(onnx_import_context& cx) {
    return import_arg_extreme(cx, true);
}
GSUB_INLINE value_id import_arg_min(onnx_import_context& cx) {
    return import_arg_extreme(cx, false);
}

// Axis of a softmax: before operator set 13 all dimensions from it on are one.
GSUB_INLINE ints softmax_axes(onnx_import_context& cx, function_writer const& to, value_id x) {
    auto const flat = cx.opset() < 13;
    auto const rank = to.rank(x);
    auto const axis = to.axis(cx.integer("axis").value_or(flat ? 1 : -1), rank);
    return flat ? function_writer::axes_from(axis, rank) : ints{static_cast<std::int64_t>(axis)};
}

GSUB_INLINE value_id log_softmax(function_writer const& to, value_id given, ints const& axes) {
    auto const x = to.widened(given);
    auto const centred = to.sub(x, to.reduced<ops::reduce_max>(x, axes));
    auto const sum = to.reduced<ops::reduce_sum>(to.make<ops::exp>(centred), axes);
    return to.cast(to.sub(centred, to.make<ops::log>(sum)), to.element(given));
}

GSUB_INLINE value_id import_log_softmax(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    return log_softmax(to, x, softmax_axes(cx, to, x));
}

// Sums of all elements up to each: a product with a matrix of ones in a triangle.
GSUB_INLINE value_id import_cum_sum(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const exclusive = cx.integer("exclusive").value_or(0) != 0, reverse = cx.integer("reverse").value_or(0) != 0;
    auto const x = to.typed(0);
    auto const given = cx.known_ints(1);
    if (!given || given->size() != 1) cx.unsupported("an axis that is no constant");
    auto const rank = to.rank(x), axis = to.axis((*given)[0], rank);
    auto const size = to.size(x, axis);
    constexpr std::int64_t most = 4096;
    auto const sums = format_text("sums along {} elements", size);
    if (size > most) cx.unsupported(sums);
    cx.take_constant({size, size}, sums);
    auto ones = tensor::zeros(dtype::f64, ints{size, size});
    for (std::int64_t from = 0; from < size; ++from)
        for (std::int64_t at = 0; at < size; ++at) {
            auto const behind = reverse ? from - at : at - from;
            ones.mutable_data<double>()[static_cast<std::size_t>(from * size + at)] = behind >= (exclusive ? 1 : 0);
        }
    auto const wide = to.widened(x);
    auto const triangle = cx.builder().constant(ones.converted_to(to.element(wide)));
    ints swapped;
    for (std::size_t d = 0; d < rank; ++d) swapped.push_back(static_cast<std::int64_t>(d));
    std::swap(swapped[axis], swapped[rank - 1]);
    auto const turned = [&](value_id v) {
        return axis == rank - 1 ? v : to.make<ops::transpose>({.perm = swapped}, {v});
    };
    return to.cast(turned(to.make<ops::mat_mul>(turned(wide), triangle)), to.element(x));
}

GSUB_INLINE value_id import_hardmax(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    auto const axes = softmax_axes(cx, to, x);
    if (axes.size() != 1) cx.unsupported("several dimensions as one", "convert the model to operator set 13");
    auto const axis = static_cast<std::size_t>(axes[0]);
    auto const place = place_of_extreme(to, x, axis, true, false, true);
    auto const places = to.counted(to.size(x, axis), axis, to.rank(x));
    return to.cast(to.make<ops::equal>(places, place), to.element(x));
}

// ---- pools over all pixels, and norms -------------------------------------------------------------------------------

GSUB_INLINE value_id import_global_max_pool(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const x = to.floating(0);
    if (to.rank(x) < 3) cx.invalid(format_text("operand {} has no pixels", to_string(cx.type(0))));
    return to.reduced<ops::reduce_max>(x, function_writer::axes_from(2, to.rank(x)));
}

// The p-norm along axes, which stay.
GSUB_INLINE value_id norm(function_writer const& to, value_id x, ints const& axes, std::int64_t p) {
    if (p < 1) to.node().invalid(format_text("p = {}", p));
    if (p == 1) return to.reduced<ops::reduce_sum>(to.make<ops::abs>(x), axes);
    if (p == 2) return to.make<ops::sqrt>(to.reduced<ops::reduce_sum>(to.mul(x, x), axes));
    auto const order = static_cast<double>(p);
    auto const powers = to.make<ops::pow>(to.make<ops::abs>(x), to.number(order, x));
    return to.make<ops::pow>(to.reduced<ops::reduce_sum>(powers, axes), to.number(1 / order, x));
}

GSUB_INLINE value_id import_global_lp_pool(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const given = to.floating(0), x = to.widened(given);
    if (to.rank(x) < 3) cx.invalid(format_text("operand {} has no pixels", to_string(cx.type(0))));
    auto const y = norm(to, x, function_writer::axes_from(2, to.rank(x)), cx.integer("p").value_or(2));
    return to.cast(y, to.element(given));
}

GSUB_INLINE value_id import_lp_normalization(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const p = cx.integer("p").value_or(2), axis = cx.integer("axis").value_or(-1);
    if (p > 2) cx.invalid(format_text("p = {}; it is 1 or 2", p));
    auto const given = to.floating(0), x = to.widened(given);
    auto const length = norm(to, x, {static_cast<std::int64_t>(to.axis(axis, to.rank(x)))}, p);
    auto const zero = to.number(0, x);
    auto const y = to.select(to.make<ops::equal>(length, zero), zero, to.div(x, length));
    return to.cast(y, to.element(given));
}

} // namespace gsub::io::detail
