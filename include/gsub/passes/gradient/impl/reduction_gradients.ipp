#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_tables.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gsub::passes::gradients {

// Which dimensions a reduction takes away, and the way back for its results.
struct reduced_along {
    ints axes{};
    bool keepdims = true;
};
GSUB_LAZY reduced_along reduction_of(gradient_site& at, reduce_attributes const& a) {
    auto const x = at.operand(0);
    if (!at.type(x).ranked) at.refuse("unknown rank");
    auto const listed = at.operand(1).valid() ? at.integers(1) : a.axes;
    auto const gone = reduced_dims(listed, at.operands() > 1 && a.noop_with_empty_axes, at.type(x).rank());
    reduced_along out;
    out.keepdims = a.keepdims;
    for (std::size_t i = 0; i < gone.size(); ++i)
        if (gone[i]) out.axes.push_back(static_cast<std::int64_t>(i));
    return out;
}
GSUB_LAZY value_id kept(gradient_site& at, reduced_along const& r, value_id y) {
    return r.keepdims || r.axes.empty() ? y : at.builder().add<ops::unsqueeze>({.axes = r.axes}, {y});
}
GSUB_LAZY void gradient_of_reduce_sum(gradient_site& at) {
    at.give(0, kept(at, reduction_of(at, at.attributes<ops::reduce_sum>()), at.seed()));
}
GSUB_LAZY void gradient_of_reduce_mean(gradient_site& at) {
    auto const r = reduction_of(at, at.attributes<ops::reduce_mean>());
    double count = 1;
    for (auto axis : r.axes) {
        auto const d = at.type(at.operand(0)).dims[static_cast<std::size_t>(axis)];
        if (!d.fixed()) at.refuse("its dimensions are not fixed");
        count *= static_cast<double>(d.size());
    }
    at.give(0, kept(at, r, scaled(at, at.seed(), 1 / count)));
}
GSUB_LAZY void gradient_of_reduce_max(gradient_site& at) {
    auto& b = at.builder();
    auto const x = at.operand(0);
    auto const r = reduction_of(at, at.attributes<ops::reduce_max>());
    auto const largest = b.add<ops::cast>({.to = at.type(x).element}, {b.add<ops::equal>(x, kept(at, r, at.result()))});
    auto const count = r.axes.empty() ? largest : b.add<ops::reduce_sum>({.axes = r.axes}, {largest});
    at.give(0, product_of(at, largest, b.add<ops::div>(kept(at, r, at.seed()), count)));
}
GSUB_LAZY void gradient_of_softmax(gradient_site& at) { // y * (s - sum of s * y)
    auto& b = at.builder();
    auto const& a = at.attributes<ops::softmax>();
    auto const y = at.result();
    auto const first = axis_in(at, a.axis, y);
    reduce_attributes over;
    auto const last = a.flatten ? static_cast<std::int64_t>(at.type(y).rank()) : first + 1;
    for (auto i = first; i < last; ++i) over.axes.push_back(i);
    if (over.axes.empty()) return; // of single elements: 1
    auto const weighted = product_of(at, at.seed(), y);
    at.give(0, product_of(at, y, b.add<ops::sub>(at.seed(), b.add<ops::reduce_sum>(over, {weighted}))));
}

// The window of channels c is j in [c - (size - 1) / 2, c + size / 2]: sums over it are products with a matrix.
GSUB_LAZY void gradient_of_lrn(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::lrn>();
    auto const x = at.operand(0), y = at.result();
    auto const sizes = at.sizes(x);
    auto const channels = sizes[1];
    auto const matrix = [&](bool turned) {
        ints dims{channels, channels};
        dims.resize(sizes.size(), 1);
        auto t = tensor::zeros(dtype::f64, dims);
        auto const to = t.mutable_data<double>();
        for (std::int64_t c = 0; c < channels; ++c)
            for (auto j = std::max<std::int64_t>(0, c - (a.size - 1) / 2); j <= c + a.size / 2 && j < channels; ++j)
                to[static_cast<std::size_t>(turned ? j * channels + c : c * channels + j)] =
                    a.alpha / static_cast<double>(a.size);
        return b.constant(t.converted_to(at.type(x).element));
    };
    attributes_of<ops::conv> each;
    each.strides = each.dilations = ints(sizes.size() - 2, 1), each.pads = ints(2 * (sizes.size() - 2), 0);
    auto const squares = b.add<ops::conv>(each, {product_of(at, x, x), matrix(false)});
    auto const scale = b.add<ops::add>(squares, at.number(a.bias, x));
    auto const own = product_of(at, at.seed(), b.add<ops::pow>(scale, at.number(-a.beta, x)));
    auto const share = b.add<ops::div>(product_of(at, at.seed(), y), scale);
    auto const others = product_of(at, x, b.add<ops::conv>(each, {share, matrix(true)}));
    at.give(0, b.add<ops::sub>(own, scaled(at, others, 2 * a.beta)));
}
// With n = (x - mean) / deviation: scale / deviation * (s - mean of s - n * mean of s * n).
GSUB_LAZY void gradient_of_batch_norm_training(gradient_site& at) {
    auto& b = at.builder();
    for (std::uint32_t port = 1; port < at.graph().result_count(at.node()); ++port)
        if (at.seed(port).valid()) at.refuse("its running statistics are differentiated");
    if (!at.seed().valid()) return;
    auto const x = at.operand(0), s = at.seed();
    if (!at.type(x).ranked) at.refuse("unknown rank");
    reduce_attributes over{.axes = {0}};
    ints behind;
    for (std::size_t i = 2; i < at.type(x).rank(); ++i) {
        over.axes.push_back(static_cast<std::int64_t>(i));
        behind.push_back(static_cast<std::int64_t>(i) - 1);
    }
    auto const mean = [&](value_id v) { return b.add<ops::reduce_mean>(over, {v}); };
    auto const centred = b.add<ops::sub>(x, mean(x));
    auto const variance = mean(product_of(at, centred, centred));
    auto const epsilon = at.number(at.attributes<ops::batch_norm_training>().epsilon, x);
    auto const deviation = b.add<ops::sqrt>(b.add<ops::add>(variance, epsilon));
    auto const normal = b.add<ops::div>(centred, deviation), weighted = product_of(at, s, normal);
    auto sums = over;
    sums.keepdims = false;
    if (at.wanted(1)) at.give(1, b.add<ops::reduce_sum>(sums, {weighted}));
    if (at.wanted(2)) at.give(2, b.add<ops::reduce_sum>(sums, {s}));
    if (!at.wanted(0)) return;
    auto const scale = behind.empty() ? at.operand(1) : b.add<ops::unsqueeze>({.axes = behind}, {at.operand(1)});
    auto const rest = b.add<ops::sub>(b.add<ops::sub>(s, mean(s)), product_of(at, normal, mean(weighted)));
    at.give(0, product_of(at, b.add<ops::div>(scale, deviation), rest));
}

GSUB_LAZY_BODY std::vector<gradient_rule> reduction_gradients() {
    return {
        {id_of<ops::reduce_sum>, &gradient_of_reduce_sum},
        {id_of<ops::reduce_mean>, &gradient_of_reduce_mean},
        {id_of<ops::reduce_max>, &gradient_of_reduce_max},
        {id_of<ops::softmax>, &gradient_of_softmax},
        {id_of<ops::lrn>, &gradient_of_lrn},
        {id_of<ops::batch_norm_training>, &gradient_of_batch_norm_training},
    };
}

} // namespace gsub::passes::gradients
