#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/types/blocked_layout.hpp>
#include <gsub/lower/impl/row_filters.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/lower/kernel_layouts.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gsub {

namespace detail {

GSUB_LAZY [[nodiscard]] std::size_t along(std::int64_t axis, tensor_type const& t) {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(t.rank()) : axis);
}

// A value as it was before its layout changed.
GSUB_LAZY [[nodiscard]] value_id unchanged(any_graph const& g, value_id v) {
    while (v.valid() && g.is<ops::layout_transform>(v.node)) v = g.operand(v.node, 0);
    return v;
}
GSUB_LAZY [[nodiscard]] bool same_shape(tensor_type const& a, tensor_type const& b) {
    return a.element == b.element && a.dims == b.dims;
}
// Whether a node divides by one number that is known not to be zero.
GSUB_LAZY [[nodiscard]] bool divides_by_number(any_graph const& g, node_id n) {
    auto const by = g.operand(n, 1);
    if (!g.is<ops::constant>(by.node) || g.type(by).elements() != 1 || g.type(by).element != dtype::f32) return false;
    auto const number = g.constant_data(by.node).data<float>()[0];
    return number != 0 && std::isfinite(number);
}
// Whether arithmetic computes what fills blocks up as it computes all else, and stays finite there.
GSUB_LAZY [[nodiscard]] bool computes_blocks(any_graph const& g, node_id n) {
    if (g.op(n).category != op_category::elementwise || g.is<ops::log>(n) || g.is<ops::pow>(n)) return false;
    if (g.is<ops::div>(n) && !divides_by_number(g, n)) return false;
    auto const operands = g.operands(n);
    return std::all_of(operands.begin(), operands.end(), [&](value_id v) {
        return !v.valid() || same_shape(g.type(v), g.type({n, 0})) || (g.constant(v) && g.type(v).elements() == 1);
    });
}
// The value to which a node adds, from which it takes or which it multiplies by a number for each channel, or nothing.
GSUB_LAZY [[nodiscard]] value_id by_channel(any_graph const& g, node_id n) {
    if (g.is<ops::batch_norm>(n)) return g.operand(n, 0);
    if (!g.is<ops::add>(n) && !g.is<ops::sub>(n) && !g.is<ops::mul>(n)) return {};
    auto const first = g.constant(g.operand(n, 1));
    auto const x = g.operand(n, first ? 0 : 1), numbers = g.operand(n, first ? 1 : 0);
    auto const &type = g.type({n, 0}), &t = g.type(numbers);
    if (!g.constant(numbers) || !same_shape(g.type(x), type) || t.rank() > type.rank()) return {};
    for (std::size_t behind = 0; behind < t.rank(); ++behind) {
        auto const size = t.dims[t.rank() - 1 - behind];
        if (size != dim{1} && (behind + 2 != type.rank() || size != type.dims[1])) return {};
    }
    return x;
}
// Whether a node's numbers for each channel become part of a convolution's weights.
GSUB_LAZY [[nodiscard]] bool scales_convolution(any_graph const& g, node_id n) {
    for (int steps = 0; steps < 32; ++steps) {
        auto const x = unchanged(g, by_channel(g, n));
        if (!x.valid() || g.use_count(x) > 1) return false;
        if (g.is<ops::conv>(x.node)) return g.constant(g.operand(x.node, 1));
        n = x.node;
    }
    return false;
}
GSUB_LAZY [[nodiscard]] bool concatenates_blocks(any_graph const& g, node_id n, std::int64_t lanes) {
    std::vector<tensor_type> parts;
    for (auto v : g.operands(n)) {
        if (g.constant(v)) return false;
        parts.push_back(g.type(v));
    }
    auto const& type = g.type({n, 0});
    auto const axis = static_cast<std::int64_t>(along(g.attributes<ops::concat>(n).axis, type));
    return gsub::concatenates_blocks(type, axis, as_span(parts), lanes);
}
// Whether all pieces are whole blocks of one image.
GSUB_LAZY [[nodiscard]] bool splits_blocks(any_graph const& g, node_id n, std::int64_t lanes) {
    auto const& type = g.type(g.operand(n, 0));
    if (along(g.attributes<ops::split>(n).axis, type) != 1 || type.dims[0].size() != 1) return false;
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        if (auto const channels = g.type({n, port}).dims[1]; !channels.fixed() || channels.size() % lanes != 0)
            return false;
    return true;
}
GSUB_LAZY [[nodiscard]] bool slices_blocks(any_graph const& g, node_id n, std::int64_t lanes) {
    auto const &from = g.type(g.operand(n, 0)), &to = g.type({n, 0});
    auto const& a = g.attributes<ops::slice>(n);
    if (g.operand_count(n) != 1 || from.dims[0].size() != 1 || to.dims[1].size() % lanes != 0) return false;
    for (std::size_t i = 0; i < a.starts.size(); ++i) {
        auto const d = a.axes.empty() ? i : along(a.axes[i], from);
        auto const step = a.steps.empty() ? 1 : a.steps[i];
        auto const start = clamped_slice(a.starts[i], a.ends[i], step, from.dims[d].size()).start;
        if (d == 1 ? step != 1 || start % lanes != 0 : from.dims[d] != to.dims[d] || step != 1) return false;
    }
    return true;
}
// Whether a value has its channels moved from the last place.
GSUB_LAZY [[nodiscard]] bool was_channels_last(any_graph const& g, value_id v) {
    if (!g.is<ops::transpose>(v.node)) return false;
    auto const& perm = g.attributes<ops::transpose>(v.node).perm;
    if (perm.size() < 3 || perm[0] != 0 || perm[1] != static_cast<std::int64_t>(perm.size()) - 1) return false;
    for (std::size_t d = 2; d < perm.size(); ++d)
        if (perm[d] != static_cast<std::int64_t>(d) - 1) return false;
    return true;
}

} // namespace detail

GSUB_LAZY_BODY kernel_storage kernel_storage_of(any_graph const& g, node_id n, isa const& isa) {
    using enum kernel_storage;
    auto const& type = g.type({n, 0});
    if (!type.is_static() || !may_be_blocked(type) || g.constant(n)) return row_major;
    auto const either = [](bool yes) { return yes ? follows : row_major; };
    auto const lanes = isa.lanes();
    if (g.is<ops::max_pool>(n) || g.is<ops::average_pool>(n) || g.is<ops::global_average_pool>(n)) return blocks;
    if (type.element != dtype::f32) return row_major;
    auto const constants = [&](std::size_t first, std::size_t last) {
        for (auto i = first; i < last; ++i)
            if (!g.constant(g.operand(n, i))) return false;
        return true;
    };
    if (g.is<ops::conv>(n)) return constants(1, 2) && !detail::is_row_filter(g, n) ? blocks : row_major;
    if (g.is<ops::batch_norm>(n)) return either(constants(1, 5) && type.dims[1].size() > 1);
    if (g.is<ops::identity>(n)) return follows;
    if (g.is<ops::concat>(n)) return either(detail::concatenates_blocks(g, n, lanes));
    if (g.is<ops::split>(n)) return either(detail::splits_blocks(g, n, lanes));
    if (g.is<ops::slice>(n)) return either(detail::slices_blocks(g, n, lanes));
    return either(detail::computes_blocks(g, n) || detail::scales_convolution(g, n));
}

GSUB_LAZY_BODY layout channel_blocks(std::size_t rank, isa const& isa) {
    GSUB_ASSERT(rank >= 3 && rank <= 5, "blocks of channels of an image");
    constexpr std::string_view letters[] = {"NCW", "NCHW", "NCDHW"};
    return layout{format_text("{}{}c", letters[rank - 3], isa.lanes())};
}
GSUB_LAZY_BODY bool in_channel_blocks(tensor_type const& type, isa const& isa) {
    if (type.layout.empty() || !type.is_static() || !may_be_blocked(type)) return false;
    auto const as = parse_layout(type.layout.text());
    return as && as->rank == type.rank() && as->axis == 1 && as->block == isa.lanes();
}

GSUB_LAZY_BODY bool reads_in_place(any_graph const& g, node_id n, isa const& isa) {
    auto const convolution = g.is<ops::conv>(n) && !detail::is_row_filter(g, n);
    if (!convolution && !g.is<ops::max_pool>(n) && !g.is<ops::average_pool>(n) && !g.is<ops::global_average_pool>(n))
        return false;
    auto const x = detail::unchanged(g, g.operand(n, 0));
    auto const& type = g.type(x);
    if (!type.is_static() || !may_be_blocked(type) || !type.layout.empty()) return false;
    auto const channels = type.dims[1].size();
    if (channels % isa.lanes() == 0) return detail::was_channels_last(g, x);
    return convolution && g.attributes<ops::conv>(n).group == 1 && channels < isa.lanes() / 2;
}
GSUB_LAZY_BODY value_id data_of(any_graph const& g, node_id n, isa const& isa) {
    return reads_in_place(g, n, isa) ? detail::unchanged(g, g.operand(n, 0)) : g.operand(n, 0);
}

GSUB_LAZY_BODY std::optional<passes::desired_layout> kernel_layouts::operator()(passes::layout_query const& q) const {
    auto const& on = isa ? *isa : isa_of(q.machine);
    switch (kernel_storage_of(q.graph, q.node, on)) {
    case kernel_storage::row_major:
        return layout{};
    case kernel_storage::follows:
        return std::nullopt;
    case kernel_storage::blocks:
        break;
    }
    return passes::desired_layout{channel_blocks(q.result->rank(), on), reads_in_place(q.graph, q.node, on)};
}

} // namespace gsub
