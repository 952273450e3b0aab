// value_inference: types inferred anew, and the elements of small tensors, as far as constants and dimensions tell
// them.
#pragma once

#include <gsub/eval/fold.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/evaluators_of.hpp>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::passes::detail {

/// Forward analysis of one body: nodes are visited in their order.
template <class = void>
class value_inference {
public:
    value_inference(any_graph const& g, pass_context const& cx)
        : g_(g), cx_(cx), table_(evaluators_of(cx, g)), types_(g.capacity()), derivable_(g.capacity(), false) {}

    /// Begins with what the graph says of a node.
    void visit(node_id n) {
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            types_[n.index].push_back(g_.type_of({n, port}));
        if (!g_.is<ops::constant>(n)) return;
        derivable_[n.index] = true;
        if (auto k = knowledge_of(g_.constant_data(n))) known_[n.index] = std::move(*k);
    }
    /// Types and known elements of a node, as far as its operands' tell them.
    void infer(node_id n) {
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
        gsub::infer(g_.operators(), g_.row(n), cx);
        derivable_[n.index] = derivable;
        if (cx.failed()) return; // it fails when it runs
        take(n, cx);
    }
    /// Keeps what an inference of a node found, where it fits what the graph says.
    void take(node_id n, infer_context const& cx) {
        take_types(n, cx);
        if (!cx.result_known()) return;
        known_[n.index] = *cx.result_known();
        derivable_[n.index] = derivable_[n.index] || all_fixed(*cx.result_known());
    }

    /// Whether a type says more than before.
    [[nodiscard]] bool better() const noexcept { return better_; }
    [[nodiscard]] small_vector<type_id, 1> const& types(node_id n) const { return types_[n.index]; }
    [[nodiscard]] type_id type_of(value_id v) const { return types_[v.node.index][v.port]; }
    [[nodiscard]] tensor_knowledge const* knowledge(value_id v) const {
        auto const found = v.port == 0 ? known_.find(v.node.index) : known_.end();
        return found == known_.end() ? nullptr : &found->second;
    }

    /// The elements of a value, where nothing but constants and known dimensions tell them.
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
    /// The elements of an integer list; nothing for another value, or where they are not known.
    std::optional<ints> integers(value_id v) {
        auto const& type = *type_of(v);
        auto const list = !is_floating(type.element) && type.ranked && type.rank() <= 1;
        if (auto const* k = knowledge(v); list && k && all_fixed(*k)) {
            ints values;
            for (auto const& e : *k) values.push_back(e.value);
            return values;
        }
        auto const* t = elements(v);
        if (!t || (!is_integer(t->element()) && t->element() != dtype::boolean) || t->rank() > 1) return std::nullopt;
        return t->to_ints();
    }

private:
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
    [[nodiscard]] static bool all_fixed(tensor_knowledge const& k) {
        for (auto const& e : k)
            if (!e.fixed) return false;
        return true;
    }

    // Computes a value with all that it is made of; what is small is remembered.
    GSUB_LAZY void compute(value_id v) {
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

    any_graph const& g_;
    pass_context const& cx_;
    eval_table table_;
    std::vector<small_vector<type_id, 1>> types_;                       // by node: of its results, inferred anew
    std::unordered_map<std::uint32_t, tensor_knowledge> known_;         // by node: elements of result 0
    std::vector<bool> derivable_;                                       // by node: from constants and dimensions alone
    std::unordered_map<std::uint32_t, std::optional<tensor>> computed_; // by node: where asked for; none: it fails
    bool better_ = false;
};

} // namespace gsub::passes::detail
