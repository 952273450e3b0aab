#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/not_supported.hpp>
#include <gsub/io/impl/onnx_importer.hpp>
#include <gsub/io/onnx_functions.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>

namespace gsub::io::detail {

template <class T>
onnx_importer<T>::onnx_importer(import_task const& task, graph_builder* into)
    : task_(task),
      diagnostics_(task.options),
      symbols_(task.model.graph, task.options.limits, diagnostics_),
      values_(task.model, task.path, task.operators, task.options, symbols_, diagnostics_, into),
      branches_(task_, symbols_, values_),
      loops_(task_, symbols_, values_) {}

template <class T>
any_graph onnx_importer<T>::run_branch(std::span<captured_value const> captured) {
    for (auto const& c : captured) {
        values_.make_captured(c);
        symbols_.add_outside(c.name);
    }
    return run(false);
}

template <class T>
any_graph onnx_importer<T>::run() {
    return run(true);
}

template <class T>
void onnx_importer<T>::open_body(std::span<captured_value const> captured, std::span<std::string_view const> changing) {
    for (auto const& c : captured) symbols_.add_outside(c.name);
    read_opsets();
    symbols_.collect();
    diagnostics_.give_up_if_wrong();
    symbols_.sort();
    diagnostics_.give_up_if_wrong();
    changing_.insert(changing.begin(), changing.end());
    auto const& nodes = task_.model.graph.nodes;
    auto const changed = [this](std::string_view name) { return changing_.contains(name); };
    node_changes_.resize(nodes.size());
    for (auto i : symbols_.order()) {
        if (!std::ranges::any_of(nodes[i].inputs, changed) && !std::ranges::any_of(symbols_.captured(i), changed))
            continue;
        node_changes_[i] = true;
        changing_.insert(nodes[i].outputs.begin(), nodes[i].outputs.end());
    }
    changing_.erase(std::string_view{}); // what is left out
}

template <class T>
std::vector<value_id> onnx_importer<T>::run_step(std::span<value_id const> arguments, bool first) {
    auto const& graph = task_.model.graph;
    task_.budget.spend(4 + arguments.size() + graph.outputs.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) values_.bind(graph.inputs[i], arguments[i]);
    diagnostics_.give_up_if_wrong();
    for (auto i : symbols_.order())
        if (first || node_changes_[i]) make_node(i);
    std::vector<value_id> outputs;
    for (auto const& v : graph.outputs) outputs.push_back(values_.value(v.name));
    diagnostics_.give_up_if_wrong();
    return outputs;
}

// Nodes and their operands. Constants, which are followed, cost more, and by size.
template <class T>
std::uint64_t onnx_importer<T>::cost_since(std::size_t first) {
    constexpr std::uint64_t bytes_of_one = 256;
    auto const& g = values_.graph();
    std::uint64_t cost = 0;
    for (auto k = static_cast<std::uint32_t>(first); k < g.capacity(); ++k) {
        cost += 1 + g.operand_count({k});
        if (g.is<ops::constant>({k})) cost += 3 + g.constant_data({k}).size_bytes() / bytes_of_one;
    }
    return cost;
}

template <class T>
any_graph onnx_importer<T>::run(bool main) {
    read_opsets();
    describe_graph();
    symbols_.collect();
    diagnostics_.give_up_if_wrong();
    symbols_.sort();
    diagnostics_.give_up_if_wrong();
    if (main) values_.bind_inputs();
    diagnostics_.give_up_if_wrong();
    values_.make_inputs();
    for (auto i : symbols_.order()) make_node(i);
    values_.make_outputs();
    diagnostics_.give_up_if_wrong();
    auto& g = values_.graph();
    g.erase_dead();
    g.order_canonically(); // what the file had as Constant nodes or as initializers comes out the same
    g.compact();
    report_opaque();
    return std::move(g);
}

// Version of an operator's domain, or 0.
template <class T>
std::int64_t onnx_importer<T>::opset(std::string_view domain) const {
    auto const found = opsets_.find(domain);
    return found == opsets_.end() ? 0 : task_.model.opsets[found->second].second;
}

template <class T>
void onnx_importer<T>::read_opsets() {
    auto const& model = task_.model;
    for (std::uint32_t i = 0; i < model.opsets.size(); ++i) {
        auto const& [domain, v] = model.opsets[i];
        if (opsets_.emplace(domain, i).second) continue;
        if (auto const before = opset(domain); before != v)
            diagnostics_.wrong(errors::names_in_model, {}, {},
                               format_text("versions {} and {} of operator set {}", before, v, quoted{domain}));
    }
    if (model.ir_version < 0 || model.ir_version > newest_format)
        diagnostics_.wrong(
            model.ir_version < 0 ? errors::malformed_model : errors::newer_model, {}, {},
            format_text("version {} of the format; gsub reads versions up to {}", model.ir_version, newest_format),
            "write the model with an older release of the onnx package");
    auto const version = opset({});
    if (version > newest_opset)
        diagnostics_.wrong(
            errors::newer_model, {}, {},
            format_text("operator set {} is newer than {}, the newest that gsub reads", version, newest_opset),
            format_text("convert the model with onnx.version_converter to operator set {}", newest_opset));
    for (auto const& n : model.graph.nodes)
        if (n.domain.empty() && version < 1) {
            diagnostics_.wrong(errors::malformed_model, {}, {}, "the model does not say which operator set it uses");
            break;
        }
    if (model.graph.has_sparse_initializers)
        diagnostics_.wrong(errors::operator_form, {}, {}, "sparse initializers", "store the weights densely");
    if (model.has_training) diagnostics_.note("the training graph of the model is left out");
}

// What a graph keeps of the file that it comes from.
template <class T>
void onnx_importer<T>::describe_graph() {
    auto const& model = task_.model;
    graph_info info;
    for (std::uint32_t i = 0; i < model.opsets.size(); ++i)
        if (auto const& [domain, v] = model.opsets[i]; opsets_.at(domain) == i) info.domains.emplace_back(domain, v);
    info.name = model.graph.name;
    for (auto const& [key, value] : model.metadata) info.metadata.emplace_back(key, value);
    for (auto const& f : model.functions) info.functions.emplace_back(f);
    values_.graph().set_info(std::move(info));
}

// An attribute has one value, of the node's own: references are those of functions.
template <class T>
void onnx_importer<T>::check_attributes(std::uint32_t i) {
    auto const& n = task_.model.graph.nodes[i];
    std::vector<std::string_view> names;
    for (auto const& a : n.attributes) {
        names.push_back(a.name);
        if (!a.refers_to.empty())
            diagnostics_.wrong(errors::invalid_node, symbols_.label(i), n.op_type,
                               format_text("attribute {} refers to {} of a function; the node is in none",
                                           quoted{a.name}, quoted{a.refers_to}));
    }
    std::ranges::sort(names);
    if (auto const twice = std::ranges::adjacent_find(names); twice != names.end())
        diagnostics_.wrong(errors::invalid_node, symbols_.label(i), n.op_type,
                           format_text("attribute {} is given twice", quoted{*twice}));
}

template <class T>
void onnx_importer<T>::make_node(std::uint32_t i) {
    auto const& n = task_.model.graph.nodes[i];
    if (task_.in_loop) task_.budget.spend(1 + n.message.size() / 256);
    check_attributes(i);
    auto outputs = n.outputs;
    while (outputs.size() > 1 && outputs.back().empty()) outputs.pop_back();
    std::vector<value_id> operands;
    for (auto name : n.inputs) operands.push_back(name.empty() ? value_id{} : values_.value(name));
    while (!operands.empty() && !operands.back().valid()) operands.pop_back();
    auto& g = values_.graph();
    auto const first_new = g.capacity();
    imported_node node;
    try {
        node = n.op_type == "If" && n.domain.empty() ? branches_.import(i, operands, outputs.size())
                                                     : import_node(i, operands, outputs.size());
    } catch (not_supported const& e) { node.reason = e.what; } catch (error const& e) {
        for (auto const& p : e.problems())
            diagnostics_.wrong(p.id, symbols_.label(i), format_text("{}-{}", n.op_type, opset(n.domain)), p.reason,
                               p.hint);
        type_id const unknown{}; // something to go on with
        for (auto name : outputs)
            if (!name.empty()) values_.set(name, g.add_input(unknown, {}));
        return;
    }
    if (task_.in_loop && !node.made.valid())
        throw not_supported{{node.reason->id,
                             {},
                             {},
                             format_text("in its body, {} {}: {}", shown_operator(n.domain, n.op_type),
                                         quoted{symbols_.label(i)}, node.reason->reason),
                             node.reason->hint}};
    auto const& given = node.given;
    if (!node.made.valid())
        node.made = {make_opaque(i, operands, outputs, node), 0};
    else if (given.empty() || !given[0].valid())
        node.made = values_.folded(node.made, outputs.size());
    for (std::uint32_t port = 0; port < outputs.size(); ++port) {
        if (outputs[port].empty()) continue;
        auto const other = port < given.size() ? given[port] : value_id{};
        if (!other.valid() && port >= g.result_count(node.made.node)) continue; // nothing reads it
        auto const v = other.valid() ? other : value_id{node.made.node, port};
        values_.set(outputs[port], v);
        if (v.node.index >= first_new) g.set_name(v, outputs[port]);
    }
    if (task_.in_loop && !loop_importer<>::takes(n)) task_.budget.spend(cost_since(first_new)); // loops have paid
    for (auto k = static_cast<std::uint32_t>(first_new); k < g.capacity(); ++k)
        if (g.sources({k}).empty()) g.set_source({k}, symbols_.label(i)); // those of a branch have theirs
}

// Whether the graph may hold what functions are made of.
template <class T>
bool onnx_importer<T>::has_standard_operators() {
    if (!has_standard_operators_)
        has_standard_operators_ = std::ranges::all_of(table_of<op_info, standard_ops>(), [this](op_info const& op) {
            return find_row(task_.operators.ops, op.id).has_value();
        });
    return *has_standard_operators_;
}

// The node as one of gsub's operators, or as a graph of them.
template <class T>
imported_node onnx_importer<T>::import_node(std::uint32_t i, std::vector<value_id> const& operands,
                                            std::size_t results) {
    auto const& n = task_.model.graph.nodes[i];
    auto const version = opset(n.domain);
    auto const stays_opaque = [](error_id id, std::string reason, std::string hint) {
        return imported_node{.reason = problem{id, {}, {}, std::move(reason), std::move(hint)}};
    };
    auto const row = n.op_type == "Constant" && n.domain.empty() ? std::optional{structural::constant}
                                                                 : find_row(task_.operators.ops, n.domain, n.op_type);
    auto const loop = !row && loop_importer<>::takes(n);
    auto const known = row && n.domain != "gsub" && task_.table[*row].since != 0;
    auto const* const function = known ? nullptr : find_onnx_function(n.domain, n.op_type);
    if (!known && !((function || loop) && has_standard_operators()))
        return stays_opaque(errors::unknown_operator, std::string{ops::not_known}, "gsub ops lists the operators");
    auto const since = loop ? loop_importer<>::since(n) : function ? function->since : task_.table[*row].since;
    if (version < since)
        return stays_opaque(
            errors::operator_form,
            format_text("its form in operator set {} is not supported; from {} on it is", version, since),
            "convert the model with onnx.version_converter");
    if (function && results > function->results)
        throw error{errors::invalid_node, format_text("{} results; it has {}", results, function->results)};
    onnx_import_context cx{values_.builder(),
                           n,
                           version,
                           operands,
                           results,
                           [this](std::string_view text) { return values_.read(parse_onnx_tensor(text)); },
                           [this, &n](std::size_t k) { return k < n.outputs.size() && symbols_.is_read(n.outputs[k]); },
                           task_.constant_budget};
    if (loop) return loops_.import(i, cx);
    auto const import = function ? function->import : task_.table[*row].import;
    auto const made = import ? import(cx) : cx.add_by_fields(*row);
    if (auto const extra = cx.unread_attribute())
        return stays_opaque(errors::operator_form, format_text("attribute {} is not supported", quoted{*extra}), {});
    return {.made = made, .given = cx.given()};
}

template <class T>
node_id onnx_importer<T>::make_opaque(std::uint32_t i, std::vector<value_id> operands,
                                      std::span<std::string_view const> outputs, imported_node const& made) {
    auto const& reason = *made.reason;
    auto const& n = task_.model.graph.nodes[i];
    // The node without the names that the graph itself keeps; in place of its inputs, the captured names.
    std::string blob;
    wire_writer w{blob};
    operands.resize(n.inputs.size());
    for (auto name : symbols_.captured(i)) w.bytes(1, name), operands.push_back(values_.value(name));
    for (wire_reader r{n.message}; r.next();)
        if (r.is_bytes() && (r.field() == 4 || r.field() == 5 || r.field() == 7 || r.field() == 8)) {
            auto const field = r.field();
            w.bytes(field, r.bytes());
        }
    opaque_[shown_operator(n.domain, n.op_type)].push_back(reason.reason);
    return values_.add_opaque(
        {.domain = std::string{n.domain}, .op_type = std::string{n.op_type}, .reason = reason.reason}, blob, operands,
        outputs, as_span(made.types));
}

template <class T>
void onnx_importer<T>::report_opaque() {
    for (auto const& [op, reasons] : opaque_)
        diagnostics_.note(format_text("{}{}{}{} as in the file: {}", reasons.size(),
                                      reasons.size() == 1 ? " node " : " nodes ", op,
                                      reasons.size() == 1 ? " stays" : " stay", reasons.front()));
}

} // namespace gsub::io::detail
