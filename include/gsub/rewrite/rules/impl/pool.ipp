#pragma once

#include <gsub/rewrite/engine/impl/rewrite.ipp>
#include <gsub/rewrite/rules/pool.hpp>

#include <algorithm>

namespace gsub::rules::pooling::detail {

// Axis of the concat, counted from the first dimension.
GSUB_INLINE std::optional<std::size_t> joined_axis(match const& m) {
    auto const& t = m.type(value_id{m.node(j), 0});
    return t.ranked ? normalized_axis(m.attributes<ops::concat>(j).axis, t.rank()) : std::nullopt;
}
GSUB_INLINE bool joins_batch_or_channels(match const& m) {
    auto const axis = joined_axis(m);
    return axis && *axis < 2;
}
GSUB_INLINE bool inputs_fit(match const& m) {
    auto const axis = joined_axis(m);
    auto const inputs = m.all(x);
    return axis && all_of(inputs, [&](value_id input) {
               auto const& t = m.type(input);
               return t.ranked && t.rank() > *axis && differ_only_at(m.type(inputs[0]), t, t.rank() - 1 - *axis);
           });
}

GSUB_INLINE bool counts_all_taps(match const& m) {
    auto const& pool = m.attributes<ops::average_pool>(n);
    return pool.count_include_pad || all_equal(pool.pads, 0);
}

GSUB_INLINE bool has_few_products(match const& m) {
    auto const &result = m.type_of_label(m.node(d)), &kernel = m.type(v);
    if (!result.is_static() || !kernel.is_static()) return false;
    auto count = static_cast<double>(kernel.dims[1].size()); // products of one element of the result
    for (auto const taps : m.attributes<ops::average_pool>(n).kernel_shape) count *= static_cast<double>(taps);
    for (auto const size : result.sizes()) count *= static_cast<double>(size);
    return count <= 0x1p24;
}

GSUB_INLINE bool fits_into_sibling(match const& m) {
    auto const& pool = m.attributes<ops::average_pool>(n);
    auto const& sibling = m.attributes<ops::conv>(d);
    auto const& kernel = m.type(v);
    auto const spatial = pool.kernel_shape.size();
    if (!kernel.is_static() || kernel.rank() != spatial + 2 || sibling.group != 1 || sibling.strides != pool.strides ||
        sibling.dilations != pool.dilations)
        return false;
    for (std::size_t i = 0; i < spatial; ++i) {
        auto const step = pool.dilations[i], front = sibling.pads[i] - pool.pads[i],
                   back = sibling.pads[i + spatial] - pool.pads[i + spatial];
        if (front < 0 || back < 0 || front % step != 0 || back % step != 0 ||
            kernel.dims[i + 2].size() - pool.kernel_shape[i] != (front + back) / step)
            return false;
    }
    return true;
}

GSUB_INLINE void pool_into_concat(rewrite& r) {
    auto const& m = r.matched();
    small_vector<value_id, 6> parts;
    for (auto const part : m.all(x)) parts.push_back(r.like(m.node(n), {part}));
    r.replace_root(0, r.like(m.node(j), parts));
}
GSUB_INLINE void pool_out_of_concat(rewrite& r) {
    auto const& m = r.matched();
    r.replace_root(0, r.like(m.node(n), {r.like(m.node(j), m.all(x))}));
}

GSUB_INLINE bool is_subsampling(match const& m) {
    auto const& pool = m.attributes<ops::average_pool>(n);
    return all_equal(pool.kernel_shape, 1) && all_equal(pool.pads, 0);
}

// Whether the last dimensions, as many as there are of `spatial` ones, have size 1.
GSUB_INLINE bool is_one_pixel(tensor_type const& t, std::size_t spatial) {
    for (std::size_t i = t.rank() - std::min(t.rank(), spatial); i < t.rank(); ++i)
        if (!(t.dims[i] == dim{1})) return false;
    return true;
}
GSUB_INLINE bool operands_have_pixels(match const& m) {
    auto const& result = m.type_of_label(m.node(u));
    auto const fits = [&](tensor_type const& t) {
        return t.ranked && (t.rank() == result.rank() || is_one_pixel(t, result.rank() - 2));
    };
    return result.ranked && result.rank() > 2 && fits(m.type(x)) && fits(m.type(y));
}

// One number for each tap, 1 / taps, as a kernel [1, 1, taps...]. A quotient, so that it is exact in a field.
GSUB_INLINE value_id mean_kernel(rewrite& r, std::int64_t outputs) {
    auto const& pool = r.attributes<ops::average_pool>(n);
    auto const element = r.type(r[x]).element;
    ints dims{outputs, 1};
    dims.append(pool.kernel_shape);
    auto const taps = static_cast<double>(product(pool.kernel_shape));
    return r.add<ops::div>(r.filled(element, dims, 1), r.filled(element, {}, taps));
}
// A convolution over the windows of the pooling.
GSUB_INLINE attributes_of<ops::conv> window_of_pool(rewrite const& r, std::int64_t group) {
    attributes_of<ops::conv> attributes;
    static_cast<window_attributes&>(attributes) = r.attributes<ops::average_pool>(n);
    attributes.group = group;
    return attributes;
}

GSUB_INLINE void average_pool_as_conv(rewrite& r) {
    auto const channels = r.sizes(r[x])[1];
    ints dims{channels, channels}, place;
    for (std::size_t i = 0; i < r.attributes<ops::average_pool>(n).kernel_shape.size(); ++i)
        dims.push_back(1), place.push_back(0);
    auto const diagonal = r.add<ops::dirac>({.shape = dims, .position = place, .element = r.type(r[x]).element}, {});
    r.replace_root(0, r.add<ops::conv>(window_of_pool(r, 1), {r[x], r.add<ops::mul>(diagonal, mean_kernel(r, 1))}));
}

GSUB_INLINE void average_pool_as_depthwise(rewrite& r) {
    auto const channels = r.sizes(r[x])[1];
    r.replace_root(0, r.add<ops::conv>(window_of_pool(r, channels), {r[x], mean_kernel(r, channels)}));
}

GSUB_INLINE void multiply_strides(window_attributes& by, window_attributes const& pool) {
    for (std::size_t i = 0; i < by.strides.size() && i < pool.strides.size(); ++i) by.strides[i] *= pool.strides[i];
}

GSUB_INLINE void compose_pool_pointwise(rewrite& r) {
    auto attributes = r.attributes<ops::conv>(d);
    auto const& pool = r.attributes<ops::average_pool>(n);
    if (attributes.strides.size() != pool.strides.size()) return r.fail("windows of different rank");
    multiply_strides(attributes, pool);
    attributes.pads = pool.pads;
    attributes.dilations = pool.dilations;
    r.replace_root(0, r.add<ops::conv>(attributes, {r[x], r.add<ops::mul>(r[v], mean_kernel(r, 1)), r[b]}));
}

GSUB_INLINE bool keeps_constants(attributes_of<ops::average_pool> const& pool) {
    if (pool.ceil_mode) return false; // the last window may have no tap on the image
    if (all_equal(pool.pads, 0)) return true;
    if (pool.count_include_pad || !all_equal(pool.dilations, 1)) return false;
    auto const spatial = pool.kernel_shape.size();
    for (std::size_t i = 0; i < 2 * spatial; ++i)
        if (pool.pads[i] >= pool.kernel_shape[i % spatial]) return false;
    return true;
}

GSUB_INLINE void pointwise_before_pool(rewrite& r) {
    auto const inside = keeps_constants(r.attributes<ops::average_pool>(n)) ? r[b] : value_id{};
    auto const sums = r.like(r.matched().node(d), {r[x], r[v], inside});
    auto const means = r.like(r.matched().node(n), {sums});
    if (!r[b].valid() || inside.valid()) return r.replace_root(0, means);
    // A bias counts on pads, too, where their zeros count: it is added behind.
    auto const rank = r.attributes<ops::average_pool>(n).kernel_shape.size() + 1;
    r.replace_root(0, r.add<ops::add>(means, r.per_output(r[b], rank)));
}
GSUB_INLINE void pool_before_pointwise(rewrite& r) {
    auto const means = r.like(r.matched().node(n), {r[x]});
    r.replace_root(0, r.like(r.matched().node(d), {means, r[v], r[b]}));
}
// The mean of one pixel that leaves out what these strides do.
GSUB_INLINE attributes_of<ops::average_pool> one_pixel_every(ints const& strides) {
    attributes_of<ops::average_pool> one;
    one.kernel_shape = one.dilations = ints(strides.size(), 1), one.strides = strides;
    one.pads = ints(2 * strides.size(), 0);
    return one;
}
// A pointwise convolution without its strides.
template <class Label>
value_id on_every_pixel(rewrite& r, Label conv, value_id image, value_id weight, value_id bias) {
    auto attributes = r.attributes<ops::conv>(conv);
    attributes.strides = attributes.dilations = ints(attributes.strides.size(), 1);
    return r.add<ops::conv>(attributes, {image, weight, bias});
}
GSUB_INLINE void subsample_before_pointwise(rewrite& r) {
    auto const pixels = r.add<ops::average_pool>(one_pixel_every(r.attributes<ops::conv>(d).strides), {r[x]});
    r.replace_root(0, on_every_pixel(r, d, pixels, r[v], r[b]));
}

GSUB_INLINE void subsample_before_binary(rewrite& r) {
    auto const& m = r.matched();
    auto const spatial = r.attributes<ops::average_pool>(n).kernel_shape.size();
    // What is one number for all pixels stays so.
    auto const sampled = [&](value_id v) { return is_one_pixel(r.type(v), spatial) ? v : r.like(m.node(n), {v}); };
    auto const first = sampled(r[x]), second = sampled(r[y]);
    r.replace_root(0, r.like(m.node(u), {first, second}));
}

// The window operator `before` with its strides times those of the pooling behind. Its pads stay: the places of its
// windows are every so many of those before, and floor(floor(a / t) / s) = floor(a / (s t)) of them fit.
template <class Op, class Label>
attributes_of<Op> sparser(rewrite const& r, Label before) {
    auto attributes = r.attributes<Op>(before);
    multiply_strides(attributes, r.attributes<ops::average_pool>(n));
    return attributes;
}
GSUB_INLINE void subsample_into_conv(rewrite& r) {
    r.replace_root(0, r.add<ops::conv>(sparser<ops::conv>(r, d), {r[x], r[v], r[b]}));
}
GSUB_INLINE void subsample_into_max_pool(rewrite& r) {
    r.replace_root(0, r.add<ops::max_pool>(sparser<ops::max_pool>(r, l), {r[x]}));
}
GSUB_INLINE void subsample_into_average_pool(rewrite& r) {
    r.replace_root(0, r.add<ops::average_pool>(sparser<ops::average_pool>(r, l), {r[x]}));
}

// Convolution, normalisation, sum and elementwise operator, as far as the pattern has them, on the pixels alone that
// the strides of `c` leave.
GSUB_INLINE void strides_through(rewrite& r) {
    auto const& m = r.matched();
    auto const has = [&](auto l) { return m.value(decltype(l)::name).valid(); };
    auto const pixels = one_pixel_every(r.attributes<ops::conv>(c).strides);
    auto sparse = r.attributes<ops::conv>(d);
    multiply_strides(sparse, pixels);
    auto image = r.add<ops::conv>(sparse, {r[x], r[v], r[b]});
    if (has(s)) image = r.like(m.node(s), {image, r[scale], r[shift], r[mean], r[variance]});
    if (has(t)) image = r.like(m.node(t), {image, r.add<ops::average_pool>(pixels, {r[y]})});
    if (has(u)) image = r.like(m.node(u), {image});
    r.replace_root(0, on_every_pixel(r, c, image, r[w], r[a]));
    if (has(e)) r.replace_root(1, on_every_pixel(r, e, image, r[z], r[k]));
}

} // namespace gsub::rules::pooling::detail
