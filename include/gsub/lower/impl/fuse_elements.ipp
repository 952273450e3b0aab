// Lowering of elementwise expressions, reductions and softmax: kernels grow over the graph as long as operators fit.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/blocked_layout.hpp>
#include <gsub/kernels/local_response_norm.hpp>
#include <gsub/kernels/reduction.hpp>
#include <gsub/lower/impl/expression_writer.ipp>
#include <gsub/lower/impl/kernel_layouts.ipp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace gsub::detail {

// Whether something reads a value that is not a part of the kernel.
GSUB_LAZY [[nodiscard]] bool escapes(any_graph const& g, expression_writer<> const& w, value_id v) {
    bool out = false; // the graph's outputs are uses by its node of results
    g.for_each_use(v, [&](use u) {
        out = !w.knows({u.user, 0});
        return !out;
    });
    return out;
}
// Whether an operator may be part of an expression, by what it is; the types and operands that it has may forbid it.
GSUB_LAZY [[nodiscard]] bool may_be_expressed(fusion_scope const& s, node_id n) {
    auto const& g = s.graph();
    auto const& scalars = s.rules().scalars;
    return g.result_count(n) == 1 && g.operand_count(n) <= expression_writer<>::most_operands &&
           (g.op(n).composite || (!scalars.empty() && scalars[g.row(n)].lower) || g.is<ops::reduce_sum>(n) ||
            g.is<ops::reduce_mean>(n) || g.is<ops::reduce_max>(n) || g.is<ops::softmax>(n) ||
            g.is<ops::fast_softmax>(n));
}
// Whether a value is arithmetic on as many elements as the kernel computes, and a node alone reads it. Not where it
// lies otherwise, so that its operands would have to be brought into the kernel's layout; nor behind a convolution or a
// product, as it may be behind another one.
GSUB_LAZY [[nodiscard]] bool is_made_for(fusion_scope const& s, expression_writer<> const& w, value_id v, node_id n) {
    auto const& g = s.graph();
    if (w.begins() || g.constant(v) || g.op(v.node).category != op_category::elementwise) return false;
    if (!std::ranges::equal(g.type(v).sizes(), w.frame()) || !s.is_free(v.node)) return false;
    auto out = true;
    g.for_each_use(v, [&](use u) { return out = u.user == n; });
    return out && s.in_blocks(v) != w.of_rows();
}
// Adds an operator, behind those that compute operands for it alone. Where it does not fit, nothing changes.
GSUB_LAZY [[nodiscard]] bool join(fusion_scope const& s, expression_writer<>& w, node_id n, std::size_t depth = 0) {
    if (!may_be_expressed(s, n) || !s.is_free(n)) return false; // before operands are listed: others may have many
    auto const nodes = w.nodes().size(), ops = w.size(), arrays = w.arrays().size();
    auto const there = [&](value_id v) {
        if (!v.valid() || w.knows(v)) return true;
        if (depth < 8 && is_made_for(s, w, v, n) && join(s, w, v.node, depth + 1)) return true;
        return s.is_there(v);
    };
    auto const operands = s.graph().operands(n);
    if (std::all_of(operands.begin(), operands.end(), there) && w.add(n)) return true;
    w.shrink(nodes, ops, arrays);
    return false;
}
// Adds operators that use what the kernel computes, in the graph's order, as long as they fit. With `one_result`, only
// as many as leave one value that others read, the last.
GSUB_LAZY void grow(fusion_scope const& s, expression_writer<>& w, value_id start, bool one_result) {
    auto const& g = s.graph();
    std::size_t nodes = one_result ? 0 : w.nodes().size(), ops = 0, arrays = 0;
    std::vector<value_id> values;
    std::vector<node_id> refused;
    auto const settle = [&] {
        values.clear();
        if (start.valid()) values.push_back(start);
        for (auto n : w.nodes()) values.push_back({n, 0});
        if (!one_result) return;
        for (auto v : values)
            if (v != values.back() && escapes(g, w, v)) return;
        if (!w.of_rows() && !values.empty() && g.type(values.back()).element != dtype::f32) return; // a condition
        nodes = w.nodes().size(), ops = w.size(), arrays = w.arrays().size();
    };
    settle();
    while (w.nodes().size() < 32) { // with arrays and scratch memory less than 64 buffers
        std::optional<node_id> next;
        auto stays_read = false; // a value is read by what never joins
        for (auto v : values)
            g.for_each_use(v, [&](use u) {
                auto const n = u.user;
                if (n != g.return_node() && w.knows({n, 0})) return;
                if (n == g.return_node() || !s.is_free(n) || !may_be_expressed(s, n) ||
                    std::find(refused.begin(), refused.end(), n) != refused.end()) {
                    stays_read = true;
                    return;
                }
                if (!next || g.place(n) < g.place(*next)) next = n;
            });
        if (!next || (one_result && stays_read)) break;
        if (join(s, w, *next))
            settle();
        else
            refused.push_back(*next);
    }
    if (one_result) w.shrink(nodes, ops, arrays);
}

// An operand of a kernel over `frame`, to whose last dimensions it broadcasts.
GSUB_LAZY [[nodiscard]] kernel_operand broadcast_operand(kernel_builder& b, value_id v,
                                                         std::span<std::int64_t const> frame) {
    auto const dims = b.type(v).sizes();
    kernel_operand o{b.operand(v), {}, {}};
    auto const shift = frame.size() - dims.size();
    for (std::size_t d = 0; d < frame.size(); ++d)
        o.access.push_back(d < shift || dims[d - shift] == 1 ? std::int8_t{-1} : static_cast<std::int8_t>(d - shift));
    return o;
}

// Whether an operation divides by what is no number, or by zero.
GSUB_LAZY [[nodiscard]] bool divides(kernels::elementwise_op const& o) {
    return o.op == loop::scalar_op::divide && (o.right >= 0 || o.value == 0);
}
// Whether what fills blocks up stays finite under the operations of a node: zeros at first. Kernels that read it would
// otherwise compute NaN in lanes that nobody asked for, and Winograd kernels all their tiles anew.
GSUB_LAZY [[nodiscard]] bool stays_finite(std::span<kernels::elementwise_op const> epilogue) {
    using loop::scalar_op;
    return std::none_of(epilogue.begin(), epilogue.end(), [](kernels::elementwise_op const& o) {
        return divides(o) || o.op == scalar_op::logarithm || o.op == scalar_op::square_root || o.op == scalar_op::power;
    });
}

// Shows the arithmetic that a node begins on values of one type that lie in blocks of channels; false where there is
// none.
GSUB_LAZY [[nodiscard]] bool find_block_expression(fusion_scope const& s, node_id n,
                                                   function_ref<void(expression_writer<> const&)> show) {
    auto const& g = s.graph();
    auto const& type = g.type({n, 0});
    if (!may_be_blocked(type) || type.element != dtype::f32) return false;
    if (!s.in_blocks({n, 0})) return false;
    auto const takes = [&](value_id v) { return g.type(v) == type && s.is_there(v); };
    expression_writer w{g, s.rules().scalars, type.sizes(), false, takes};
    if (!w.add(n)) return false;
    grow(s, w, {}, true);
    for (auto const& o : w.epilogue())
        if (divides(o) || o.op == loop::scalar_op::logarithm || o.op == loop::scalar_op::power) return false;
    show(w);
    return true;
}
GSUB_LAZY [[nodiscard]] bool fuse_in_blocks(kernel_builder& b, node_id n) {
    return find_block_expression(b, n, [&](expression_writer<> const& w) {
        auto const& type = b.type({n, 0});
        kernel_op op;
        for (auto v : w.arrays()) op.operands.push_back(b.whole(v));
        op.results.push_back(b.result({w.nodes().back(), 0}));
        auto const elements = blocked_layout{type.rank(), 1, b.isa().lanes()}.stored_elements(type.sizes());
        if (!elements) throw error{errors::memory_limit, format_text("too large in blocks: {}", to_string(type))};
        op.computes = kernels::elementwise_shape{*elements, static_cast<std::int32_t>(w.arrays().size()), w.epilogue()};
        b.add(w.nodes(), std::move(op));
    });
}

// Shows the arithmetic and the reductions along the last dimensions that a node begins; false where there are none.
GSUB_LAZY [[nodiscard]] bool find_row_expression(fusion_scope const& s, node_id n, bool one_result,
                                                 function_ref<void(expression_writer<> const&)> show) {
    auto const& g = s.graph();
    if (!may_be_expressed(s, n)) return false;
    auto const reduces = g.op(n).category == op_category::reduction && g.operand_count(n) > 0;
    auto const& type = g.type(reduces ? g.operand(n, 0) : value_id{n, 0});
    if (*type.elements() == 0) return false;
    auto const takes = [&](value_id v) { return s.is_there(v); };
    expression_writer w{g, s.rules().scalars, type.sizes(), true, takes};
    if (!w.add(n)) return false;
    grow(s, w, {}, one_result);
    show(w);
    return true;
}
GSUB_LAZY [[nodiscard]] bool fuse_rows(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto read = false;
    auto const add = [&](expression_writer<> const& w) {
        kernels::row_reduction_shape p;
        p.dims = w.dims();
        p.arrays = w.views();
        p.ops = w.ops();
        kernel_op op;
        op.frame.append(std::span<std::int64_t const>{w.frame().data(), w.frame().size()});
        for (auto m : w.nodes())
            if (value_id const y{m, 0}; escapes(g, w, y)) p.results.push_back({w.number(y), !w.is_reduced(y)});
        read = !p.results.empty();
        if (!read) return;
        for (auto v : w.arrays()) op.operands.push_back(broadcast_operand(b, v, op.frame));
        for (auto m : w.nodes())
            if (value_id const y{m, 0}; escapes(g, w, y)) op.results.push_back(b.result(y));
        op.computes = std::move(p);
        b.add(w.nodes(), std::move(op));
    };
    return find_row_expression(b, n, false, add) && read;
}

// Marks of the dimensions that a reduction combines, by the attributes of ONNX.
GSUB_LAZY [[nodiscard]] std::vector<char> reduced_dims(any_graph const& g, node_id n, tensor_type const& in) {
    auto const& a = g.is<ops::reduce_sum>(n)    ? g.attributes<ops::reduce_sum>(n)
                    : g.is<ops::reduce_mean>(n) ? g.attributes<ops::reduce_mean>(n)
                                                : g.attributes<ops::reduce_max>(n);
    auto const nothing = a.axes.empty() && a.noop_with_empty_axes;
    std::vector<char> marks(in.rank(), a.axes.empty() && !nothing);
    for (auto axis : a.axes) marks[along(axis, in)] = 1;
    return marks;
}

// A reduction along any dimensions by a kernel of its own.
GSUB_LAZY [[nodiscard]] bool fuse_reduction(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const mean = g.is<ops::reduce_mean>(n);
    if (g.operand_count(n) != 1) return false;
    auto const x = g.operand(n, 0);
    auto const& in = g.type(x);
    if (!b.exists(x) || *in.elements() == 0 || !computes(loop::scalar_op::add, loop::computed_in(in.element)))
        return false;
    auto const sizes = in.sizes();
    kernels::reduction_shape s;
    s.x = kernels::array_view::contiguous(sizes);
    s.x.element = in.element;
    s.dims.assign(sizes.begin(), sizes.end());
    s.reduced = reduced_dims(g, n, in);
    s.step = g.is<ops::reduce_max>(n) ? kernels::reduction_step::maximum : kernels::reduction_step::sum;
    if (mean)
        for (std::size_t d = 0; d < s.dims.size(); ++d)
            if (s.reduced[d]) s.divisor *= static_cast<double>(s.dims[d]);
    kernel_op op{.computes = std::move(s), .operands = {b.viewed(x)}, .results = {b.result({n, 0})}};
    b.add({&n, 1}, std::move(op));
    return true;
}

// A softmax along another dimension than the last: rows of a view in which it is the last, and a result like it.
GSUB_LAZY [[nodiscard]] bool fuse_softmax(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0);
    auto const& in = g.type(x);
    auto const fast = g.is<ops::fast_softmax>(n);
    auto const& a = fast ? g.attributes<ops::fast_softmax>(n) : g.attributes<ops::softmax>(n);
    auto const exponential = fast ? loop::scalar_op::fast_exponential : loop::scalar_op::exponential;
    auto const type = loop::computed_in(in.element);
    if (!b.exists(x) || a.flatten || !computes(exponential, type) || *in.elements() == 0) return false;
    auto const axis = along(a.axis, in);
    auto const sizes = in.sizes();
    std::vector<std::size_t> order; // dimensions of the rows
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (d != axis) order.push_back(d);
    order.push_back(axis);
    kernels::row_reduction_shape p;
    kernel_op op;
    kernel_operand rows{b.operand(x), {}, {}};
    ints turned_dims;
    for (auto d : order) {
        turned_dims.push_back(sizes[d]);
        rows.access.push_back(static_cast<std::int8_t>(d));
    }
    p.dims.assign(turned_dims.begin(), turned_dims.end());
    op.frame.append(std::span<std::int64_t const>{turned_dims.data(), turned_dims.size()});
    p.arrays.push_back(kernels::array_view::contiguous(p.dims));
    p.arrays.back().element = in.element;
    scalar_builder e{p.ops, 1};
    auto const y = expression_writer<>::softmax(e, cast(e.value(0, in.element), type), exponential);
    // Stored as the graph has it: where the rows' dimensions lie in it.
    auto const strides = kernels::array_view::contiguous(sizes).strides;
    kernels::row_reduction_result result{*e.number_of(cast(y, in.element)), true, {}};
    for (auto d : order) result.strides.push_back(strides[d]);
    p.results.push_back(std::move(result));
    op.operands.push_back(std::move(rows));
    op.results.push_back(b.result({n, 0}));
    op.computes = std::move(p);
    b.add({&n, 1}, std::move(op));
    return true;
}

GSUB_LAZY [[nodiscard]] bool fuse_local_response_norm(kernel_builder& b, node_id n) {
    auto const& g = b.graph();
    auto const x = g.operand(n, 0);
    auto const& in = g.type(x);
    if (!is_floating(in.element) || in.rank() < 2 || *in.elements() == 0) return false;
    auto const& a = g.attributes<ops::lrn>(n);
    auto const sizes = in.sizes();
    // All channels are neighbours in a window of this size, as in a larger one.
    auto const size = std::min(a.size, 2 * sizes[1] - 1);
    auto const alpha = a.alpha / static_cast<double>(a.size) * static_cast<double>(size);
    kernels::local_response_norm_shape const s{
        sizes[0], sizes[1], product(std::span{sizes}.subspan(2)), size, alpha, a.beta, a.bias, in.element};
    b.add({&n, 1}, {.computes = s, .operands = {b.whole(x)}, .results = {b.result({n, 0})}});
    return true;
}

} // namespace gsub::detail
