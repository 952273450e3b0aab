// Legalization of normalisations by computed numbers, of means of images, and of dropout.
#pragma once

#include <gsub/lower/impl/legal_writer.hpp>

#include <algorithm>

namespace gsub::detail {

// (x - mean) * factor + shift, in the type of computation.
GSUB_LAZY [[nodiscard]] value_id normalized(legal_writer& w, value_id x, value_id mean, value_id variance,
                                            double epsilon) {
    auto const rank = w.sizes(x).size();
    auto const deviation = w.make<ops::sqrt>(w.add(variance, w.number(epsilon, variance)));
    auto const placed = [&](value_id v) { return w.along_axis(v, 1, rank); };
    auto const factor = w.div(w.widened(w.operand(1)), deviation);
    return w.add(w.mul(w.sub(x, placed(mean)), placed(factor)), placed(w.widened(w.operand(2))));
}

GSUB_LAZY_BODY legal_values legalize_batch_norm(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const x = w.operand(0);
    auto by_constants = true, of_f32 = w.element(x) == dtype::f32; // what a kernel takes
    for (std::size_t i = 1; i < 5; ++i) {
        by_constants = by_constants && g.constant(w.operand(i));
        of_f32 = of_f32 && w.element(w.operand(i)) == dtype::f32;
    }
    if ((by_constants && of_f32) || w.sizes(x).size() < 2) return {};
    if (by_constants && loop::computed_in(w.element(x)) == dtype::f32) {
        // The result of a convolution is rounded once, behind both.
        auto const whole = g.is<ops::cast>(x.node) && g.use_count(x) == 1 && g.is<ops::conv>(g.operand(x.node, 0).node);
        small_vector<value_id, 5> operands{whole ? g.operand(x.node, 0) : w.widened(x)};
        for (std::size_t i = 1; i < 5; ++i) operands.push_back(w.cast(w.operand(i), dtype::f32));
        auto const y = w.make_again<ops::batch_norm>({operands.data(), operands.size()});
        return {w.cast(y, w.result_type().element)};
    }
    auto const y = normalized(w, w.widened(x), w.widened(w.operand(3)), w.widened(w.operand(4)),
                              w.attributes<ops::batch_norm>().epsilon);
    return {w.cast(y, w.result_type().element)};
}

GSUB_LAZY_BODY legal_values legalize_batch_norm_training(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const x = w.widened(w.operand(0));
    auto const& a = w.attributes<ops::batch_norm_training>();
    ints axes{0};
    auto const rank = w.sizes(x).size();
    for (std::size_t d = 2; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
    auto const mean = w.make<ops::reduce_mean>({.axes = axes, .keepdims = false}, {x});
    auto const off = w.sub(x, w.along_axis(mean, 1, rank));
    auto const variance = w.make<ops::reduce_mean>({.axes = axes, .keepdims = false}, {w.mul(off, off)});
    legal_values out{w.cast(normalized(w, x, mean, variance, a.epsilon), w.result_type().element)};
    auto const running = [&](std::uint32_t port, std::size_t before, value_id now) {
        auto const was = w.widened(w.operand(before));
        auto const v = w.add(w.mul(was, w.number(a.momentum, was)), w.mul(now, w.number(1 - a.momentum, now)));
        return w.cast(v, w.result_type(port).element);
    };
    if (g.result_count(n) == 1) return out;
    out.push_back(running(1, 3, mean));
    out.push_back(running(2, 4, variance));
    return out;
}

// Whether a value is images that lie in blocks of channels: of a convolution or pooling, or arithmetic on such ones.
GSUB_LAZY [[nodiscard]] bool are_images(any_graph const& g, value_id v) {
    for (int steps = 0; steps < 16; ++steps) {
        auto const n = v.node;
        if (g.is<ops::conv>(n) || g.is<ops::max_pool>(n) || g.is<ops::average_pool>(n)) return true;
        if (g.op(n).category != op_category::elementwise && !g.is<ops::batch_norm>(n)) return false;
        auto const operands = g.operands(n);
        auto const same =
            std::ranges::find_if(operands, [&](value_id o) { return o.valid() && g.type(o) == g.type(v); });
        if (same == operands.end()) return false;
        v = *same;
    }
    return false;
}

// The mean of all pixels, which keeps its place in blocks, where a reduction takes rows.
GSUB_LAZY_BODY legal_values legalize_reduce_mean(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const x = w.operand(0);
    auto const& a = w.attributes<ops::reduce_mean>();
    auto const rank = w.sizes(x).size();
    if (w.element(x) != dtype::f32 || rank < 3 || rank > 5 || !a.keepdims || a.axes.size() + 2 != rank || w.has(1) ||
        w.elements(x) == 0)
        return {};
    for (auto const axis : a.axes)
        if (*normalized_axis(axis, rank) < 2) return {};
    if (!are_images(g, x)) return {};
    return {w.make<ops::global_average_pool>(x)};
}

// The identity, and a mask that is true everywhere, where that is known by now.
GSUB_LAZY_BODY legal_values legalize_dropout(any_graph& g, node_id n) {
    legal_writer w{g, n};
    auto const is_zero = [&](std::size_t i) {
        auto const v = w.operand(i);
        return v.valid() && g.is<ops::constant>(v.node) && g.constant_data(v.node).elements() == 1 &&
               g.constant_data(v.node).converted_to(dtype::f64).data<double>()[0] == 0;
    };
    if (w.has(2) && !is_zero(2) && !is_zero(1)) return {};
    legal_values out{w.operand(0)};
    if (g.result_count(n) == 2)
        out.push_back(
            w.make<ops::fill>({.shape = w.result_type(1).sizes(), .element = dtype::boolean, .integer = 1}, {}));
    return out;
}

} // namespace gsub::detail
