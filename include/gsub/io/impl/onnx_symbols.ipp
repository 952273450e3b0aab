#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_symbols.hpp>

namespace gsub::io::detail {

template <class T>
void onnx_symbols<T>::collect() {
    auto const& g = graph_;
    captures_.resize(g.nodes.size());
    for (std::uint32_t i = 0; i < g.initializers.size(); ++i)
        if (!initializers_.emplace(g.initializers[i].name, i).second)
            diagnostics_.wrong(errors::names_in_model, g.initializers[i].name, {}, "two initializers have this name");
    for (auto const* list : {&g.outputs, &g.values})
        for (auto const& v : *list)
            if (!v.type.empty()) declared_.emplace(v.name, &v);
    for (auto const* list : {&g.inputs, &g.outputs})
        for (auto const& v : *list)
            if (v.name.empty()) diagnostics_.wrong(errors::names_in_model, {}, {}, "an input or output has no name");
    std::unordered_set<std::string_view> inputs;
    for (auto const& v : g.inputs)
        if (!inputs.insert(v.name).second)
            diagnostics_.wrong(errors::names_in_model, v.name, {}, "two inputs have this name");
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i)
        for (auto name : g.nodes[i].outputs) {
            if (name.empty()) continue;
            if (inputs.contains(name) || initializers_.contains(name) || !producers_.emplace(name, i).second)
                diagnostics_.wrong(errors::names_in_model, label(i), g.nodes[i].op_type,
                                   format_text("value {} is made more than once", quoted{name}));
        }
    // Inputs with an initializer are weights with a default; the default stands.
    for (auto const& v : g.inputs)
        if (!initializers_.contains(v.name)) signature_.push_back(&v), outside_.insert(v.name);
}

template <class T>
std::string_view onnx_symbols<T>::label(std::uint32_t node) const {
    auto const& n = graph_.nodes[node];
    for (auto name : n.outputs)
        if (n.name.empty() && !name.empty()) return name;
    return n.name;
}

template <class T>
onnx_tensor const* onnx_symbols<T>::initializer(std::string_view name) const {
    auto const found = initializers_.find(name);
    return found == initializers_.end() ? nullptr : &graph_.initializers[found->second];
}

template <class T>
onnx_value const* onnx_symbols<T>::declaration(std::string_view name) const {
    auto const found = declared_.find(name);
    return found == declared_.end() ? nullptr : found->second;
}

template <class T>
bool onnx_symbols<T>::exists(std::string_view name) const {
    return producers_.contains(name) || initializers_.contains(name) || outside_.contains(name);
}

// Values that a node reads: its inputs, then what its subgraphs capture. Asked once a node.
template <class T>
std::vector<std::string_view> onnx_symbols<T>::reads(std::uint32_t node) {
    auto const& n = graph_.nodes[node];
    auto names = n.inputs;
    bool has_graphs = false;
    for (auto const& a : n.attributes)
        has_graphs |= a.type == onnx_attribute_type::graph || a.type == onnx_attribute_type::graphs;
    for (auto name : names) read_.insert(name);
    if (!has_graphs) return names;
    auto& captured = captures_[node];
    try {
        for (auto name : captured_names(n, limits_)) {
            if (exists(name))
                captured.push_back(name);
            else
                diagnostics_.wrong(errors::names_in_model, label(node), n.op_type,
                                   format_text("a subgraph reads value {}, which does not exist", quoted{name}));
        }
    } catch (error const& e) {
        for (auto const& p : e.problems()) diagnostics_.wrong(p.id, label(node), n.op_type, p.reason, p.hint);
    }
    for (auto name : captured) read_.insert(name);
    append(names, captured);
    return names;
}

// An order that the file's own order has no part in. Every node is visited, so that faults are found in dead ones
// too; those come last and are dropped.
template <class T>
void onnx_symbols<T>::sort() {
    auto const& g = graph_;
    for (auto const& v : g.outputs) read_.insert(v.name);
    enum class mark : std::uint8_t { fresh, open, done };
    std::vector<mark> marks(g.nodes.size(), mark::fresh);
    struct frame {
        std::uint32_t node;
        std::vector<std::string_view> names;
        std::size_t next = 0;
    };
    std::vector<frame> stack;
    std::vector<std::uint32_t> sorted;
    auto const visit = [&](std::uint32_t root) {
        if (marks[root] != mark::fresh) return;
        marks[root] = mark::open;
        stack.push_back({root, reads(root)});
        while (!stack.empty()) {
            auto& top = stack.back();
            if (top.next == top.names.size()) {
                marks[top.node] = mark::done;
                sorted.push_back(top.node);
                stack.pop_back();
                continue;
            }
            auto const name = top.names[top.next++];
            if (name.empty()) continue;
            auto const made = producers_.find(name);
            if (made == producers_.end()) {
                if (!exists(name))
                    diagnostics_.wrong(errors::names_in_model, label(top.node), g.nodes[top.node].op_type,
                                       format_text("input {} does not exist", quoted{name}));
                continue;
            }
            if (marks[made->second] == mark::open) {
                diagnostics_.wrong(errors::names_in_model, label(top.node), g.nodes[top.node].op_type,
                                   format_text("input {} depends on the node itself", quoted{name}));
                for (auto const& f : stack) marks[f.node] = mark::done; // one report a cycle
                return stack.clear();
            }
            if (marks[made->second] == mark::fresh) {
                marks[made->second] = mark::open;
                auto const next = made->second;
                stack.push_back({next, reads(next)});
            }
        }
    };
    for (auto const& v : g.outputs)
        if (auto const made = producers_.find(v.name); made != producers_.end())
            visit(made->second);
        else if (!exists(v.name))
            diagnostics_.wrong(errors::names_in_model, v.name, {}, "the graph's output does not exist");
    order_ = sorted;
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) visit(i);
    if (sorted.size() > order_.size())
        diagnostics_.note(format_text("{} nodes lead to no output and are left out", sorted.size() - order_.size()));
}

} // namespace gsub::io::detail
