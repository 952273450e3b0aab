#pragma once

#include <gsub/rewrite/engine/impl/rewrite.ipp>
#include <gsub/rewrite/rules/conv.hpp>

namespace gsub::rules::convolution::detail {

GSUB_INLINE affine normalisation(node_sink& sink, double epsilon, value_id by, value_id offset, value_id centre,
                                 value_id spread) {
    auto const constant = sink.add<ops::fill>({.element = sink.type_of(spread)->element, .value = epsilon}, {});
    auto const deviation = sink.add<ops::sqrt>(sink.add<ops::add>(spread, constant));
    auto const factor = sink.add<ops::div>(by, deviation);
    return {factor, sink.add<ops::sub>(offset, sink.add<ops::mul>(centre, factor))};
}
GSUB_INLINE affine normalisation(rewrite& r) {
    return normalisation(r, r.attributes<ops::batch_norm>(n).epsilon, r[scale], r[shift], r[mean], r[variance]);
}

GSUB_INLINE value_id scaled_outputs(rewrite& r, value_id weight, value_id factor) {
    return r.add<ops::mul>(weight, r.per_output(factor, r.sizes(weight).size()));
}

GSUB_INLINE value_id channel_vector(rewrite& r, value_id value) {
    return r.reshaped(value, {product(r.sizes(value))});
}

GSUB_INLINE attributes_of<ops::conv> with_activation(attributes_of<ops::conv> attributes, activation act, double min,
                                                     double max) {
    attributes.act = act;
    attributes.act_min = min;
    attributes.act_max = max;
    return attributes;
}

GSUB_INLINE void fuse_conv_bn(rewrite& r) {
    auto const norm = normalisation(r);
    auto const scaled_bias =
        r[b].valid() ? r.add<ops::add>(r.add<ops::mul>(r[b], norm.factor), norm.offset) : norm.offset;
    r.replace_root(0, r.like(r.matched().node(c), {r[x], scaled_outputs(r, r[w], norm.factor), scaled_bias}));
}

GSUB_INLINE void fuse_bn_conv(rewrite& r) {
    auto const norm = normalisation(r);
    auto const group = r.attributes<ops::conv>(c).group;
    auto const dims = r.sizes(r[w]);
    auto const outputs = dims[0], inputs = dims[1], taps = product(std::span<std::int64_t const>(dims).subspan(2));
    if (group < 1 || outputs % group != 0) return r.fail("the groups do not divide the outputs");
    // Channel i of group q is channel q * inputs + i of x: the weight as [group, outputs/group, inputs, taps].
    auto const split_weight = r.reshaped(r[w], {group, outputs / group, inputs, taps});
    auto const by_channel = [&](value_id vector) { return r.reshaped(vector, {group, 1, inputs, 1}); };
    auto const weight = r.reshaped(r.add<ops::mul>(split_weight, by_channel(norm.factor)), dims);
    auto const shifted = r.reshaped(r.add<ops::mul>(split_weight, by_channel(norm.offset)), {outputs, inputs * taps});
    auto const from_shift = r.matrix_times_vector(shifted, r.filled(r.type(r[w]).element, {inputs * taps}, 1));
    auto const bias = r[b].valid() ? r.add<ops::add>(r[b], from_shift) : from_shift;
    r.replace_root(0, r.like(r.matched().node(c), {r[x], weight, bias}));
}

GSUB_INLINE void fuse_matmul_bn(rewrite& r) {
    auto const norm = normalisation(r);
    auto const scaled = r.add<ops::mat_mul>(r[x], r.add<ops::mul>(r[w], norm.factor));
    r.replace_root(0, r.add<ops::add>(scaled, norm.offset));
}

GSUB_INLINE void fuse_gemm_bn(rewrite& r) {
    auto const norm = normalisation(r);
    auto attributes = r.attributes<ops::gemm>(c);
    auto const element = r.type(r[w]).element;
    auto addend = norm.offset;
    if (r[b].valid()) {
        auto const weighted = r.add<ops::mul>(r[b], r.filled(element, {}, attributes.beta));
        addend = r.add<ops::add>(r.add<ops::mul>(weighted, norm.factor), norm.offset);
    }
    attributes.beta = 1;
    auto const weight =
        attributes.transpose_b ? scaled_outputs(r, r[w], norm.factor) : r.add<ops::mul>(r[w], norm.factor);
    r.replace_root(0, r.add<ops::gemm>(attributes, {r[x], weight, addend}));
}

GSUB_INLINE void fuse_conv_scale(rewrite& r) {
    auto const factor = channel_vector(r, r[k]);
    auto const bias = r[b].valid() ? r.add<ops::mul>(r[b], factor) : value_id{};
    r.replace_root(0, r.like(r.matched().node(c), {r[x], scaled_outputs(r, r[w], factor), bias}));
}

GSUB_INLINE void fuse_conv_shift(rewrite& r) {
    auto const outputs = r.sizes(r[w])[0];
    auto addend = channel_vector(r, r[k]);
    if (r[b].valid())
        addend = r.add<ops::add>(r[b], addend);
    else if (r.sizes(addend)[0] != outputs)
        addend = r.add<ops::add>(r.filled(r.type(r[w]).element, {outputs}, 0), addend);
    r.replace_root(0, r.like(r.matched().node(c), {r[x], r[w], addend}));
}

GSUB_INLINE void fuse_conv_clip(rewrite& r) {
    auto const& bounds = r.attributes<ops::clip>(n);
    r.replace_root(
        0, r.add<ops::conv>(with_activation(r.attributes<ops::conv>(c), activation::clip, bounds.min, bounds.max),
                            {r[x], r[w], r[b]}));
}

GSUB_INLINE void unfuse_conv_activation(rewrite& r) {
    auto const& fused = r.attributes<ops::conv>(c);
    auto const sum = r.add<ops::conv>(with_activation(fused, activation::none), {r[x], r[w], r[b]});
    switch (fused.act) {
    case activation::none:
        return r.replace_root(0, sum);
    case activation::relu:
        return r.replace_root(0, r.add<ops::relu>(sum));
    case activation::clip:
        return r.replace_root(0, r.add<ops::clip>({.min = fused.act_min, .max = fused.act_max}, {sum}));
    case activation::sigmoid:
        return r.replace_root(0, r.add<ops::sigmoid>(sum));
    case activation::tanh:
        return r.replace_root(0, r.add<ops::tanh>(sum));
    }
}

// Taps to add in front of each dimension of c's kernel so that its pads become d's.
GSUB_INLINE ints taps_in_front(match const& m) {
    auto const &from = m.attributes<ops::conv>(c), &to = m.attributes<ops::conv>(d);
    ints taps;
    for (std::size_t i = 0; i < from.strides.size(); ++i)
        taps.push_back((to.pads[i] - from.pads[i]) / from.dilations[i]);
    return taps;
}

GSUB_INLINE bool window_extends(match const& m) {
    auto const &from = m.attributes<ops::conv>(c), &to = m.attributes<ops::conv>(d);
    auto const &small = m.type(w), &large = m.type(v);
    auto const spatial = from.strides.size();
    if (to.strides.size() != spatial || !small.is_static() || !large.is_static() || small.rank() != large.rank())
        return false;
    auto const front = taps_in_front(m);
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const added = large.dims[i + 2].size() - small.dims[i + 2].size();
        if (front[i] < 0 || front[i] > added) return false;
        if (to.pads[i] != from.pads[i] + from.dilations[i] * front[i]) return false;
        if (to.pads[i + spatial] != from.pads[i + spatial] + from.dilations[i] * (added - front[i])) return false;
    }
    return true;
}

// w with taps of zero added, `front` and `back` of them in each dimension.
GSUB_INLINE value_id with_taps(rewrite& r, value_id weight, ints const& front, ints const& back) {
    auto const rank = r.sizes(weight).size();
    if (front.size() + 2 != rank || back.size() + 2 != rank) return r.fail("kernels of different rank"), value_id{};
    ints pads(2 * rank, 0);
    for (std::size_t i = 2; i < rank; ++i) pads[i] = front[i - 2], pads[i + rank] = back[i - 2];
    return r.add<ops::pad>({.pads = pads}, {weight});
}

// w with zeros around, of the size of v.
GSUB_INLINE value_id enlarged_weight(rewrite& r) {
    auto const small = r.sizes(r[w]), large = r.sizes(r[v]), front = taps_in_front(r.matched());
    if (small.size() != large.size() || front.size() + 2 != small.size())
        return r.fail("kernels of different rank"), value_id{};
    ints back;
    for (std::size_t i = 2; i < small.size(); ++i) back.push_back(large[i] - small[i] - front[i - 2]);
    return with_taps(r, r[w], front, back);
}

GSUB_INLINE void enlarge_conv(rewrite& r) {
    auto attributes = r.attributes<ops::conv>(c);
    attributes.pads = r.attributes<ops::conv>(d).pads;
    r.replace_root(0, r.add<ops::conv>(attributes, {r[x], enlarged_weight(r), r[b]}));
}

// Of each side the larger pads: those of the window around both.
GSUB_INLINE ints hull_pads(match const& m) {
    auto pads = m.attributes<ops::conv>(c).pads;
    auto const& others = m.attributes<ops::conv>(d).pads;
    for (std::size_t side = 0; side < pads.size() && side < others.size(); ++side)
        pads[side] = std::max(pads[side], others[side]);
    return pads;
}

GSUB_INLINE bool windows_meet(match const& m) {
    auto const &p = m.attributes<ops::conv>(c), &q = m.attributes<ops::conv>(d);
    auto const &first = m.type(w), &second = m.type(v);
    auto const spatial = p.strides.size();
    if (q.strides.size() != spatial || !first.is_static() || !second.is_static() || first.rank() != second.rank())
        return false;
    auto const hull = hull_pads(m);
    // Kernel size with the taps that lead to the hull, or 0 where those are no whole ones.
    auto const reached = [&](attributes_of<ops::conv> const& from, tensor_type const& kernel, std::size_t i) {
        auto const front = hull[i] - from.pads[i], back = hull[i + spatial] - from.pads[i + spatial];
        if (front % from.dilations[i] != 0 || back % from.dilations[i] != 0) return std::int64_t{0};
        return kernel.dims[i + 2].size() + (front + back) / from.dilations[i];
    };
    for (std::size_t i = 0; i < spatial; ++i)
        if (auto const size = reached(p, first, i); size == 0 || size != reached(q, second, i)) return false;
    return true;
}
GSUB_INLINE bool each_reaches_further(match const& m) {
    auto const hull = hull_pads(m);
    return hull != m.attributes<ops::conv>(c).pads && hull != m.attributes<ops::conv>(d).pads;
}

// A weight of one of the two with zeros around, as large as the hull.
GSUB_INLINE value_id weight_in_hull(rewrite& r, attributes_of<ops::conv> const& from, value_id weight) {
    auto const hull = hull_pads(r.matched());
    auto const spatial = from.dilations.size();
    ints front, back;
    for (std::size_t i = 0; i < spatial; ++i) {
        front.push_back((hull[i] - from.pads[i]) / from.dilations[i]);
        back.push_back((hull[i + spatial] - from.pads[i + spatial]) / from.dilations[i]);
    }
    return with_taps(r, weight, front, back);
}

GSUB_INLINE void enlarge_to_hull(rewrite& r) {
    auto attributes = r.attributes<ops::conv>(c);
    auto const weight = weight_in_hull(r, attributes, r[w]);
    attributes.pads = hull_pads(r.matched());
    r.replace_root(0, r.add<ops::conv>(attributes, {r[x], weight, r[b]}));
}

// One convolution for two of one window, and the two parts of its result as the roots.
GSUB_INLINE void merged(rewrite& r, attributes_of<ops::conv> const& attributes, value_id first, value_id first_bias,
                        value_id second, value_id second_bias) {
    if (r.failed()) return;
    auto const element = r.type(first).element;
    auto const outputs = r.sizes(first)[0], more = r.sizes(second)[0];
    value_id bias;
    if (first_bias.valid() || second_bias.valid())
        bias = r.add<ops::concat>(
            {.axis = 0}, {r.bias_or_zeros(first_bias, element, outputs), r.bias_or_zeros(second_bias, element, more)});
    auto const both = r.add<ops::conv>(attributes, {r[x], r.add<ops::concat>({.axis = 0}, {first, second}), bias});
    auto const parts = r.add<ops::split>({.axis = 1, .sizes = {outputs, more}}, {both}, 2);
    r.replace_root(0, parts);
    r.replace_root(1, rewrite::port(parts, 1));
}

GSUB_INLINE void merge_conv_siblings(rewrite& r) {
    merged(r, r.attributes<ops::conv>(c), r[w], r[a], r[v], r[b]);
}
GSUB_INLINE void enlarge_and_merge_convs(rewrite& r) {
    auto attributes = r.attributes<ops::conv>(c);
    attributes.pads = r.attributes<ops::conv>(d).pads;
    merged(r, attributes, enlarged_weight(r), r[b], r[v], r[a]);
}
GSUB_INLINE void merge_convs_in_hull(rewrite& r) {
    auto const &p = r.attributes<ops::conv>(c), &q = r.attributes<ops::conv>(d);
    auto attributes = p;
    attributes.pads = hull_pads(r.matched());
    merged(r, attributes, weight_in_hull(r, p, r[w]), r[b], weight_in_hull(r, q, r[v]), r[a]);
}

// The tap that lies on the output's own place: pads = dilation * tap.
GSUB_INLINE ints centre_tap(attributes_of<ops::conv> const& attributes) {
    ints taps;
    for (std::size_t i = 0; i < attributes.strides.size(); ++i)
        taps.push_back(attributes.pads[i] / attributes.dilations[i]);
    return taps;
}

GSUB_INLINE void add_identity(rewrite& r) {
    auto const& attributes = r.attributes<ops::conv>(c);
    auto const one = r.add<ops::dirac>({.shape = r.sizes(r[w]),
                                        .position = centre_tap(attributes),
                                        .group = attributes.group,
                                        .element = r.type(r[w]).element},
                                       {});
    r.replace_root(0, r.like(r.matched().node(c), {r[x], r.add<ops::add>(r[w], one), r[b]}));
}

GSUB_INLINE void add_fuse(rewrite& r) {
    auto const& attributes = r.attributes<ops::conv>(c);
    auto shape = r.sizes(r[w]);
    shape[1] = r.sizes(r[y]).size() > 1 ? r.sizes(r[y])[1] : 1;
    auto const copies =
        r.add<ops::dirac>({.shape = shape, .position = centre_tap(attributes), .element = r.type(r[w]).element}, {});
    auto const input = r.add<ops::concat>({.axis = 1}, {r[x], r[y]});
    r.replace_root(0, r.like(r.matched().node(c), {input, r.add<ops::concat>({.axis = 1}, {r[w], copies}), r[b]}));
}

GSUB_INLINE void compose_pointwise_outer(rewrite& r) {
    auto const inner = r.sizes(r[w]), outer = r.sizes(r[v]);
    auto const outputs = outer[0], middle = inner[0], depth = product(std::span<std::int64_t const>(inner).subspan(1));
    if (product(outer) != outputs * middle) return r.fail("the outer kernel is not pointwise");
    auto attributes = r.attributes<ops::conv>(c);
    auto const& last = r.attributes<ops::conv>(d);
    for (std::size_t i = 0; i < attributes.strides.size(); ++i) attributes.strides[i] *= last.strides[i];
    attributes = with_activation(attributes, last.act, last.act_min, last.act_max);
    auto const mixing = r.reshaped(r[v], {outputs, middle});
    auto dims = inner;
    dims[0] = outputs;
    auto const weight = r.reshaped(r.add<ops::mat_mul>(mixing, r.reshaped(r[w], {middle, depth})), dims);
    auto bias = r[b];
    if (r[a].valid()) {
        auto const passed = r.matrix_times_vector(mixing, r[a]);
        bias = bias.valid() ? r.add<ops::add>(passed, bias) : passed;
    }
    r.replace_root(0, r.add<ops::conv>(attributes, {r[x], weight, bias}));
}

GSUB_INLINE void compose_pointwise_inner(rewrite& r) {
    auto const inner = r.sizes(r[w]), outer = r.sizes(r[v]);
    auto const outputs = outer[0], middle = outer[1], inputs = inner[1],
               taps = product(std::span<std::int64_t const>(outer).subspan(2));
    if (product(inner) != middle * inputs) return r.fail("the inner kernel is not pointwise");
    // W'[o,i,t] = sum over m of V[o,m,t] * W[m,i]
    auto const by_tap = r.add<ops::transpose>({.perm = {0, 2, 1}}, {r.reshaped(r[v], {outputs, middle, taps})});
    auto const mixed = r.add<ops::mat_mul>(by_tap, r.reshaped(r[w], {middle, inputs}));
    auto dims = outer;
    dims[1] = inputs;
    auto const weight = r.reshaped(r.add<ops::transpose>({.perm = {0, 2, 1}}, {mixed}), dims);
    auto bias = r[b];
    if (r[a].valid()) {
        auto const each_tap = r.reshaped(r.add<ops::mat_mul>(by_tap, r.reshaped(r[a], {middle, 1})), {outputs, taps});
        auto const passed = r.matrix_times_vector(each_tap, r.filled(r.type(r[v]).element, {taps}, 1));
        bias = bias.valid() ? r.add<ops::add>(passed, bias) : passed;
    }
    r.replace_root(0, r.like(r.matched().node(d), {r[x], weight, bias}));
}

} // namespace gsub::rules::convolution::detail
