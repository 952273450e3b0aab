#pragma once

#include <gsub/eval/fold.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/simplify/dynamic_to_static.hpp>

#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::passes {

namespace detail {

// One body, in one sweep: types inferred anew, elements of small tensors followed, settings made attributes.
template <class = void>
class setting_sweep {
public:
    setting_sweep(any_graph const& g, pass_context const& cx, pass_outcome& outcome)
        : g_(g),
          cx_(cx),
          table_(evaluators_of(cx, g)),
          outcome_(outcome),
          types_(g.capacity()),
          derivable_(g.capacity(), false) {}

    // What the body becomes, or nothing where it stays. `retype`: better types are reason enough.
    std::optional<any_graph> run(bool retype) {
        for (auto n : g_.order()) {
            if (g_.place(n) % 4096 == 0) cx_.check_stop();
            visit(n);
        }
        outcome_.matches += changed_.size() - conditions_;
        if (changed_.empty() && !(retype && better_)) return std::nullopt;
        return rebuilt();
    }

private:
    struct change {
        attributes_id attributes;
        std::size_t operands = 1; // the leading ones, which stay
    };

    void visit(node_id n) {
        auto& types = types_[n.index];
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) types.push_back(g_.type_of({n, port}));
        auto const category = g_.op(n).category;
        if (g_.is<ops::constant>(n)) {
            derivable_[n.index] = true;
            if (auto k = knowledge_of(g_.constant_data(n))) known_[n.index] = std::move(*k);
            return;
        }
        if (g_.is<ops::if_else>(n)) {
            auto const condition = g_.operand(n, 0);
            if (g_.used(n) && !g_.is<ops::constant>(condition.node) && integers(condition) && cx_.should_rewrite())
                changed_.emplace(n.index, change{g_.attributes(n), g_.operand_count(n)}), ++conditions_;
            return;
        }
        if (category == op_category::structural || category == op_category::opaque) return;
        infer_results(n);
        if (g_.used(n)) make_static(n);
    }

    // Types and known elements of a node, as far as its operands' tell them.
    void infer_results(node_id n) {
        auto const operands = g_.operands(n);
        small_vector<type_id, 6> types;
        bool derivable = g_.result_count(n) == 1 && computable(n);
        for (auto v : operands) {
            types.push_back(v.valid() ? type_of(v) : type_id{});
            derivable = derivable && (!v.valid() || derivable_[v.node.index]);
        }
        infer_context cx{g_.op(n), g_.attributes(n), types, g_.result_count(n)};
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (!operands[i].valid())
                cx.set_absent(i);
            else if (auto const* k = knowledge(operands[i]))
                cx.set_known(i, *k);
        }
        infer(g_.operators(), g_.row(n), cx);
        derivable_[n.index] = derivable;
        if (cx.failed()) return; // it fails when it runs
        take_types(n, cx);
        if (!cx.result_known()) return;
        known_[n.index] = *cx.result_known();
        derivable_[n.index] = derivable || all_fixed(*cx.result_known());
    }

    void take_types(node_id n, infer_context const& cx) {
        auto& types = types_[n.index];
        for (std::uint32_t port = 0; port < types.size(); ++port) {
            if (!compatible(cx.result_type(port), *types[port])) continue;
            type_id const joined{unify(*types[port], cx.result_type(port))};
            better_ = better_ || !(joined == types[port]);
            types[port] = joined;
        }
    }

    [[nodiscard]] bool computable(node_id n) const {
        auto const row = g_.row(n);
        return table_[row].move || table_[row].run || g_.operators().infer[row].build;
    }
    [[nodiscard]] type_id type_of(value_id v) const { return types_[v.node.index][v.port]; }
    [[nodiscard]] static bool all_fixed(tensor_knowledge const& k) {
        for (auto const& e : k)
            if (!e.fixed) return false;
        return true;
    }
    [[nodiscard]] tensor_knowledge const* knowledge(value_id v) const {
        auto const found = v.port == 0 ? known_.find(v.node.index) : known_.end();
        return found == known_.end() ? nullptr : &found->second;
    }

    // The elements of a value, where nothing but constants and known dimensions tell them.
    tensor const* elements(value_id v) {
        if (!v.valid() || v.port != 0 || !derivable_[v.node.index]) return nullptr;
        if (g_.is<ops::constant>(v.node)) return &g_.constant_data(v.node);
        if (auto const found = computed_.find(v.node.index); found != computed_.end())
            return found->second ? &*found->second : nullptr;
        auto& mine = computed_[v.node.index];
        if (auto const* k = knowledge(v); k && all_fixed(*k) && type_of(v)->is_static()) {
            ints values;
            for (auto const& e : *k) values.push_back(e.value);
            auto const dims = type_of(v)->sizes();
            mine = tensor::from<std::int64_t>(ints(dims.begin(), dims.end()), values).converted_to(type_of(v)->element);
            return &*mine;
        }
        compute(v);
        auto const& now = computed_[v.node.index];
        return now ? &*now : nullptr;
    }

    // Computes a value with all that it is made of; what is small is remembered.
    void compute(value_id v) {
        any_graph part{g_.operators()};
        std::unordered_map<std::uint32_t, value_id> inside;
        std::vector<std::pair<node_id, std::size_t>> stack{{v.node, 0}};
        std::vector<node_id> small;
        std::vector<value_id> outputs;
        while (!stack.empty()) {
            auto& [n, next] = stack.back();
            if (next < g_.operand_count(n)) {
                auto const below = g_.operand(n, next++);
                if (!below.valid() || inside.contains(below.node.index)) continue;
                auto const* leaf = known_elements(below);
                if (leaf)
                    inside[below.node.index] = part.add_constant(*leaf);
                else
                    stack.emplace_back(below.node, 0);
                continue;
            }
            small_vector<value_id, 6> operands;
            for (auto o : g_.operands(n)) operands.push_back(o.valid() ? inside.at(o.node.index) : o);
            type_id const types[] = {types_[n.index][0]};
            value_id const made{clone_node(part, g_, n, operands, cloned_text::sources, {types, {}}), 0};
            inside[n.index] = made;
            auto const count = types[0]->elements();
            if (n == v.node || (count && *count <= static_cast<std::int64_t>(max_known_elements))) {
                small.push_back(n);
                outputs.push_back(made);
            }
            stack.pop_back();
        }
        part.set_outputs(outputs);
        constexpr std::uint64_t limit = std::uint64_t{1} << 20;
        auto found = evaluate_graph(part, table_, {}, {.threads = cx_.threads, .max_bytes = limit});
        if (!found) return; // it fails when it runs, or is no matter of settings
        for (std::size_t i = 0; i < small.size(); ++i) computed_[small[i].index] = std::move((*found)[i]);
    }
    // Those of a leaf of a computation.
    tensor const* known_elements(value_id v) {
        if (g_.is<ops::constant>(v.node)) return &g_.constant_data(v.node);
        auto const found = computed_.find(v.node.index);
        if (found != computed_.end() && found->second) return &*found->second;
        auto const* k = knowledge(v);
        return k && all_fixed(*k) && type_of(v)->is_static() ? elements(v) : nullptr;
    }

    std::optional<ints> integers(value_id v) {
        if (auto const* k = knowledge(v); k && all_fixed(*k)) {
            ints values;
            for (auto const& e : *k) values.push_back(e.value);
            return values;
        }
        auto const* t = elements(v);
        if (!t || (!is_integer(t->element()) && t->element() != dtype::boolean) || t->rank() > 1) return std::nullopt;
        return t->to_ints();
    }

    // A setting: nothing where it is not given, or not known, which is noted.
    std::optional<ints> setting(node_id n, std::size_t operand) {
        auto const v = g_.operand(n, operand);
        if (!v.valid()) return std::nullopt;
        auto values = integers(v);
        ++(values ? told_ : open_);
        return values;
    }
    static void put(ints& attribute, std::optional<ints> values) {
        if (values) attribute = std::move(*values);
    }

    // Attributes of the form that reads no setting from an operand; nothing where there is none.
    std::optional<attributes_id> settled(node_id n) {
        auto const with_list = [&]<class Op>(ints attributes_of<Op>::*list, std::size_t operand) {
            auto a = g_.attributes<Op>(n);
            put(a.*list, setting(n, operand));
            return intern<Op>(a);
        };
        if (g_.is<ops::reshape>(n))
            return with_list.template operator()<ops::reshape>(&attributes_of<ops::reshape>::shape, 1);
        if (g_.is<ops::expand>(n))
            return with_list.template operator()<ops::expand>(&attributes_of<ops::expand>::shape, 1);
        if (g_.is<ops::squeeze>(n))
            return with_list.template operator()<ops::squeeze>(&attributes_of<ops::squeeze>::axes, 1);
        if (g_.is<ops::unsqueeze>(n))
            return with_list.template operator()<ops::unsqueeze>(&attributes_of<ops::unsqueeze>::axes, 1);
        if (g_.is<ops::split>(n))
            return with_list.template operator()<ops::split>(&attributes_of<ops::split>::sizes, 1);
        if (g_.is<ops::fill>(n)) return with_list.template operator()<ops::fill>(&attributes_of<ops::fill>::shape, 0);
        if (g_.is<ops::reduce_sum>(n)) return reduction<ops::reduce_sum>(n);
        if (g_.is<ops::reduce_mean>(n)) return reduction<ops::reduce_mean>(n);
        if (g_.is<ops::reduce_max>(n)) return reduction<ops::reduce_max>(n);
        if (g_.is<ops::slice>(n)) {
            auto a = g_.attributes<ops::slice>(n);
            a.axes.clear(), a.steps.clear();
            put(a.starts, setting(n, 1)), put(a.ends, setting(n, 2));
            for (std::size_t i = 0; i < a.starts.size(); ++i)
                a.axes.push_back(static_cast<std::int64_t>(i)), a.steps.push_back(1);
            put(a.axes, setting(n, 3)), put(a.steps, setting(n, 4));
            return intern<ops::slice>(a);
        }
        if (g_.is<ops::pad>(n)) return padding(n);
        return std::nullopt;
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
            auto const* value = elements(border);
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
            auto const& x = *type_of(g_.operand(n, 0));
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
        std::size_t const kept = g_.is<ops::fill>(n) ? 0 : 1;
        bool asks = false;
        for (auto i = kept; i < g_.operand_count(n); ++i) asks = asks || g_.operand(n, i).valid();
        if (!asks) return;
        told_ = open_ = 0;
        auto const attributes = settled(n);
        if (open_ > 0) return outcome_.skip(told_ > 0 ? "known in part" : "not known");
        if (told_ == 0) return; // an operator whose operands are none
        if (!attributes) return outcome_.skip("no attribute says so");
        small_vector<type_id, 2> types;
        if (kept > 0) types.push_back(type_of(g_.operand(n, 0)));
        infer_context cx{g_.op(n), *attributes, types, g_.result_count(n)};
        if (auto const* k = kept > 0 ? knowledge(g_.operand(n, 0)) : nullptr) cx.set_known(0, *k);
        infer(g_.operators(), g_.row(n), cx);
        bool fits = !cx.failed();
        for (std::uint32_t port = 0; port < g_.result_count(n) && fits; ++port)
            fits = compatible(cx.result_type(port), *types_[n.index][port]);
        if (!fits) return outcome_.skip("fails when it runs");
        if (!cx_.should_rewrite()) return;
        take_types(n, cx);
        if (cx.result_known()) {
            known_[n.index] = *cx.result_known();
            derivable_[n.index] = derivable_[n.index] || all_fixed(*cx.result_known());
        }
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
                    operands[0] = out.add_constant(tensor::scalar((*integers(g_.operand(n, 0)))[0] != 0));
                moved[n.index] = clone_node(out, g_, n, operands, cloned_text::names, {types_[n.index], {}});
                continue;
            }
            auto const made = out.append_node(g_.row(n), found->second.attributes, 0, operands, types_[n.index]);
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
    eval_table table_;
    pass_outcome& outcome_;
    std::vector<small_vector<type_id, 1>> types_;                       // by node: of its results, inferred anew
    std::unordered_map<std::uint32_t, tensor_knowledge> known_;         // by node: elements of result 0
    std::vector<bool> derivable_;                                       // by node: from constants and dimensions alone
    std::unordered_map<std::uint32_t, std::optional<tensor>> computed_; // by node: where asked for; none: it fails
    std::unordered_map<std::uint32_t, change> changed_;                 // by node
    std::size_t conditions_ = 0;      // those of `changed_` that are an `If`, which counts where it is replaced
    std::size_t told_ = 0, open_ = 0; // settings of one node, known and not
    bool better_ = false;             // whether a type says more than before
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
                if (auto made = detail::setting_sweep<>{body, cx, outcome}.run(inlined > 0)) body = std::move(*made);
            }
            inlined = inline_known_branches(m);
            outcome.matches += inlined;
        } while (inlined > 0);
        outcome.changed = outcome.matches > 0;
        return outcome;
    });
}

} // namespace gsub::passes
