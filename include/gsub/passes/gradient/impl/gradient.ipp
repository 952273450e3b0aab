#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>

#include <algorithm>
#include <limits>
#include <numbers>

namespace gsub {

GSUB_LAZY_BODY void gradient_site::refuse(std::string_view reason) const {
    throw error{problem{error_code::unsupported,
                        graph().display_name(node_),
                        std::string{graph().op(node_).name},
                        fmt::format("no gradient: {}", reason),
                        {}}};
}

GSUB_LAZY_BODY value_id gradient_site::number(double value, value_id like) const {
    return builder_->add<ops::fill>({.element = type(like).element, .value = value}, {});
}

GSUB_LAZY_BODY ints gradient_site::sizes(value_id v) const {
    if (!type(v).is_static()) refuse("its dimensions are not fixed");
    return type(v).sizes();
}

GSUB_LAZY_BODY ints gradient_site::integers(std::size_t i) const {
    auto const v = operand(i);
    if (!graph().is<ops::constant>(v.node)) refuse(fmt::format("its operand {} is no constant", i));
    return graph().constant_data(v.node).to_ints();
}

namespace passes::gradients {

// x repeated to the dimensions of another value.
GSUB_LAZY value_id repeated_as(graph_builder& b, value_id x, value_id like) {
    auto const& t = b.graph().type(like);
    return t.is_static() ? b.add<ops::expand>({.shape = t.sizes()}, {x})
                         : b.add<ops::expand>({}, {x, b.add<ops::shape>(like)});
}

GSUB_LAZY_BODY value_id filled_as(graph_builder& b, double number, value_id like) {
    auto const& t = b.graph().type(like);
    return t.is_static() ? b.add<ops::fill>({.shape = t.sizes(), .element = t.element, .value = number}, {})
                         : b.add<ops::fill>({.element = t.element, .value = number}, {b.add<ops::shape>(like)});
}

// The elements of x under the dimensions of another value.
GSUB_LAZY value_id shaped_as(graph_builder& b, value_id x, value_id like) {
    auto const& t = b.graph().type(like);
    if (b.graph().type(x) == t && t.is_static()) return x;
    return t.is_static() ? b.add<ops::reshape>(attributes_of<ops::reshape>::to(t.sizes()), {x})
                         : b.add<ops::reshape>({.allow_zero = true}, {x, b.add<ops::shape>(like)});
}

GSUB_LAZY value_id shaped(graph_builder& b, value_id x, ints sizes) {
    return b.graph().type(x).sizes() == sizes
               ? x
               : b.add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(sizes)), {x});
}

// The sum of x over the dimensions in which a value of type `to` was broadcast to it; those of `to` that x lacks or has
// one element in are made by repetition.
GSUB_LAZY value_id fitted(gradient_site const& at, value_id x, value_id to) {
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

} // namespace passes::gradients

GSUB_LAZY_BODY void gradient_site::give(std::size_t i, value_id gradient) {
    if (!wanted(i)) return;
    gradient = passes::gradients::fitted(*this, gradient, operand(i));
    given_[i] = given_[i].valid() ? builder_->add<ops::add>(given_[i], gradient) : gradient;
}

namespace passes::gradients {

// ---- elementwise

GSUB_LAZY value_id product_of(gradient_site& at, value_id a, value_id b) {
    return at.builder().add<ops::mul>(a, b);
}
GSUB_LAZY value_id scaled(gradient_site& at, value_id a, double factor) {
    return factor == 1 ? a : at.builder().add<ops::mul>(a, at.number(factor, a));
}
GSUB_LAZY value_id chosen(gradient_site& at, value_id condition, value_id a) {
    return at.builder().add<ops::where>(condition, a, at.number(0, a));
}

GSUB_LAZY void gradient_of_identity(gradient_site& at) {
    at.give(0, at.seed());
}
GSUB_LAZY void gradient_of_sum(gradient_site& at) {
    for (std::size_t i = 0; i < at.operands(); ++i) at.give(i, at.seed());
}
GSUB_LAZY void gradient_of_sub(gradient_site& at) {
    at.give(0, at.seed());
    if (at.wanted(1)) at.give(1, at.builder().add<ops::neg>(at.seed()));
}
GSUB_LAZY void gradient_of_neg(gradient_site& at) {
    at.give(0, at.builder().add<ops::neg>(at.seed()));
}
GSUB_LAZY void gradient_of_mul(gradient_site& at) {
    if (at.wanted(0)) at.give(0, product_of(at, at.seed(), at.operand(1)));
    if (at.wanted(1)) at.give(1, product_of(at, at.seed(), at.operand(0)));
}
GSUB_LAZY void gradient_of_div(gradient_site& at) {
    auto const share = at.builder().add<ops::div>(at.seed(), at.operand(1));
    at.give(0, share);
    if (at.wanted(1)) at.give(1, at.builder().add<ops::neg>(product_of(at, share, at.result())));
}
GSUB_LAZY void gradient_of_pow(gradient_site& at) {
    auto& b = at.builder();
    auto const x = at.operand(0), n = at.operand(1);
    auto const& g = at.graph();
    if (at.type(x).element != at.type(n).element) at.refuse("mixed element types");
    if (at.wanted(1)) // where x = 0 the power is 0 for all n > 0, with derivative 0
        at.give(1, product_of(at, at.seed(),
                              chosen(at, b.add<ops::greater>(x, at.number(0, x)),
                                     product_of(at, at.result(), b.add<ops::log>(x)))));
    if (!at.wanted(0)) return;
    if (g.is<ops::constant>(n.node) && g.constant_data(n.node).elements() == 1) {
        auto const exponent = g.constant_data(n.node).converted_to(dtype::f64).data<double>()[0];
        if (exponent == 0) return;
        if (exponent == 1) return at.give(0, at.seed());
        if (exponent == 2) return at.give(0, product_of(at, at.seed(), scaled(at, x, 2)));
    }
    auto const lower = b.add<ops::pow>(x, b.add<ops::sub>(n, at.number(1, n)));
    auto const slope = product_of(at, n, lower); // n = 0: 0, also where 1 / x is not finite
    auto const zero = b.add<ops::equal>(n, at.number(0, n));
    at.give(0, product_of(at, at.seed(), b.add<ops::where>(zero, at.number(0, x), slope)));
}
GSUB_LAZY void gradient_of_exp(gradient_site& at) {
    at.give(0, product_of(at, at.seed(), at.result()));
}
GSUB_LAZY void gradient_of_log(gradient_site& at) {
    at.give(0, at.builder().add<ops::div>(at.seed(), at.operand(0)));
}
GSUB_LAZY void gradient_of_sqrt(gradient_site& at) {
    at.give(0, at.builder().add<ops::div>(scaled(at, at.seed(), 0.5), at.result()));
}
GSUB_LAZY void gradient_of_erf(gradient_site& at) { // 2 / sqrt(pi) * exp(-x^2)
    auto& b = at.builder();
    auto const x = at.operand(0);
    auto const bell = b.add<ops::exp>(b.add<ops::neg>(product_of(at, x, x)));
    at.give(0, product_of(at, at.seed(), scaled(at, bell, 2 * std::numbers::inv_sqrtpi)));
}
GSUB_LAZY void gradient_of_tanh(gradient_site& at) { // 1 - y^2
    auto const y = at.result();
    at.give(0, product_of(at, at.seed(), at.builder().add<ops::sub>(at.number(1, y), product_of(at, y, y))));
}
GSUB_LAZY void gradient_of_sigmoid(gradient_site& at) { // y * (1 - y)
    auto const y = at.result();
    auto const slope = product_of(at, y, at.builder().add<ops::sub>(at.number(1, y), y));
    at.give(0, product_of(at, at.seed(), slope));
}
GSUB_LAZY void gradient_of_relu(gradient_site& at) {
    auto const x = at.operand(0);
    at.give(0, chosen(at, at.builder().add<ops::greater>(x, at.number(0, x)), at.seed()));
}
GSUB_LAZY void gradient_of_abs(gradient_site& at) {
    auto& b = at.builder();
    auto const x = at.operand(0), zero = at.number(0, x);
    auto const below = chosen(at, b.add<ops::less>(x, zero), b.add<ops::neg>(at.seed()));
    at.give(0, b.add<ops::where>(b.add<ops::greater>(x, zero), at.seed(), below));
}
GSUB_LAZY void gradient_of_clip(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::clip>();
    auto const x = at.operand(0);
    if (at.wanted(1) || at.wanted(2)) at.refuse("a bound depends on what it is asked for");
    value_id inside;
    auto const bound = [&](std::size_t i, double attribute, bool lower) {
        value_id limit = at.operand(i);
        if (limit.valid()) {
            if (at.sizes(limit) == ints{0}) limit = {};
            if (limit.valid()) limit = shaped(b, limit, {});
        }
        if (!limit.valid() && std::abs(attribute) < std::numeric_limits<double>::infinity())
            limit = at.number(attribute, x);
        if (!limit.valid()) return;
        auto const holds = lower ? b.add<ops::greater_or_equal>(x, limit) : b.add<ops::less_or_equal>(x, limit);
        inside = inside.valid() ? b.add<ops::logical_and>(inside, holds) : holds;
    };
    bound(1, a.min, true);
    bound(2, a.max, false);
    at.give(0, inside.valid() ? chosen(at, inside, at.seed()) : at.seed());
}
GSUB_LAZY void gradient_of_cast(gradient_site& at) {
    at.give(0, at.builder().add<ops::cast>({.to = at.type(at.operand(0)).element}, {at.seed()}));
}
GSUB_LAZY void gradient_of_where(gradient_site& at) {
    auto const condition = at.operand(0);
    if (at.wanted(1)) at.give(1, chosen(at, condition, at.seed()));
    if (at.wanted(2)) at.give(2, at.builder().add<ops::where>(condition, at.number(0, at.seed()), at.seed()));
}

// ---- what moves elements

GSUB_LAZY void gradient_of_view(gradient_site& at) {
    at.give(0, shaped_as(at.builder(), at.seed(), at.operand(0)));
}
GSUB_LAZY value_id permuted(graph_builder& b, value_id x, ints perm) {
    bool moves = false;
    for (std::size_t i = 0; i < perm.size(); ++i) moves = moves || perm[i] != static_cast<std::int64_t>(i);
    return moves ? b.add<ops::transpose>({.perm = std::move(perm)}, {x}) : x;
}
GSUB_LAZY void gradient_of_transpose(gradient_site& at) {
    auto const& perm = at.attributes<ops::transpose>().perm;
    ints inverse(perm.size(), 0);
    for (std::size_t i = 0; i < perm.size(); ++i)
        inverse[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
    at.give(0, permuted(at.builder(), at.seed(), inverse));
}
GSUB_LAZY value_id part(graph_builder& b, value_id x, std::int64_t axis, std::int64_t first, std::int64_t count) {
    return b.add<ops::slice>({.starts = {first}, .ends = {first + count}, .axes = {axis}, .steps = {1}}, {x});
}
// An axis of a value as a number from 0 on.
GSUB_LAZY std::int64_t axis_in(gradient_site& at, std::int64_t axis, value_id of) {
    if (!at.type(of).ranked) at.refuse("unknown rank");
    return axis < 0 ? axis + static_cast<std::int64_t>(at.type(of).rank()) : axis;
}
GSUB_LAZY void gradient_of_concat(gradient_site& at) {
    auto const axis = axis_in(at, at.attributes<ops::concat>().axis, at.result());
    std::int64_t first = 0;
    for (std::size_t i = 0; i < at.operands(); ++i) {
        auto const d = at.type(at.operand(i)).dims[static_cast<std::size_t>(axis)];
        if (!d.fixed()) at.refuse("its dimensions are not fixed");
        if (at.wanted(i)) at.give(i, part(at.builder(), at.seed(), axis, first, d.size()));
        first += d.size();
    }
}
GSUB_LAZY void gradient_of_split(gradient_site& at) {
    auto& b = at.builder();
    auto const axis = axis_in(at, at.attributes<ops::split>().axis, at.operand(0));
    std::vector<value_id> parts;
    for (std::uint32_t port = 0; port < at.graph().result_count(at.node()); ++port)
        parts.push_back(at.seed(port).valid() ? at.seed(port) : filled_as(b, 0, at.result(port)));
    at.give(0, parts.size() == 1 ? parts[0] : b.add<ops::concat>({.axis = axis}, parts));
}

// Widths of borders, negative ones to crop, in the form of `Pad`.
GSUB_LAZY value_id bordered(graph_builder& b, value_id x, ints begin, ints const& end, double value = 0) {
    append(begin, end);
    return all_equal(begin, 0) ? x : b.add<ops::pad>({.pads = std::move(begin), .value = value}, {x});
}
// x with steps[i] - 1 zeros behind each element along dimension i.
GSUB_LAZY value_id dilated(gradient_site& at, value_id x, ints const& steps) {
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
GSUB_LAZY value_id flipped(graph_builder& b, value_id x, ints axes) {
    if (axes.empty()) return x;
    ints const from(axes.size(), -1), to(axes.size(), std::numeric_limits<std::int64_t>::min());
    return b.add<ops::slice>({.starts = from, .ends = to, .axes = std::move(axes), .steps = from}, {x});
}
// Zeros of these sizes, but element i of x at starts + i * steps.
GSUB_LAZY value_id scattered(gradient_site& at, value_id x, ints starts, ints steps, ints const& sizes) {
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
GSUB_LAZY void gradient_of_slice(gradient_site& at) {
    auto const sizes = at.sizes(at.operand(0));
    auto a = at.attributes<ops::slice>();
    if (at.operands() > 1) {
        a.starts = at.integers(1), a.ends = at.integers(2);
        a.axes.clear();
        for (std::size_t i = 0; i < a.starts.size(); ++i) a.axes.push_back(static_cast<std::int64_t>(i));
        if (at.operand(3).valid()) a.axes = at.integers(3);
        a.steps = at.operand(4).valid() ? at.integers(4) : ints(a.starts.size(), 1);
    }
    ints starts(sizes.size(), 0), steps(sizes.size(), 1);
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
        auto const axis = static_cast<std::size_t>(axis_in(at, a.axes[i], at.operand(0)));
        auto const range = clamped_slice(a.starts[i], a.ends[i], a.steps[i], sizes[axis]);
        starts[axis] = range.start, steps[axis] = range.step;
    }
    at.give(0, scattered(at, at.seed(), starts, steps, sizes));
}
GSUB_LAZY void gradient_of_pad(gradient_site& at) {
    auto const& a = at.attributes<ops::pad>();
    if (a.mode != "constant") at.refuse(fmt::format("mode {}", quoted{a.mode}));
    if (at.wanted(2)) at.refuse("the value of its border depends on what it is asked for");
    auto const rank = at.type(at.operand(0)).rank();
    auto const given = at.operand(1).valid() ? at.integers(1) : a.pads;
    ints axes;
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (at.operand(3).valid()) axes = at.integers(3);
    ints begin(rank, 0), end(rank, 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto const axis = static_cast<std::size_t>(axis_in(at, axes[i], at.operand(0)));
        begin[axis] = -given[i], end[axis] = -given[i + axes.size()];
    }
    at.give(0, bordered(at.builder(), at.seed(), begin, end));
}
// Rows chosen by a matrix of ones and zeros, transposed, are added up.
GSUB_LAZY void gradient_of_gather(gradient_site& at) {
    auto& b = at.builder();
    auto const x = at.operand(0), chosen_rows = at.operand(1);
    auto const sizes = at.sizes(x);
    auto const axis = static_cast<std::size_t>(axis_in(at, at.attributes<ops::gather>().axis, x));
    auto const count = product(at.sizes(chosen_rows)), rows = sizes[axis];
    std::int64_t before = 1, behind = 1;
    for (std::size_t i = 0; i < axis; ++i) before *= sizes[i];
    for (std::size_t i = axis + 1; i < sizes.size(); ++i) behind *= sizes[i];
    auto const whole = [&](std::int64_t v) { return b.add<ops::fill>({.element = dtype::i64, .integer = v}, {}); };
    auto index = shaped(b, b.add<ops::cast>({.to = dtype::i64}, {chosen_rows}), {1, count});
    index = b.add<ops::where>(b.add<ops::less>(index, whole(0)), b.add<ops::add>(index, whole(rows)), index);
    auto numbers = tensor::uninitialized(dtype::i64, ints{rows, 1});
    auto const to = numbers.mutable_data<std::int64_t>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::int64_t>(i);
    auto const hits = b.add<ops::equal>(b.constant(std::move(numbers)), index);
    auto const matrix = b.add<ops::cast>({.to = at.type(x).element}, {hits});
    auto const seed = shaped(b, at.seed(), before == 1 ? ints{count, behind} : ints{before, count, behind});
    at.give(0, shaped(b, b.add<ops::mat_mul>(matrix, seed), sizes));
}

// ---- reductions

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

// ---- products of matrices

GSUB_LAZY value_id transposed_matrices(graph_builder& b, value_id x) {
    auto const rank = static_cast<std::int64_t>(b.graph().type(x).rank());
    ints perm;
    for (std::int64_t i = 0; i + 2 < rank; ++i) perm.push_back(i);
    perm.push_back(rank - 1), perm.push_back(rank - 2);
    return permuted(b, x, perm);
}
GSUB_LAZY void gradient_of_mat_mul(gradient_site& at) {
    auto& b = at.builder();
    auto const one = at.operand(0), other = at.operand(1);
    if (!at.type(one).ranked || !at.type(other).ranked) at.refuse("unknown rank");
    auto const row = at.type(one).rank() == 1, column = at.type(other).rank() == 1;
    // A vector is a matrix of one row or column.
    auto const left = row ? b.add<ops::unsqueeze>({.axes = {0}}, {one}) : one;
    auto const right = column ? b.add<ops::unsqueeze>({.axes = {1}}, {other}) : other;
    auto seed = at.seed();
    if (column) seed = b.add<ops::unsqueeze>({.axes = {-1}}, {seed});
    if (row) seed = b.add<ops::unsqueeze>({.axes = {-2}}, {seed});
    if (at.wanted(0)) {
        auto const d = fitted(at, b.add<ops::mat_mul>(seed, transposed_matrices(b, right)), left);
        at.give(0, row ? b.add<ops::squeeze>({.axes = {0}}, {d}) : d);
    }
    if (!at.wanted(1)) return;
    auto l = left, s = seed;
    if (at.type(right).rank() == 2 && at.type(l).rank() > 2 && at.type(l).is_static()) { // one product, no sum behind
        auto const rows = [&](value_id v) {
            auto const sizes = at.type(v).sizes();
            return shaped(b, v, {product(sizes) / std::max<std::int64_t>(sizes.back(), 1), sizes.back()});
        };
        l = rows(l), s = rows(s);
    }
    auto const d = fitted(at, b.add<ops::mat_mul>(transposed_matrices(b, l), s), right);
    at.give(1, column ? b.add<ops::squeeze>({.axes = {1}}, {d}) : d);
}
GSUB_LAZY void gradient_of_gemm(gradient_site& at) {
    auto& b = at.builder();
    auto const& a = at.attributes<ops::gemm>();
    auto const s = at.seed(), one = at.operand(0), other = at.operand(1);
    auto const times = [&](value_id x, value_id y, bool turn_x, bool turn_y) {
        return b.add<ops::gemm>({.alpha = a.alpha, .transpose_a = turn_x, .transpose_b = turn_y}, {x, y});
    };
    if (at.wanted(0))
        at.give(0, a.transpose_a ? times(other, s, a.transpose_b, true) : times(s, other, false, !a.transpose_b));
    if (at.wanted(1))
        at.give(1, a.transpose_b ? times(s, one, true, a.transpose_a) : times(one, s, !a.transpose_a, false));
    if (at.wanted(2)) at.give(2, scaled(at, s, a.beta));
}

// ---- windows

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

} // namespace passes::gradients

GSUB_LAZY_BODY std::vector<gradient_rule> builtin_gradient_rules() {
    return {
        {id_of<ops::add>, &passes::gradients::gradient_of_sum},
        {id_of<ops::sum>, &passes::gradients::gradient_of_sum},
        {id_of<ops::sub>, &passes::gradients::gradient_of_sub},
        {id_of<ops::mul>, &passes::gradients::gradient_of_mul},
        {id_of<ops::div>, &passes::gradients::gradient_of_div},
        {id_of<ops::neg>, &passes::gradients::gradient_of_neg},
        {id_of<ops::pow>, &passes::gradients::gradient_of_pow},
        {id_of<ops::exp>, &passes::gradients::gradient_of_exp},
        {id_of<ops::log>, &passes::gradients::gradient_of_log},
        {id_of<ops::sqrt>, &passes::gradients::gradient_of_sqrt},
        {id_of<ops::erf>, &passes::gradients::gradient_of_erf},
        {id_of<ops::tanh>, &passes::gradients::gradient_of_tanh},
        {id_of<ops::sigmoid>, &passes::gradients::gradient_of_sigmoid},
        {id_of<ops::relu>, &passes::gradients::gradient_of_relu},
        {id_of<ops::abs>, &passes::gradients::gradient_of_abs},
        {id_of<ops::clip>, &passes::gradients::gradient_of_clip},
        {id_of<ops::cast>, &passes::gradients::gradient_of_cast},
        {id_of<ops::where>, &passes::gradients::gradient_of_where},
        {id_of<ops::identity>, &passes::gradients::gradient_of_identity},
        {id_of<ops::reshape>, &passes::gradients::gradient_of_view},
        {id_of<ops::flatten>, &passes::gradients::gradient_of_view},
        {id_of<ops::squeeze>, &passes::gradients::gradient_of_view},
        {id_of<ops::unsqueeze>, &passes::gradients::gradient_of_view},
        {id_of<ops::expand>, &passes::gradients::gradient_of_identity}, // `give` sums
        {id_of<ops::transpose>, &passes::gradients::gradient_of_transpose},
        {id_of<ops::concat>, &passes::gradients::gradient_of_concat},
        {id_of<ops::split>, &passes::gradients::gradient_of_split},
        {id_of<ops::slice>, &passes::gradients::gradient_of_slice},
        {id_of<ops::pad>, &passes::gradients::gradient_of_pad},
        {id_of<ops::gather>, &passes::gradients::gradient_of_gather},
        {id_of<ops::reduce_sum>, &passes::gradients::gradient_of_reduce_sum},
        {id_of<ops::reduce_mean>, &passes::gradients::gradient_of_reduce_mean},
        {id_of<ops::reduce_max>, &passes::gradients::gradient_of_reduce_max},
        {id_of<ops::softmax>, &passes::gradients::gradient_of_softmax},
        {id_of<ops::mat_mul>, &passes::gradients::gradient_of_mat_mul},
        {id_of<ops::gemm>, &passes::gradients::gradient_of_gemm},
        {id_of<ops::conv>, &passes::gradients::gradient_of_conv},
        {id_of<ops::average_pool>, &passes::gradients::gradient_of_average_pool},
        {id_of<ops::global_average_pool>, &passes::gradients::gradient_of_global_average_pool},
        {id_of<ops::lrn>, &passes::gradients::gradient_of_lrn},
        {id_of<ops::batch_norm_training>, &passes::gradients::gradient_of_batch_norm_training},
        {id_of<ops::max_pool>, &passes::gradients::gradient_of_max_pool},
    };
}

} // namespace gsub
