#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_tables.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace gsub::passes::gradients {

GSUB_LAZY ints spatial(ints const& sizes) {
    return {sizes.begin() + 2, sizes.end()};
}
// [o, i/g, *] as [i, o/g, *], or [g * o, i, *] as [g * i, o, *]: inputs and outputs of each group changed.
GSUB_LAZY value_id turned_kernel(gradient_site& at, value_id w, std::int64_t group) {
    auto& b = at.builder();
    auto const sizes = at.sizes(w);
    auto const taps = spatial(sizes);
    ints grouped{group, sizes[0] / group, sizes[1]}, perm{0, 2, 1}, turned{group * sizes[1], sizes[0] / group};
    append(grouped, taps), append(turned, taps);
    ints axes;
    for (std::size_t i = 0; i < taps.size(); ++i) {
        perm.push_back(static_cast<std::int64_t>(i) + 3);
        if (taps[i] != 1) axes.push_back(static_cast<std::int64_t>(i) + 2);
    }
    return flipped(b, shaped(b, permuted(b, shaped(b, w, grouped), perm), turned), axes);
}
// What a convolution's operand of `sizes` gets from its result: the transposed convolution, as one with stride 1 of
// the result with zeros in between. `turned` is the turned kernel.
GSUB_LAZY value_id spread(gradient_site& at, value_id seed, value_id turned, window_attributes const& w,
                          ints const& sizes, std::int64_t group) {
    auto& b = at.builder();
    auto const taps = spatial(at.sizes(turned)), in = spatial(sizes), out = spatial(at.sizes(seed));
    ints steps{1, 1}, begin, end;
    for (std::size_t i = 0; i < taps.size(); ++i) {
        steps.push_back(w.strides[i]);
        begin.push_back(w.dilations[i] * (taps[i] - 1) - w.pads[i]);
        end.push_back(in[i] + w.pads[i] - out[i] * w.strides[i]);
    }
    seed = dilated(at, seed, steps);
    auto const negative = [](std::int64_t v) { return v < 0; };
    if (std::any_of(begin.begin(), begin.end(), negative) || std::any_of(end.begin(), end.end(), negative)) {
        ints first{0, 0}, last{0, 0};
        append(first, begin), append(last, end);
        seed = bordered(b, seed, first, last);
        begin = end = ints(taps.size(), 0);
    }
    attributes_of<ops::conv> a;
    a.strides = ints(taps.size(), 1), a.dilations = w.dilations, a.group = group;
    a.pads = begin;
    append(a.pads, end);
    return b.add<ops::conv>(a, {seed, turned});
}
// What the kernel of a convolution gets: a convolution of the operand by the gradient of the result, in which images
// are channels, strides are dilations and dilations are strides.
GSUB_LAZY value_id kernel_gradient(gradient_site& at, attributes_of<ops::conv> const& a) {
    auto& b = at.builder();
    auto const x = at.operand(0), w = at.operand(1), seed = at.seed();
    auto const x_sizes = at.sizes(x), w_sizes = at.sizes(w);
    auto const in = spatial(x_sizes), taps = spatial(w_sizes), out = spatial(at.sizes(seed));
    auto const images = x_sizes[0], channels = w_sizes[1];
    ints swap{1, 0}, behind, first{0, 0}, last{0, 0}, begin, end;
    for (std::size_t i = 0; i < in.size(); ++i) {
        swap.push_back(static_cast<std::int64_t>(i) + 2);
        begin.push_back(a.pads[i]);
        end.push_back(a.strides[i] * (out[i] - 1) + 1 + a.dilations[i] * (taps[i] - 1) - in[i] - a.pads[i]);
    }
    // [n, g * c, *] -> [c, g * n, *]
    ints apart{images, a.group, channels}, turn{2, 1, 0}, together{channels, a.group * images};
    append(apart, in), append(together, in);
    for (std::size_t i = 0; i < in.size(); ++i) turn.push_back(static_cast<std::int64_t>(i) + 3);
    auto source = shaped(b, permuted(b, shaped(b, x, apart), turn), together);
    if (std::any_of(end.begin(), end.end(), [](std::int64_t v) { return v < 0; })) {
        append(first, begin), append(last, end);
        source = bordered(b, source, first, last);
        begin = end = ints(in.size(), 0);
    }
    attributes_of<ops::conv> c;
    c.strides = a.dilations, c.dilations = a.strides, c.group = a.group;
    c.pads = begin;
    append(c.pads, end);
    return permuted(b, b.add<ops::conv>(c, {source, permuted(b, seed, swap)}), swap); // [c, o, *] -> [o, c, *]
}
GSUB_LAZY void gradient_of_conv(gradient_site& at) {
    auto const& a = at.attributes<ops::conv>();
    if (at.wanted(0))
        at.give(0,
                spread(at, at.seed(), turned_kernel(at, at.operand(1), a.group), a, at.sizes(at.operand(0)), a.group));
    if (at.wanted(1)) at.give(1, kernel_gradient(at, a));
    if (at.wanted(2)) {
        ints axes{0};
        for (std::size_t i = 2; i < at.type(at.seed()).rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
        at.give(2, at.builder().add<ops::reduce_sum>({.axes = axes, .keepdims = false}, {at.seed()}));
    }
}
// How many places each window counts, as [1, 1, *].
GSUB_LAZY tensor window_counts(attributes_of<ops::average_pool> const& a, ints const& in, ints const& out) {
    ints dims{1, 1};
    append(dims, out);
    auto t = tensor::uninitialized(dtype::f64, dims);
    auto const to = t.mutable_data<double>();
    std::fill(to.begin(), to.end(), 1.0);
    std::int64_t inner = t.elements();
    for (std::size_t i = 0; i < out.size(); ++i) {
        inner /= out[i];
        for (std::size_t e = 0; e < to.size(); ++e) {
            auto const p = static_cast<std::int64_t>(e) / inner % out[i];
            std::int64_t places = 0;
            for (std::int64_t k = 0; k < a.kernel_shape[i]; ++k) {
                auto const place = p * a.strides[i] + k * a.dilations[i];
                places += a.count_include_pad ? place < in[i] + a.pads[i] + a.pads[i + out.size()]
                                              : place >= a.pads[i] && place < in[i] + a.pads[i];
            }
            to[e] *= static_cast<double>(places);
        }
    }
    return t;
}
GSUB_LAZY void gradient_of_average_pool(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::average_pool>();
    auto const x = at.operand(0);
    auto const sizes = at.sizes(x), results = at.sizes(at.result());
    if (product(results) == 0) return;
    auto const element = at.type(x).element;
    auto counts = window_counts(a, spatial(sizes), spatial(results));
    auto const numbers = counts.data<double>();
    auto const alike = std::all_of(numbers.begin(), numbers.end(), [&](double v) { return v == numbers[0]; });
    auto const share = alike ? scaled(at, at.seed(), 1 / numbers[0])
                             : b.add<ops::div>(at.seed(), b.constant(counts.converted_to(element)));
    ints ones{sizes[1], 1};
    append(ones, a.kernel_shape);
    at.give(0, spread(at, share, b.add<ops::fill>({.shape = ones, .element = element, .value = 1}, {}), a, sizes,
                      sizes[1]));
}
GSUB_LAZY void gradient_of_global_average_pool(gradient_site& at) {
    double area = 1;
    for (auto d : spatial(at.sizes(at.operand(0)))) area *= static_cast<double>(d);
    at.give(0, scaled(at, at.seed(), 1 / area));
}
// For each place in the window: where it is the first with the maximum, the gradient goes there.
GSUB_LAZY void gradient_of_max_pool(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::max_pool>();
    auto const sizes = at.sizes(at.operand(0)), results = at.sizes(at.result());
    auto const rank = sizes.size() - 2;
    if (product(a.kernel_shape) > 1024) at.refuse("windows of more than 1024 places");
    if (product(results) == 0 || !at.seed().valid()) return;
    ints begin{0, 0}, end{0, 0}, padded{sizes[0], sizes[1]}, axes, steps{1, 1}, back, rest;
    for (std::size_t i = 0; i < rank; ++i) {
        auto const seen = (results[i + 2] - 1) * a.strides[i] + window_extent(a.kernel_shape[i], a.dilations[i]);
        begin.push_back(a.pads[i]);
        end.push_back(seen - sizes[i + 2] - a.pads[i]);
        padded.push_back(seen);
        axes.push_back(static_cast<std::int64_t>(i) + 2);
        steps.push_back(a.strides[i]);
    }
    auto const x = bordered(b, at.operand(0), begin, end, -std::numeric_limits<double>::infinity());
    ints at_tap(rank, 0);
    value_id taken, total;
    for (std::int64_t k = 0, taps = product(a.kernel_shape); k < taps; ++k) {
        auto left = k;
        ints starts{0, 0};
        attributes_of<ops::slice> seen;
        for (std::size_t i = rank; i-- > 0;) at_tap[i] = left % a.kernel_shape[i], left /= a.kernel_shape[i];
        for (std::size_t i = 0; i < rank; ++i) {
            starts.push_back(at_tap[i] * a.dilations[i]);
            seen.starts.push_back(starts.back());
            seen.ends.push_back(starts.back() + (results[i + 2] - 1) * a.strides[i] + 1);
            seen.steps.push_back(a.strides[i]);
        }
        seen.axes = axes;
        auto first = b.add<ops::equal>(b.add<ops::slice>(seen, {x}), at.result());
        auto const equal = first;
        if (taken.valid()) first = b.add<ops::logical_and>(first, b.add<ops::logical_not>(taken));
        if (k + 1 < taps) taken = taken.valid() ? b.add<ops::logical_or>(taken, equal) : equal;
        auto const share = scattered(at, chosen(at, first, at.seed()), starts, steps, padded);
        total = total.valid() ? b.add<ops::add>(total, share) : share;
    }
    for (auto v : begin) back.push_back(-v);
    for (auto v : end) rest.push_back(-v);
    at.give(0, bordered(b, total, back, rest));
}

GSUB_LAZY_BODY std::vector<gradient_rule> window_gradients() {
    return {
        {id_of<ops::conv>, &gradient_of_conv},
        {id_of<ops::average_pool>, &gradient_of_average_pool},
        {id_of<ops::global_average_pool>, &gradient_of_global_average_pool},
        {id_of<ops::max_pool>, &gradient_of_max_pool},
    };
}

} // namespace gsub::passes::gradients
