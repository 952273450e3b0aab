// ONNX functions that normalise.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

namespace gsub::io::detail {

// (x - mean) / sqrt(variance + epsilon) along axes.
GSUB_INLINE value_id standardised(function_writer const& to, value_id x, ints const& axes, double epsilon) {
    auto const centred = to.sub(x, to.reduced<ops::reduce_mean>(x, axes));
    auto const variance = to.reduced<ops::reduce_mean>(to.mul(centred, centred), axes);
    return to.div(centred, to.make<ops::sqrt>(to.add(variance, to.number(epsilon, variance))));
}

// A vector with an entry a channel, to be broadcast over the dimensions behind it.
GSUB_INLINE value_id by_channel(function_writer const& to, value_id v, std::size_t dimensions_behind) {
    ints sizes(1 + dimensions_behind, 1);
    sizes[0] = -1;
    return to.reshaped(v, sizes);
}

GSUB_INLINE double read_epsilon(onnx_import_context& cx) {
    return cx.real("epsilon").value_or(static_cast<double>(1e-5f));
}

GSUB_INLINE value_id import_instance_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const epsilon = read_epsilon(cx);
    auto const x = to.floating(0);
    auto const rank = to.rank(x);
    if (rank < 3) cx.invalid(format_text("operand {} has no pixels", to_string(cx.type(0))));
    auto const scale = by_channel(to, to.typed(1), rank - 2), shift = by_channel(to, to.typed(2), rank - 2);
    auto const y = standardised(to, to.widened(x), function_writer::axes_from(2, rank), epsilon);
    return to.cast(to.add(to.mul(y, to.widened(scale)), to.widened(shift)), to.element(x));
}

GSUB_INLINE value_id import_group_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const groups = cx.integer("num_groups").value_or(0);
    auto const epsilon = read_epsilon(cx);
    if (cx.integer("stash_type").value_or(1) != 1) cx.unsupported("statistics in another element type than f32");
    auto const x = to.floating(0), scale = to.typed(1), shift = to.typed(2);
    auto const rank = to.rank(x);
    if (rank < 2) cx.invalid(format_text("operand {} has no channels", to_string(cx.type(0))));
    auto const channels = to.size(x, 1);
    if (groups < 1 || channels % groups != 0) cx.invalid(format_text("{} groups of {} channels", groups, channels));
    auto y = standardised(to, to.reshaped(to.widened(x), {0, groups, -1}), {2}, epsilon);
    // Before operator set 21 there is a scale for each group, from then on one for each channel.
    auto const of_groups = cx.opset() < 21;
    auto const back = [&](value_id v) {
        auto const& t = cx.type(0);
        return t.is_static() ? to.make<ops::reshape>(attributes_of<ops::reshape>::to(t.sizes()), {v})
                             : to.make<ops::reshape>(v, to.make<ops::shape>(x));
    };
    auto const placed = [&](value_id v) { return to.widened(by_channel(to, v, of_groups ? 1 : rank - 2)); };
    if (!of_groups) y = back(y);
    y = to.add(to.mul(to.cast(y, to.element(to.widened(scale))), placed(scale)), placed(shift));
    return to.cast(of_groups ? back(y) : y, to.element(x));
}

GSUB_INLINE value_id import_rms_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const epsilon = read_epsilon(cx);
    auto const axis = cx.integer("axis").value_or(-1);
    if (cx.integer("stash_type").value_or(1) != 1) cx.unsupported("statistics in another element type than f32");
    auto const given = to.floating(0), scale = to.floating(1), x = to.widened(given);
    auto const rank = to.rank(x);
    auto const axes = function_writer::axes_from(to.axis(axis, rank), rank);
    auto const square = to.reduced<ops::reduce_mean>(to.mul(x, x), axes);
    auto const y = to.div(x, to.make<ops::sqrt>(to.add(square, to.number(epsilon, square))));
    return to.mul(to.cast(to.cast(y, to.element(given)), to.element(scale)), scale);
}

GSUB_INLINE value_id import_mean_variance_norm(onnx_import_context& cx) {
    function_writer const to{cx};
    auto const axes = cx.integer_list("axes").value_or(ints{0, 2, 3});
    auto const given = to.floating(0), x = to.widened(given);
    auto const mean = to.reduced<ops::reduce_mean>(x, axes);
    auto const variance = to.sub(to.reduced<ops::reduce_mean>(to.mul(x, x), axes), to.mul(mean, mean));
    auto const deviation = to.add(to.make<ops::sqrt>(variance), to.number(static_cast<double>(1e-9f), variance));
    return to.cast(to.div(to.sub(x, mean), deviation), to.element(given));
}

} // namespace gsub::io::detail
