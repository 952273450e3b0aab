// Lowering of operators that move elements; the layout pass makes most of them views or pieces of what is stored.
#pragma once

#include <gsub/kernels/movement.hpp>
#include <gsub/kernels/scatter.hpp>
#include <gsub/lower/impl/fuse_elements.ipp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace gsub::detail {

// Whether a node has results without elements alone, which are there then.
GSUB_LAZY [[nodiscard]] bool fuse_nothing(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    for (std::uint32_t i = 0; i < g.result_count(n); ++i)
        if (*g.type({n, i}).elements() != 0) return false;
    for (std::uint32_t i = 0; i < g.result_count(n); ++i) {
        auto const& t = g.type({n, i});
        b.set_constant({n, i}, tensor::zeros(t.element, t.sizes()));
    }
    return true;
}
// The integers of an operand that is a setting; those of an attribute where it is not given. Nothing: they are not
// constant.
GSUB_LAZY [[nodiscard]] std::optional<ints> setting(kernel_builder const& b, node_id n, std::size_t operand,
                                                    ints const& otherwise) {
    auto const& g = b.graph();
    if (g.operand_count(n) <= operand || !g.operand(n, operand).valid()) return otherwise;
    auto const t = b.constant_of(g.operand(n, operand));
    if (!t) return std::nullopt;
    return t->to_ints();
}
GSUB_LAZY [[nodiscard]] ints all_axes(std::size_t count) {
    ints all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<std::int64_t>(i));
    return all;
}
// Every element at its place.
GSUB_LAZY [[nodiscard]] view_shape same_view(std::size_t rank) {
    view_shape v;
    v.start.resize(rank, 0), v.step.resize(rank, 1);
    for (std::size_t d = 0; d < rank; ++d) v.from.push_back(static_cast<std::int8_t>(d));
    return v;
}

GSUB_LAZY [[nodiscard]] bool fuse_view(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0);
    value_id const y{n, 0};
    auto const &in = g.type(x), &out = g.type(y);
    if (g.op(n).aliasing_view && (in.element != out.element || in.elements() != out.elements())) return false;
    auto v = same_view(in.rank());
    if (g.is<ops::transpose>(n)) {
        auto const& perm = g.attributes<ops::transpose>(n).perm;
        for (std::size_t d = 0; d < perm.size(); ++d) v.from[d] = static_cast<std::int8_t>(perm[d]);
    } else if (g.is<ops::slice>(n)) {
        auto const& a = g.attributes<ops::slice>(n);
        auto const starts = setting(b, n, 1, a.starts), ends = setting(b, n, 2, a.ends);
        if (!starts || !ends) return false;
        auto const given = g.operand_count(n) > 1;
        auto const axes = setting(b, n, 3, given || a.axes.empty() ? all_axes(starts->size()) : a.axes);
        auto const steps = setting(b, n, 4, given || a.steps.empty() ? ints(starts->size(), 1) : a.steps);
        if (!axes || !steps) return false;
        for (std::size_t i = 0; i < axes->size(); ++i) {
            auto const d = along((*axes)[i], in);
            auto const range = clamped_slice((*starts)[i], (*ends)[i], (*steps)[i], in.dims[d].size());
            v.start[d] += range.start;
            if (out.dims[d].size() != 1) v.step[d] *= range.step; // one may have any step
        }
        v.in_blocks = slices_blocks(v, in, out, b.isa().lanes()).has_value();
    } else if (g.is<ops::expand>(n)) {
        v.from.assign(out.rank(), -1), v.step.assign(out.rank(), 1);
        auto const before = out.rank() - in.rank();
        for (std::size_t d = 0; d < in.rank(); ++d)
            if (in.dims[d].size() != 1) v.from[before + d] = static_cast<std::int8_t>(d);
    } else {
        v = {.reshape = true};
    }
    kernel_op op{.computes = std::move(v), .operands = {b.whole(x)}, .results = {b.result(y)}};
    b.add({&n, 1}, std::move(op));
    return true;
}

// The bits of elements, copied.
GSUB_LAZY [[nodiscard]] bool fuse_bits(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0);
    auto const &in = g.type(x), &out = g.type({n, 0});
    if (byte_size(in.element) != byte_size(out.element)) return false;
    auto copy = kernels::copied_view(out.element, out.sizes(), kernels::array_view::contiguous(out.sizes()));
    b.add({&n, 1}, {.computes = std::move(copy), .operands = {b.whole(x)}, .results = {b.result({n, 0})}});
    return true;
}

// Pieces are views of what is split.
GSUB_LAZY [[nodiscard]] bool fuse_split(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0);
    auto const& in = g.type(x);
    auto const axis = along(g.attributes<ops::split>(n).axis, in);
    auto v = same_view(in.rank());
    v.in_blocks = true; // all pieces, or else none, as what is not read so is needed row-major
    auto piece = v;
    for (std::uint32_t i = 0; i < g.result_count(n); ++i) {
        auto const& t = g.type({n, i});
        v.in_blocks = v.in_blocks && (*t.elements() == 0 || slices_blocks(piece, in, t, b.isa().lanes()).has_value());
        piece.start[axis] += t.dims[axis].size();
    }
    for (std::uint32_t i = 0; i < g.result_count(n); ++i) {
        value_id const y{n, i};
        auto const& t = g.type(y);
        if (*t.elements() == 0) {
            b.set_constant(y, tensor::zeros(t.element, t.sizes()));
        } else {
            kernel_op op{.computes = v, .operands = {b.whole(x)}, .results = {b.result(y)}};
            b.add({&n, 1}, std::move(op));
        }
        v.start[axis] += t.dims[axis].size();
    }
    return true;
}

GSUB_LAZY [[nodiscard]] bool fuse_concat(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    value_id const whole{n, 0};
    kernel_op op;
    for (auto v : g.operands(n))
        if (*g.type(v).elements() > 0) op.operands.push_back(b.whole(v));
    op.computes = concat_shape{static_cast<std::int64_t>(along(g.attributes<ops::concat>(n).axis, g.type(whole)))};
    op.results.push_back(b.result(whole));
    b.add({&n, 1}, std::move(op));
    return true;
}

// Entries chosen by an integer tensor.
GSUB_LAZY [[nodiscard]] bool fuse_gather(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), index = g.operand(n, 1);
    auto const &in = g.type(x), &at = g.type(index);
    if (*in.elements() == 0 || (at.element != dtype::i32 && at.element != dtype::i64)) return false;
    auto const axis = along(g.attributes<ops::gather>(n).axis, in);
    auto shape = kernels::gathered_entries(in.element, in.sizes(), axis, *at.elements(), at.element);
    b.add({&n, 1},
          {.computes = std::move(shape), .operands = {b.whole(x), b.whole(index)}, .results = {b.result({n, 0})}});
    return true;
}

// Elements chosen by an integer each.
GSUB_LAZY [[nodiscard]] bool fuse_gather_elements(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), index = g.operand(n, 1);
    auto const &in = g.type(x), &at = g.type(index);
    if (*in.elements() == 0 || *at.elements() == 0 || (at.element != dtype::i32 && at.element != dtype::i64))
        return false;
    auto const axis = along(g.attributes<ops::gather_elements>(n).axis, in);
    auto shape = kernels::gathered_elements(in.element, in.sizes(), at.sizes(), axis, at.element);
    b.add({&n, 1},
          {.computes = std::move(shape), .operands = {b.whole(x), b.whole(index)}, .results = {b.result({n, 0})}});
    return true;
}

// Adds the kernel of a scatter, or a view of what nothing is written into, unless no kernel combines its elements so.
template <class Shape>
[[nodiscard]] bool fuse_scatter(kernel_builder& b, node_id n, std::string_view reduction, Shape&& shape_of) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0), index = g.operand(n, 1), updates = g.operand(n, 2);
    auto const &in = g.type(x), &at = g.type(index);
    if (*g.type(updates).elements() == 0) {
        b.add({&n, 1},
              {.computes = view_shape{.reshape = true}, .operands = {b.whole(x)}, .results = {b.result({n, 0})}});
        return true;
    }
    std::optional<loop::scalar_op> combined;
    switch (scatter_mode_named(reduction).value_or(scatter_mode::none)) {
    case scatter_mode::none:
        break;
    case scatter_mode::add:
        combined = loop::scalar_op::add;
        break;
    case scatter_mode::mul:
        combined = loop::scalar_op::multiply;
        break;
    case scatter_mode::max:
        combined = loop::scalar_op::maximum;
        break;
    case scatter_mode::min:
        combined = loop::scalar_op::minimum;
        break;
    }
    if (at.element != dtype::i32 && at.element != dtype::i64) return false;
    if (combined && !loop::computes(*combined, loop::computed_in(in.element))) return false;
    kernel_op op{.computes = shape_of(combined), .operands = {}, .results = {}};
    for (auto const v : {x, index, updates}) op.operands.push_back(b.whole(v));
    op.results.push_back(b.result({n, 0}));
    b.add({&n, 1}, std::move(op));
    return true;
}
GSUB_LAZY [[nodiscard]] bool fuse_scatter_elements(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const &in = g.type(g.operand(n, 0)), &at = g.type(g.operand(n, 1));
    auto const& a = g.attributes<ops::scatter_elements>(n);
    return fuse_scatter(b, n, a.reduction, [&](auto combined) {
        return kernels::scattered_elements(in.element, in.sizes(), at.sizes(), along(a.axis, in), at.element, combined);
    });
}
// Whole entries; those of several dimensions, by rows of integers, become such first.
GSUB_LAZY [[nodiscard]] bool fuse_scatter_nd(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const &in = g.type(g.operand(n, 0)), &at = g.type(g.operand(n, 1));
    if (at.dims.back().size() != 1) return false;
    return fuse_scatter(b, n, g.attributes<ops::scatter_nd>(n).reduction, [&](auto combined) {
        return kernels::scattered_entries(in.element, in.sizes(), *at.elements(), at.element, combined);
    });
}

GSUB_LAZY [[nodiscard]] bool fuse_pad(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0);
    auto const &in = g.type(x), &out = g.type({n, 0});
    auto const& a = g.attributes<ops::pad>(n);
    auto const axes = setting(b, n, 3, all_axes(in.rank())), pads = setting(b, n, 1, a.pads);
    if (!axes || !pads) return false;
    pad_shape s;
    auto const constant = a.mode == "constant";
    if (*in.elements() == 0 && !constant) return false;
    s.before.assign(in.rank(), 0), s.after.assign(in.rank(), 0);
    for (std::size_t i = 0; i < axes->size(); ++i) {
        auto const d = along((*axes)[i], in);
        s.before[d] = (*pads)[i];
        s.after[d] = out.dims[d].size() - in.dims[d].size() - s.before[d];
    }
    s.kind = constant           ? kernels::padding_mode::constant
             : a.mode == "edge" ? kernels::padding_mode::edge
                                : kernels::padding_mode::reflect;
    kernel_op op{.operands = {b.whole(x)}};
    if (constant) {
        auto border = tensor::scalar(a.value).converted_to(in.element);
        auto const v = g.operand_count(n) > 2 ? g.operand(n, 2) : value_id{};
        if (v.valid() && *g.type(v).elements() > 0) {
            if (auto t = b.constant_of(v))
                border = *t;
            else
                op.operands.push_back(b.whole(v));
        }
        std::memcpy(&s.fill, border.raw().data(), byte_size(in.element));
    }
    op.computes = std::move(s);
    op.results.push_back(b.result({n, 0}));
    b.add({&n, 1}, std::move(op));
    return true;
}

// One number everywhere: a view of it.
GSUB_LAZY [[nodiscard]] bool fuse_fill(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const& t = g.type({n, 0});
    auto const& a = g.attributes<ops::fill>(n);
    auto const one = is_floating(t.element) ? tensor::scalar(a.value) : tensor::scalar(a.integer);
    view_shape everywhere;
    everywhere.from.resize(t.rank(), -1), everywhere.step.resize(t.rank(), 1);
    kernel_op op{.computes = std::move(everywhere),
                 .operands = {{b.constant(one.converted_to(t.element), {}), {}, {}}},
                 .results = {b.result({n, 0})}};
    b.add({&n, 1}, std::move(op));
    return true;
}
// Dimensions, which are known.
GSUB_LAZY [[nodiscard]] bool fuse_shape(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const& t = g.type({n, 0});
    auto const dims = g.type(g.operand(n, 0)).sizes();
    auto const rank = static_cast<std::int64_t>(dims.size());
    auto const start = g.attributes<ops::shape>(n).start;
    auto const first = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
    std::span const part =
        std::span{dims}.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(*t.elements()));
    b.set_constant({n, 0}, tensor::from(t.sizes(), std::span<std::int64_t const>{part}));
    return true;
}

} // namespace gsub::detail
