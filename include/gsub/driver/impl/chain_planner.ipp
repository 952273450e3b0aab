#pragma once

#include <gsub/driver/impl/chain_writer.ipp>
#include <gsub/driver/impl/move_planner.ipp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/kernels/local_response_norm.hpp>
#include <gsub/kernels/reduction.hpp>
#include <gsub/lower/scalar_rows.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace gsub::detail {

// Plans arithmetic: kernels that grow over the graph as long as operators fit, by themselves or behind another kernel.
template <class = void>
class chain_planner : protected move_planner<> {
public:
    using move_planner<>::move_planner;

protected:
    // The rows of `scalar_lowering`, of the graph's operators.
    std::span<scalar_row const> scalar_rows() const {
        if (!options_.scalars.empty()) return options_.scalars;
        auto const standard = table_of<op_info, standard_ops>();
        return g_.operators().ops.data() == standard.data() ? table_of<scalar_row, standard_ops>()
                                                            : std::span<scalar_row const>{};
    }
    // The only reader of a value, if it may share a kernel: an operator that nothing computes as yet.
    std::optional<node_id> only_reader(value_id v) const {
        if (!options_.group || g_.use_count(v) != 1) return std::nullopt;
        auto reader = g_.results_node();
        g_.for_each_use(v, [&](use u) { reader = u.user; });
        if (reader == g_.results_node() || planned_[reader.index] || g_.result_count(reader) != 1) return std::nullopt;
        return reader;
    }
    // Whether something reads a value that is not a part of the kernel.
    bool escapes(chain_writer<> const& w, value_id v) const {
        bool out = false; // the graph's outputs are uses by its node of results
        g_.for_each_use(v, [&](use u) { out = out || !w.knows({u.user, 0}); });
        return out;
    }
    // Adds operators that use what the kernel computes, in the graph's order, as long as they fit. With `one_result`,
    // only as many as leave one value that others read, the last.
    void grow(chain_writer<>& w, value_id start, bool one_result) {
        std::size_t nodes = one_result ? 0 : w.nodes().size(), ops = 0, arrays = 0;
        std::vector<value_id> values;
        if (start.valid()) values.push_back(start);
        for (auto n : w.nodes()) values.push_back({n, 0});
        std::vector<node_id> refused;
        auto const settle = [&] {
            if (!one_result) return;
            for (auto v : values)
                if (v != values.back() && escapes(w, v)) return;
            nodes = w.nodes().size(), ops = w.size(), arrays = w.arrays().size();
        };
        settle();
        while (w.nodes().size() < 32) { // with arrays and scratch memory less than 64 buffers
            std::optional<node_id> next;
            for (auto v : values)
                g_.for_each_use(v, [&](use u) {
                    auto const n = u.user;
                    if (n == g_.results_node() || planned_[n.index] || w.knows({n, 0}) || !can_join(w, n) ||
                        std::find(refused.begin(), refused.end(), n) != refused.end())
                        return;
                    if (!next || position_[n.index] < position_[next->index]) next = n;
                });
            if (!next) break;
            if (w.add(*next)) {
                values.push_back({*next, 0});
                settle();
            } else {
                refused.push_back(*next);
            }
        }
        if (one_result) w.shrink(nodes, ops, arrays);
    }
    // Whether all operands of a node are there by the time of the kernel.
    bool can_join(chain_writer<> const& w, node_id n) const {
        auto const operands = g_.operands(n);
        return options_.group && std::all_of(operands.begin(), operands.end(),
                                             [&](value_id v) { return !v.valid() || w.knows(v) || exists(v); });
    }
    void mark_planned(std::vector<node_id> const& nodes) {
        for (auto n : nodes) planned_[n.index] = 1;
    }
    static double operations_of(std::vector<kernels::row_op> const& ops, std::int64_t elements) {
        double each = 0;
        for (auto const& o : ops) each += info(o.what.op).cost;
        return each * static_cast<double>(elements);
    }

    // Arithmetic on values in blocks of channels. What fills blocks up is zero at first and stays finite under these
    // operations.
    std::size_t plan_blocked_elementwise(node_id n) {
        auto const& type = g_.type({n, 0});
        if (!computes_f32(type) || type.rank() != 4 || *type.elements() == 0) return 0;
        auto const operands = g_.operands(n);
        if (std::none_of(operands.begin(), operands.end(), [&](auto v) { return blocked_.contains(v); })) return 0;
        auto const view = [&](value_id v) {
            return g_.type(v) == type ? view_of(v) : std::optional<kernels::array_view>{};
        };
        chain_writer w{g_, scalar_rows(), type.sizes(), false, view};
        if (!w.add(n)) return 0;
        grow(w, {}, true);
        auto const chain = w.chain();
        using loop::scalar_op;
        for (auto const& o : chain)
            if (o.op == scalar_op::divide || o.op == scalar_op::logarithm || o.op == scalar_op::power) return 0;
        std::vector<std::int32_t> values;
        for (auto v : w.arrays()) values.push_back(blocked(v));
        value_id const y{w.nodes().back(), 0};
        values.push_back(add_blocked(y));
        auto const elements = blocked_elements(type);
        mark_planned(w.nodes());
        kernels::elementwise_shape s{elements, static_cast<std::int32_t>(w.arrays().size()), chain};
        auto const nest = kernels::elementwise_nest(s.elements, s.arrays, s.chain, set_);
        add_kernel(std::move(s), w.nodes(), nest, std::move(values), operations_of(w.ops(), elements));
        return 1;
    }

    // Arithmetic and reductions along the last dimensions on values that are stored row-major, or are views of such.
    std::size_t plan_rows(node_id n) {
        auto const reduces = g_.op(n).category == op_category::reduction && g_.operand_count(n) > 0;
        auto const& type = g_.type(reduces ? g_.operand(n, 0) : value_id{n, 0});
        if (g_.result_count(n) != 1 || *type.elements() == 0) return 0;
        auto const view = [&](value_id v) { return view_of(v); };
        chain_writer w{g_, scalar_rows(), type.sizes(), true, view};
        if (!w.add(n)) return 0;
        grow(w, {}, false);
        kernels::row_program p;
        p.dims = w.dims();
        p.arrays = w.views();
        p.ops = w.ops();
        std::vector<std::int32_t> values;
        for (auto v : w.arrays()) values.push_back(storage_of(v));
        for (auto m : w.nodes())
            if (value_id const y{m, 0}; escapes(w, y)) {
                p.results.push_back({w.number(y), !w.is_reduced(y)});
                values.push_back(new_plain(y));
            }
        if (p.results.empty()) return 0; // nothing reads it
        mark_planned(w.nodes());
        auto const operations = operations_of(p.ops, *type.elements());
        add_kernel(p, w.nodes(), kernels::row_nest(p, set_), std::move(values), operations);
        return 1;
    }

    // A reduction along any dimensions by a kernel of its own.
    std::size_t plan_reduction(node_id n) {
        auto const sum = g_.is<ops::reduce_sum>(n), mean = g_.is<ops::reduce_mean>(n);
        if ((!sum && !mean && !g_.is<ops::reduce_max>(n)) || g_.operand_count(n) != 1) return 0;
        auto const x = g_.operand(n, 0);
        auto const& in = g_.type(x);
        auto const view = view_of(x);
        if (!view || *in.elements() == 0 || !computes(loop::scalar_op::add, loop::computed_in(in.element))) return 0;
        auto const& a = sum    ? g_.attributes<ops::reduce_sum>(n)
                        : mean ? g_.attributes<ops::reduce_mean>(n)
                               : g_.attributes<ops::reduce_max>(n);
        auto const sizes = in.sizes();
        kernels::reduction_shape s;
        s.x = *view;
        s.x.element = in.element;
        s.dims.assign(sizes.begin(), sizes.end());
        auto const nothing = a.axes.empty() && a.noop_with_empty_axes;
        s.reduced.assign(sizes.size(), a.axes.empty() && !nothing);
        for (auto axis : a.axes) s.reduced[along(axis, in)] = 1;
        s.step = g_.is<ops::reduce_max>(n) ? kernels::row_step::maximum : kernels::row_step::sum;
        if (mean)
            for (std::size_t d = 0; d < s.dims.size(); ++d)
                if (s.reduced[d]) s.divisor *= static_cast<double>(s.dims[d]);
        std::vector<std::int32_t> values{storage_of(x)};
        values.push_back(new_plain({n, 0}));
        auto const nest = kernels::reduction_nest(s, set_);
        auto const operations = s.operations();
        add_kernel(std::move(s), {&n, 1}, nest, std::move(values), operations);
        return 1;
    }

    // A softmax along another dimension than the last: rows of a view in which it is the last, stored so.
    std::size_t plan_softmax(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const& in = g_.type(x);
        auto const fast = g_.is<ops::fast_softmax>(n);
        auto const& a = fast ? g_.attributes<ops::fast_softmax>(n) : g_.attributes<ops::softmax>(n);
        auto const view = view_of(x);
        auto const type = loop::computed_in(in.element);
        if (!view || a.flatten || !computes(loop::scalar_op::exponential, type) || *in.elements() == 0) return 0;
        auto const axis = along(a.axis, in);
        auto const sizes = in.sizes();
        std::vector<std::size_t> order; // dimensions of the rows
        for (std::size_t d = 0; d < sizes.size(); ++d)
            if (d != axis) order.push_back(d);
        order.push_back(axis);
        kernels::row_program p;
        auto rows = *view;
        rows.element = in.element;
        for (std::size_t i = 0; i < order.size(); ++i) {
            p.dims.push_back(sizes[order[i]]);
            rows.strides[i] = view->strides[order[i]];
        }
        p.arrays.push_back(rows);
        scalar_builder b{p.ops, 1};
        auto const y = chain_writer<>::softmax(b, cast(b.value(0, in.element), type));
        p.results.push_back({*b.number_of(cast(y, in.element)), true});
        auto const stored = kernels::array_view::contiguous(p.dims);
        auto seen = stored; // the result, over its own dimensions
        for (std::size_t i = 0; i < order.size(); ++i) seen.strides[order[i]] = stored.strides[i];
        std::vector<std::int32_t> values{storage_of(x), add_temporary(bytes_of(in))};
        add_view({n, 0}, values.back(), std::move(seen));
        auto const operations = operations_of(p.ops, *in.elements());
        auto const nest = kernels::row_nest(p, set_);
        add_kernel(std::move(p), {&n, 1}, nest, std::move(values), operations);
        return 1;
    }

    std::size_t plan_local_response_norm(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const& in = g_.type(x);
        if (!is_floating(in.element) || in.rank() < 2 || *in.elements() == 0) return 0;
        auto const& a = g_.attributes<ops::lrn>(n);
        auto const sizes = in.sizes();
        kernels::local_response_norm_shape const s{
            sizes[0], sizes[1], product(std::span{sizes}.subspan(2)), a.size, a.alpha, a.beta, a.bias, in.element};
        std::vector<std::int32_t> values{plain(x)};
        values.push_back(new_plain({n, 0}));
        add_kernel(s, {&n, 1}, kernels::local_response_norm_nest(s, set_), std::move(values), s.operations());
        return 1;
    }

    std::vector<float> filled_up(std::span<float const> elements) const {
        std::vector<float> out(elements.begin(), elements.end());
        auto const l = static_cast<std::size_t>(set_.lanes());
        out.resize((out.size() + l - 1) / l * l, 0.0f);
        return out;
    }

    std::vector<std::size_t> position_; // of nodes in the graph's order
};

} // namespace gsub::detail
