#pragma once

#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/simplify/dynamic_to_static.hpp>
#include <gsub/passes/simplify/impl/value_inference.hpp>

#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::passes {

namespace detail {

// One body, in one sweep: settings that inference knows become attributes, and types that it knows better are kept.
template <class = void>
class setting_sweep {
public:
    setting_sweep(any_graph const& g, pass_context const& cx, pass_outcome& outcome)
        : g_(g), cx_(cx), outcome_(outcome), values_(g, cx) {}

    // What the body becomes, or nothing where it stays. `retype`: better types are reason enough.
    std::optional<any_graph> run(bool retype) {
        for (auto n : g_.order()) {
            if (g_.place(n) % 4096 == 0) cx_.check_stop();
            visit(n);
        }
        outcome_.matches += changed_.size() - conditions_;
        if (changed_.empty() && !(retype && values_.better())) return std::nullopt;
        return rebuilt();
    }

private:
    struct change {
        attributes_id attributes;
        std::size_t operands = 1; // the leading ones, which stay
    };

    void visit(node_id n) {
        values_.visit(n);
        if (g_.is<ops::if_else>(n)) {
            auto const condition = g_.operand(n, 0);
            if (g_.used(n) && !g_.is<ops::constant>(condition.node) && values_.integers(condition) &&
                cx_.should_rewrite())
                changed_.emplace(n.index, change{g_.attributes(n), g_.operand_count(n)}), ++conditions_;
            return;
        }
        auto const category = g_.op(n).category;
        if (g_.is<ops::constant>(n) || category == op_category::structural || category == op_category::opaque) return;
        values_.infer(n);
        if (g_.used(n)) make_static(n);
    }

    // A setting: nothing where it is not given, or not known, which is noted.
    std::optional<ints> setting(node_id n, std::size_t operand) {
        auto const v = g_.operand(n, operand);
        if (!v.valid()) return std::nullopt;
        auto values = values_.integers(v);
        ++(values ? told_ : open_);
        return values;
    }
    static void put(ints& attribute, std::optional<ints> values) {
        if (values) attribute = std::move(*values);
    }

    // An operator whose settings may be operands, and what gives its attributes where none is: nothing where no
    // attributes say so.
    struct settling {
        op_id op;
        std::optional<attributes_id> (setting_sweep::*settle)(node_id);
    };
    std::optional<attributes_id> settled(node_id n) {
        using self = setting_sweep;
        static constexpr settling table[] = {
            {id_of<ops::reshape>, &self::listed<ops::reshape, &attributes_of<ops::reshape>::shape>},
            {id_of<ops::expand>, &self::listed<ops::expand, &attributes_of<ops::expand>::shape>},
            {id_of<ops::squeeze>, &self::listed<ops::squeeze, &attributes_of<ops::squeeze>::axes>},
            {id_of<ops::unsqueeze>, &self::listed<ops::unsqueeze, &attributes_of<ops::unsqueeze>::axes>},
            {id_of<ops::split>, &self::listed<ops::split, &attributes_of<ops::split>::sizes>},
            {id_of<ops::fill>, &self::listed<ops::fill, &attributes_of<ops::fill>::shape>},
            {id_of<ops::reduce_sum>, &self::reduction<ops::reduce_sum>},
            {id_of<ops::reduce_mean>, &self::reduction<ops::reduce_mean>},
            {id_of<ops::reduce_max>, &self::reduction<ops::reduce_max>},
            {id_of<ops::slice>, &self::slicing},
            {id_of<ops::pad>, &self::padding},
        };
        for (auto const& row : table)
            if (row.op == g_.op(n).id) return (this->*row.settle)(n);
        return std::nullopt;
    }
    // The leading operands, which are no settings.
    [[nodiscard]] std::size_t data_operands(node_id n) const { return g_.is<ops::fill>(n) ? 0 : 1; }

    // One list in an operand behind the data.
    template <class Op, auto List>
    std::optional<attributes_id> listed(node_id n) {
        auto a = g_.attributes<Op>(n);
        put(a.*List, setting(n, data_operands(n)));
        return intern<Op>(a);
    }

    std::optional<attributes_id> slicing(node_id n) {
        auto a = g_.attributes<ops::slice>(n);
        a.axes.clear(), a.steps.clear();
        put(a.starts, setting(n, 1)), put(a.ends, setting(n, 2));
        for (std::size_t i = 0; i < a.starts.size(); ++i)
            a.axes.push_back(static_cast<std::int64_t>(i)), a.steps.push_back(1);
        put(a.axes, setting(n, 3)), put(a.steps, setting(n, 4));
        return intern<ops::slice>(a);
    }

    template <class Op>
    std::optional<attributes_id> reduction(node_id n) {
        auto a = g_.attributes<Op>(n);
        auto const axes = setting(n, 1);
        if (axes && axes->empty() && a.noop_with_empty_axes) return std::nullopt; // no attribute says so
        put(a.axes, axes);
        return intern<Op>(a);
    }

    std::optional<attributes_id> padding(node_id n) {
        auto a = g_.attributes<ops::pad>(n);
        auto const pads = setting(n, 1), axes = setting(n, 3);
        if (auto const border = g_.operand(n, 2); border.valid()) {
            auto const* value = values_.elements(border);
            ++(value ? told_ : open_);
            if (value && value->elements() == 1) {
                a.value = value->converted_to(dtype::f64).template data<double>()[0];
                auto const exact = is_floating(value->element()) || std::abs(a.value) < 0x1p53;
                if (!exact) return std::nullopt;
            } else if (value && value->elements() > 1) {
                return std::nullopt;
            }
        }
        if (!pads) return intern<ops::pad>(a);
        a.pads = *pads;
        if (axes) {
            auto const& x = *values_.type_of(g_.operand(n, 0));
            if (!x.ranked || pads->size() != 2 * axes->size()) return std::nullopt;
            a.pads = ints(2 * x.rank(), 0);
            for (std::size_t i = 0; i < axes->size(); ++i) {
                auto const axis = normalized_axis((*axes)[i], x.rank());
                if (!axis) return std::nullopt;
                a.pads[*axis] = (*pads)[i];
                a.pads[x.rank() + *axis] = (*pads)[axes->size() + i];
            }
        }
        return intern<ops::pad>(a);
    }

    void make_static(node_id n) {
        auto const kept = data_operands(n);
        bool asks = false;
        for (auto i = kept; i < g_.operand_count(n); ++i) asks = asks || g_.operand(n, i).valid();
        if (!asks) return;
        told_ = open_ = 0;
        auto const attributes = settled(n);
        if (open_ > 0) return outcome_.skip(told_ > 0 ? "known in part" : "not known");
        if (told_ == 0) return; // an operator whose operands are none
        if (!attributes) return outcome_.skip("no attribute says so");
        small_vector<type_id, 2> types;
        if (kept > 0) types.push_back(values_.type_of(g_.operand(n, 0)));
        infer_context cx{g_.op(n), *attributes, types, g_.result_count(n)};
        if (auto const* k = kept > 0 ? values_.knowledge(g_.operand(n, 0)) : nullptr) cx.set_known(0, *k);
        infer(g_.operators(), g_.row(n), cx);
        bool fits = !cx.failed();
        for (std::uint32_t port = 0; port < g_.result_count(n) && fits; ++port)
            fits = compatible(cx.result_type(port), *values_.types(n)[port]);
        if (!fits) return outcome_.skip("fails when it runs");
        if (!cx_.should_rewrite()) return;
        values_.take(n, cx);
        changed_.emplace(n.index, change{*attributes, kept});
    }

    any_graph rebuilt() {
        any_graph out{g_.operators()};
        std::vector<node_id> moved(g_.capacity());
        auto const at = [&](value_id v) { return v.valid() ? value_id{moved[v.node.index], v.port} : v; };
        for (auto n : g_.inputs()) moved[n.index] = out.add_input(g_.type_of({n, 0}), g_.name({n, 0})).node;
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n) || n == g_.return_node()) continue;
            auto const found = changed_.find(n.index);
            small_vector<value_id, 6> operands;
            auto const count = found == changed_.end() ? g_.operand_count(n) : found->second.operands;
            for (std::size_t i = 0; i < count; ++i) operands.push_back(at(g_.operand(n, i)));
            if (found == changed_.end() || g_.is<ops::if_else>(n)) {
                if (found != changed_.end())
                    operands[0] = out.add_constant(tensor::scalar((*values_.integers(g_.operand(n, 0)))[0] != 0));
                moved[n.index] = clone_node(out, g_, n, operands, cloned_text::names, {values_.types(n), {}});
                continue;
            }
            auto const made = out.append_node(g_.row(n), found->second.attributes, 0, operands, values_.types(n));
            out.set_sources(made, g_.sources(n));
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                if (auto const name = g_.name({n, port}); !name.empty()) out.set_name({made, port}, name);
            moved[n.index] = made;
        }
        small_vector<value_id, 6> outputs;
        for (std::size_t i = 0; i < g_.output_count(); ++i) outputs.push_back(at(g_.output(i)));
        out.set_info(g_.info());
        auto const names = g_.info().output_names;
        out.set_outputs(outputs, names);
        out.erase_dead();
        return out;
    }

    any_graph const& g_;
    pass_context const& cx_;
    pass_outcome& outcome_;
    value_inference<> values_;
    std::unordered_map<std::uint32_t, change> changed_; // by node
    std::size_t conditions_ = 0;      // those of `changed_` that are an `If`, which counts where it is replaced
    std::size_t told_ = 0, open_ = 0; // settings of one node, known and not
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> dynamic_to_static::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        constexpr auto info = pass_info::of<dynamic_to_static>();
        pass_outcome outcome;
        std::size_t inlined = 0;
        do {
            outcome.skipped.clear(); // what stays in the end counts
            for (auto const& each : m.functions()) {
                if (opaque_to(info, each)) continue;
                auto& body = m.find(each.name)->body;
                if (auto made = detail::setting_sweep<>{body, cx, outcome}.run(types_alone || inlined > 0))
                    body = std::move(*made);
            }
            inlined = inline_known_branches(m);
            outcome.matches += inlined;
        } while (inlined > 0);
        outcome.changed = outcome.matches > 0;
        return outcome;
    });
}

} // namespace gsub::passes
