#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/gradient/gradient.hpp>
#include <gsub/passes/gradient/impl/gradient_tables.hpp>
#include <gsub/passes/gradient/impl/gradient_values.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::passes::gradients {

GSUB_LAZY void gradient_of_identity(gradient_site& at) {
    at.give(0, at.seed());
}
GSUB_LAZY void gradient_of_view(gradient_site& at) {
    at.give(0, shaped_as(at.builder(), at.seed(), at.operand(0)));
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
    if (a.mode != "constant") at.refuse(format_text("mode {}", quoted{a.mode}));
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

GSUB_LAZY_BODY std::vector<gradient_rule> movement_gradients() {
    return {
        {id_of<ops::identity>, &gradient_of_identity},
        {id_of<ops::reshape>, &gradient_of_view},
        {id_of<ops::flatten>, &gradient_of_view},
        {id_of<ops::squeeze>, &gradient_of_view},
        {id_of<ops::unsqueeze>, &gradient_of_view},
        {id_of<ops::expand>, &gradient_of_identity}, // `give` sums
        {id_of<ops::transpose>, &gradient_of_transpose},
        {id_of<ops::concat>, &gradient_of_concat},
        {id_of<ops::split>, &gradient_of_split},
        {id_of<ops::slice>, &gradient_of_slice},
        {id_of<ops::pad>, &gradient_of_pad},
        {id_of<ops::gather>, &gradient_of_gather},
    };
}

} // namespace gsub::passes::gradients
