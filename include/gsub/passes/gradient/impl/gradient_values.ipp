#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <limits>
#include <utility>

namespace gsub::passes::gradients {

GSUB_LAZY_BODY value_id repeated_as(graph_builder& b, value_id x, value_id like) {
    auto const& t = b.graph().type(like);
    return t.is_static() ? b.add<ops::expand>({.shape = t.sizes()}, {x})
                         : b.add<ops::expand>({}, {x, b.add<ops::shape>(like)});
}

GSUB_LAZY_BODY value_id filled_as(graph_builder& b, double number, value_id like) {
    auto const& t = b.graph().type(like);
    return t.is_static() ? b.add<ops::fill>({.shape = t.sizes(), .element = t.element, .value = number}, {})
                         : b.add<ops::fill>({.element = t.element, .value = number}, {b.add<ops::shape>(like)});
}

GSUB_LAZY_BODY value_id shaped_as(graph_builder& b, value_id x, value_id like) {
    auto const& t = b.graph().type(like);
    if (b.graph().type(x) == t && t.is_static()) return x;
    return t.is_static() ? b.add<ops::reshape>(attributes_of<ops::reshape>::to(t.sizes()), {x})
                         : b.add<ops::reshape>({.allow_zero = true}, {x, b.add<ops::shape>(like)});
}

GSUB_LAZY_BODY value_id shaped(graph_builder& b, value_id x, ints sizes) {
    return b.graph().type(x).sizes() == sizes
               ? x
               : b.add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(sizes)), {x});
}

GSUB_LAZY_BODY value_id fitted(gradient_site const& at, value_id x, value_id to) {
    auto& b = at.builder();
    auto const from = at.type(x), wanted = at.type(to);
    if (!from.ranked || !wanted.ranked) at.refuse("unknown rank");
    if (from.element != wanted.element) at.refuse("mixed element types");
    auto const one = [](dim d) { return d.fixed() && d.size() == 1; };
    auto const lead = from.rank() > wanted.rank() ? from.rank() - wanted.rank() : 0;
    auto const missing = wanted.rank() > from.rank() ? wanted.rank() - from.rank() : 0;
    ints summed, leading;
    bool repeat = missing > 0;
    for (std::size_t i = 0; i < from.rank(); ++i) {
        auto const axis = static_cast<std::int64_t>(i);
        if (i < lead) {
            leading.push_back(axis);
            if (!one(from.dims[i])) summed.push_back(axis);
            continue;
        }
        auto const have = from.dims[i], want = wanted.dims[i - lead + missing];
        if (provably_equal(have, want)) continue;
        if (one(want))
            summed.push_back(axis);
        else if (one(have))
            repeat = true;
        else
            at.refuse("its dimensions are not known to be equal");
    }
    if (!summed.empty()) x = b.add<ops::reduce_sum>({.axes = summed}, {x});
    if (!leading.empty()) x = b.add<ops::squeeze>({.axes = leading}, {x});
    return repeat ? repeated_as(b, x, to) : x;
}

GSUB_LAZY_BODY value_id product_of(gradient_site& at, value_id a, value_id b) {
    return at.builder().add<ops::mul>(a, b);
}
GSUB_LAZY_BODY value_id scaled(gradient_site& at, value_id a, double factor) {
    return factor == 1 ? a : at.builder().add<ops::mul>(a, at.number(factor, a));
}
GSUB_LAZY_BODY value_id chosen(gradient_site& at, value_id condition, value_id a) {
    return at.builder().add<ops::where>(condition, a, at.number(0, a));
}

GSUB_LAZY_BODY value_id permuted(graph_builder& b, value_id x, ints perm) {
    bool moves = false;
    for (std::size_t i = 0; i < perm.size(); ++i) moves = moves || perm[i] != static_cast<std::int64_t>(i);
    return moves ? b.add<ops::transpose>({.perm = std::move(perm)}, {x}) : x;
}
GSUB_LAZY_BODY std::int64_t axis_in(gradient_site& at, std::int64_t axis, value_id of) {
    if (!at.type(of).ranked) at.refuse("unknown rank");
    return axis < 0 ? axis + static_cast<std::int64_t>(at.type(of).rank()) : axis;
}
GSUB_LAZY_BODY value_id bordered(graph_builder& b, value_id x, ints begin, ints const& end, double value) {
    append(begin, end);
    return all_equal(begin, 0) ? x : b.add<ops::pad>({.pads = std::move(begin), .value = value}, {x});
}
GSUB_LAZY_BODY value_id dilated(gradient_site& at, value_id x, ints const& steps) {
    if (all_equal(steps, 1)) return x;
    auto& b = at.builder();
    ints apart, none, behind, together;
    auto const sizes = at.sizes(x);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        apart.push_back(sizes[i]), none.push_back(0), behind.push_back(0);
        if (steps[i] > 1) apart.push_back(1), none.push_back(0), behind.push_back(steps[i] - 1);
        together.push_back(sizes[i] * steps[i]);
    }
    return shaped(b, bordered(b, shaped(b, x, apart), none, behind), together);
}
GSUB_LAZY_BODY value_id flipped(graph_builder& b, value_id x, ints axes) {
    if (axes.empty()) return x;
    ints const from(axes.size(), -1), to(axes.size(), std::numeric_limits<std::int64_t>::min());
    return b.add<ops::slice>({.starts = from, .ends = to, .axes = std::move(axes), .steps = from}, {x});
}
GSUB_LAZY_BODY value_id scattered(gradient_site& at, value_id x, ints starts, ints steps, ints const& sizes) {
    auto& b = at.builder();
    auto const counts = at.sizes(x);
    if (product(counts) == 0) return b.add<ops::fill>({.shape = sizes, .element = at.type(x).element}, {});
    ints backwards, ends;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (steps[i] < 0) {
            backwards.push_back(static_cast<std::int64_t>(i));
            starts[i] += (counts[i] - 1) * steps[i], steps[i] = -steps[i];
        }
        if (counts[i] == 1) steps[i] = 1;
        ends.push_back(sizes[i] - starts[i] - counts[i] * steps[i]);
    }
    return bordered(b, dilated(at, flipped(b, x, backwards), steps), starts, ends);
}

} // namespace gsub::passes::gradients
