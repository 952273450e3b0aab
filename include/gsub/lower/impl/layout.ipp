#pragma once

#include <gsub/core/meta.hpp>
#include <gsub/lower/impl/place_kernel.ipp>
#include <gsub/lower/impl/place_movement.ipp>
#include <gsub/lower/impl/value_storage.ipp>
#include <gsub/lower/layout.hpp>

#include <utility>
#include <variant>

namespace gsub {

namespace detail {

template <class = void>
class layout_pass {
public:
    layout_pass(kernel_graph g, isa const& isa) : s_(std::move(g), isa) {}

    kernel_graph run() {
        for (std::size_t i = 0; i < s_.in.ops.size(); ++i) {
            auto& op = s_.in.ops[i];
            auto const results = op.results;
            auto const moves_nothing = std::holds_alternative<view_shape>(op.computes);
            place(op, i);
            if (moves_nothing) continue; // a change of layout, too, is made where it is read
            for (auto v : results)
                if (!s_.is_view(v)) s_.settle(v);
        }
        for (std::size_t i = 0; i < s_.in.outputs.size(); ++i) add_output(s_.in.outputs[i], i);
        s_.out.stage = lowering_stage::laid_out;
        s_.out.inputs = std::move(s_.in.inputs), s_.out.results = std::move(s_.in.results);
        s_.out.input_names = std::move(s_.in.input_names), s_.out.output_names = std::move(s_.in.output_names);
        return std::move(s_.out);
    }

private:
    void place(kernel_op& op, std::size_t number) {
        std::visit(overloaded{
                       [&](kernels::descriptor& d) { kernels_.place(op, number, d); },
                       [&](view_shape const& v) { movements_.place(op, v); },
                       [&](concat_shape const& c) { movements_.place(op, c); },
                       [&](pad_shape const& p) { movements_.place(op, p); },
                       [&](auto const&) { place_row_major(op); },
                   },
                   op.computes);
    }
    // Kernels of the application and of the reference evaluator.
    void place_row_major(kernel_op& op) {
        for (auto& o : op.operands) o.value = s_.plain(o.value);
        for (auto& r : op.results) r = s_.new_plain(r);
        s_.out.ops.push_back(std::move(op));
    }
    void add_output(kernel_value_id v, std::size_t i) {
        auto const from = s_.plain(v);
        auto& value = s_.out.values[s_.index(from)];
        if (value.role == runtime::memory_role::temporary && value.part_of < 0) {
            value.role = runtime::memory_role::output;
            value.position = i;
            s_.out.outputs.push_back(from);
            return;
        }
        kernel_value to{.name = s_.in.values[s_.index(v)].name,
                        .type = s_.type(v),
                        .role = runtime::memory_role::output,
                        .position = i};
        to.bytes = s_.bytes_of(s_.type(v));
        auto const size = to.bytes;
        auto const made = s_.add_value(std::move(to));
        s_.add_op(s_.conversion_of(v), runtime::copy_of(size), {from}, {made});
        s_.out.outputs.push_back(made);
    }

    value_storage<> s_;
    kernel_placement<> kernels_{s_};
    movement_placement<> movements_{s_};
};

} // namespace detail

GSUB_LAZY_BODY result<kernel_graph> layout_values(kernel_graph g, isa const& isa) {
    try {
        return detail::layout_pass{std::move(g), isa}.run();
    } catch (error const& e) { return e; }
}

} // namespace gsub
