#pragma once

#include <gsub/rewrite/engine/impl/rewrite.ipp>
#include <gsub/rewrite/rules/merge.hpp>

namespace gsub::rules::merging::detail {

GSUB_INLINE bool splits_batch(match const& m) {
    auto const& t = m.type(x);
    return t.ranked && normalized_axis(m.attributes<ops::split>(s).axis, t.rank()) == std::size_t{0};
}
GSUB_INLINE bool joins_channels(match const& m) {
    auto const& t = m.type(value_id{m.node(j), 0});
    return t.ranked && normalized_axis(m.attributes<ops::concat>(j).axis, t.rank()) == std::size_t{1};
}

// The roots become the parts of a value along an axis.
GSUB_INLINE void replace_by_parts(rewrite& r, value_id whole, std::int64_t axis, ints const& sizes) {
    auto const parts = r.add<ops::split>({.axis = axis, .sizes = sizes}, {whole}, sizes.size());
    for (std::uint32_t i = 0; i < sizes.size(); ++i) r.replace_root(i, rewrite::port(parts, i));
}

GSUB_INLINE void merge_conv_batch(rewrite& r) {
    ints const sizes{r.sizes(r[x])[0], r.sizes(r[y])[0]};
    auto const both = r.add<ops::concat>({.axis = 0}, {r[x], r[y]});
    replace_by_parts(r, r.like(r.matched().node(c), {both, r[w], r[b]}), 0, sizes);
}

GSUB_INLINE void conv_before_split(rewrite& r) {
    auto const& m = r.matched();
    auto const parts = r.like(m.node(s), {r.like(m.node(c), {r[x], r[w], r[b]})});
    for (std::uint32_t i = 0; i < m.roots().size(); ++i) r.replace_root(i, rewrite::port(parts, i));
}

// The sum of two biases, of which either may be left out.
GSUB_INLINE value_id bias_sum(rewrite& r) {
    if (!r[a].valid() || !r[b].valid()) return r[a].valid() ? r[a] : r[b];
    return r.add<ops::add>(r[a], r[b]);
}

GSUB_INLINE void merge_conv_sum(rewrite& r) {
    auto const input = r.add<ops::concat>({.axis = 1}, {r[x], r[y]}),
               weight = r.add<ops::concat>({.axis = 1}, {r[w], r[v]});
    r.replace_root(0, r.like(r.matched().node(c), {input, weight, bias_sum(r)}));
}

// The weight's part for some of the input channels.
GSUB_INLINE value_id weight_of_channels(rewrite& r, std::int64_t begin, std::int64_t end) {
    return r.add<ops::slice>({.starts = {begin}, .ends = {end}, .axes = {1}, .steps = {1}}, {r[w]});
}

GSUB_INLINE void split_conv_inputs(rewrite& r) {
    auto const& m = r.matched();
    value_id sum;
    std::int64_t begin = 0;
    for (auto const part : m.all(x)) {
        auto const sizes = r.sizes(part);
        if (sizes.size() < 2) return r.fail("an operand without channels");
        auto const weight = weight_of_channels(r, begin, begin + sizes[1]);
        auto const partial = r.like(m.node(c), {part, weight, begin == 0 ? r[b] : value_id{}});
        sum = sum.valid() ? r.add<ops::add>(sum, partial) : partial;
        begin += sizes[1];
    }
    r.replace_root(0, sum);
}

GSUB_INLINE void part_conv_inputs(rewrite& r) {
    auto const& m = r.matched();
    auto const shared = m.graph().operand(m.node(d), 0);
    value_id part_weight;
    small_vector<value_id, 6> rest, rest_weights;
    std::int64_t begin = 0;
    for (auto const part : m.all(x)) {
        auto const sizes = r.sizes(part);
        if (sizes.size() < 2) return r.fail("an operand without channels");
        auto const weight = weight_of_channels(r, begin, begin + sizes[1]);
        if (part == shared && !part_weight.valid())
            part_weight = weight;
        else
            rest.push_back(part), rest_weights.push_back(weight);
        begin += sizes[1];
    }
    auto const joined = [&](small_vector<value_id, 6> const& values) {
        return values.size() == 1 ? values[0] : r.add<ops::concat>({.axis = 1}, as_span(values));
    };
    if (rest.empty()) return r.replace_root(0, r.like(m.node(c), {shared, part_weight, r[b]}));
    auto const of_part = r.like(m.node(c), {shared, part_weight});
    r.replace_root(0, r.add<ops::add>(of_part, r.like(m.node(c), {joined(rest), joined(rest_weights), r[b]})));
}

GSUB_INLINE void add_conv_weights(rewrite& r) {
    r.replace_root(0, r.like(r.matched().node(c), {r[x], r.add<ops::add>(r[w], r[v]), bias_sum(r)}));
}

GSUB_INLINE void merge_grouped_siblings(rewrite& r) {
    auto const& attributes = r.attributes<ops::conv>(c);
    auto const element = r.type(r[w]).element;
    auto const first = r.sizes(r[w]), second = r.sizes(r[v]);
    auto const image = r.sizes(r.matched().roots()[0]);
    auto const g = attributes.group;
    if (g < 1 || first[0] % g != 0 || second[0] % g != 0 || image.size() < 3)
        return r.fail("the groups do not divide the outputs");
    // Outputs by group: [g, outputs of a group, rest].
    auto const by_group = [&](value_id value, std::int64_t outputs, std::int64_t rest) {
        return r.reshaped(value, {g, outputs / g, rest});
    };
    auto const interleaved = [&](value_id p, value_id q, std::int64_t rest) {
        return r.add<ops::concat>({.axis = 1}, {by_group(p, first[0], rest), by_group(q, second[0], rest)});
    };
    auto const rest = product(std::span<std::int64_t const>(first).subspan(1));
    auto dims = first;
    dims[0] = first[0] + second[0];
    auto const weight = r.reshaped(interleaved(r[w], r[v], rest), dims);
    value_id bias;
    if (r[a].valid() || r[b].valid())
        bias = r.reshaped(
            interleaved(r.bias_or_zeros(r[a], element, first[0]), r.bias_or_zeros(r[b], element, second[0]), 1),
            {dims[0]});
    auto const result = r.add<ops::conv>(attributes, {r[x], weight, bias});
    auto const places = product(std::span<std::int64_t const>(image).subspan(2));
    auto const apart = r.add<ops::split>({.axis = 2, .sizes = {first[0] / g, second[0] / g}},
                                         {r.reshaped(result, {image[0], g, dims[0] / g, places})}, 2);
    for (std::uint32_t i = 0; i < 2; ++i) {
        auto to = image;
        to[1] = i == 0 ? first[0] : second[0];
        r.replace_root(i, r.reshaped(rewrite::port(apart, i), to));
    }
}

GSUB_INLINE void widen_groups(rewrite& r) {
    auto attributes = r.attributes<ops::conv>(c);
    auto const dims = r.sizes(r[w]);
    auto const pairs = attributes.group / 2;
    if (pairs < 1 || dims[0] % attributes.group != 0) return r.fail("the groups are no pairs");
    auto const outputs = dims[0] / attributes.group, rest = product(std::span<std::int64_t const>(dims).subspan(1));
    // [pair, half, output, half of the inputs, rest], zero where the halves differ.
    auto const blocks = r.reshaped(r[w], {pairs, 2, outputs, 1, rest});
    auto const diagonal =
        r.reshaped(r.add<ops::dirac>({.shape = {2, 2}, .element = r.type(r[w]).element}, {}), {2, 1, 2, 1});
    auto wide = dims;
    wide[1] *= 2;
    attributes.group = pairs;
    r.replace_root(0, r.add<ops::conv>(attributes, {r[x], r.reshaped(r.add<ops::mul>(blocks, diagonal), wide), r[b]}));
}

} // namespace gsub::rules::merging::detail
