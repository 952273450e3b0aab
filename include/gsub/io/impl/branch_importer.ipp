#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/branch_importer.hpp>
#include <gsub/io/impl/not_supported.hpp>
#include <gsub/io/impl/onnx_importer.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/protobuf.hpp>
#include <gsub/ir/graph_cloner.hpp>

#include <memory>

namespace gsub::io::detail {

GSUB_INLINE imported_node node_of_values(graph_builder& builder, std::span<value_id const> values) {
    imported_node made{values.empty() ? builder.constant(tensor::scalar(false)) : values[0]};
    for (auto v : values) made.given.push_back(v);
    return made;
}

GSUB_INLINE onnx_model model_of_subgraph(onnx_model const& around, std::string_view graph) {
    onnx_model part;
    part.ir_version = around.ir_version;
    part.opsets = around.opsets;
    part.graph = parse_onnx_graph(graph);
    part.has_graph = true;
    part.file = around.file;
    part.memory = around.memory;
    return part;
}

GSUB_INLINE error within_subgraph(error const& e, std::string_view where) {
    auto problems = std::vector<problem>(e.problems().begin(), e.problems().end());
    for (auto& p : problems)
        p.reason = format_text("in {}, {}{}{}: {}", where, p.op, p.op.empty() ? "" : " ", quoted{p.node}, p.reason);
    return error{std::move(problems)};
}

template <class T>
imported_node branch_importer<T>::import(std::uint32_t node, std::vector<value_id> const& operands,
                                         std::size_t results) {
    auto const& n = task_.model.graph.nodes[node];
    auto const fail = [](std::string text) { throw error{problem{errors::invalid_node, {}, {}, std::move(text), {}}}; };
    if (operands.size() != 1 || n.inputs.size() != 1)
        fail(format_text("{} operands; it takes a condition", n.inputs.size()));
    std::string_view branches[2]; // else, then
    for (auto const& a : n.attributes)
        for (wire_reader r{a.message}; r.next();)
            if (r.field() == 6 && r.is_bytes() && (a.name == "then_branch" || a.name == "else_branch"))
                branches[a.name == "then_branch"] = r.bytes();
    if (branches[0].data() == nullptr || branches[1].data() == nullptr) fail("a branch is missing");
    if (auto const condition = values_.known_truth(operands[0])) {
        auto const values = insert(import_branch(node, branches[*condition]));
        if (values.size() != results) fail(format_text("{} results; the branch gives {}", results, values.size()));
        return node_of_values(values_.builder(), as_span(values));
    }
    auto* const functions = task_.functions;
    if (!functions || !find_row(task_.operators.ops, {}, "If"))
        return {.reason = problem{functions ? errors::unknown_operator : errors::operator_form,
                                  {},
                                  {},
                                  functions ? std::string{ops::not_known}
                                            : "which branch it takes is not known, and a graph has no functions",
                                  functions ? "" : "load_onnx_module gives a module"},
                .types = common_types(branches[0], branches[1])};
    std::vector<value_id> passed; // the same for both
    std::string names[2];
    for (int which : {1, 0}) {
        auto branch = import_branch(node, branches[which]);
        if (branch.body.output_count() != results)
            fail(format_text("{} results; a branch gives {}", results, branch.body.output_count()));
        names[which] = add_function(format_text("{}{}", symbols_.label(node), which ? ".then_branch" : ".else_branch"),
                                    std::move(branch.body));
        passed = std::move(branch.passed);
    }
    return {.made = {add_if(values_.graph(), *functions, operands[0], names[1], names[0], passed), 0}};
}

// What two branches declare alike of each of their results.
template <class T>
std::vector<type_id> branch_importer<T>::common_types(std::string_view first, std::string_view second) const {
    auto const one = parse_onnx_graph(first), other = parse_onnx_graph(second);
    std::vector<type_id> types;
    for (std::size_t i = 0; i < std::min(one.outputs.size(), other.outputs.size()); ++i) {
        auto a = values_.type_of(one.outputs[i]);
        auto const b = values_.type_of(other.outputs[i]);
        if (a.element != b.element) a = {};
        if (!a.ranked || !b.ranked || a.rank() != b.rank()) a.ranked = false, a.dims.clear();
        for (std::size_t d = 0; a.ranked && d < a.rank(); ++d)
            if (a.dims[d] != b.dims[d]) a.dims[d] = dim{};
        types.emplace_back(a);
    }
    return types;
}

// Adds a function under a name like this one that is free.
template <class T>
std::string branch_importer<T>::add_function(std::string name, any_graph body) {
    auto& functions = *task_.functions;
    auto const most = task_.options.limits.max_functions;
    while (functions.find(name)) name = format_text("{}_{}", name, functions.functions().size());
    if (functions.functions().size() >= most) {
        problem too_many{errors::model_limit, {}, {}, format_text("more than {} functions", most), {}};
        if (task_.in_loop) throw not_supported{std::move(too_many)}; // the loop can stay as it is
        throw error{std::move(too_many)};
    }
    functions.add(name, std::move(body));
    return name;
}

template <class T>
imported_branch branch_importer<T>::import_branch(std::uint32_t node, std::string_view graph) {
    // On the heap: branches nest.
    auto const made = std::make_unique<onnx_model>(model_of_subgraph(task_.model, graph));
    auto& part = *made;
    if (!part.graph.inputs.empty())
        throw error{problem{errors::invalid_node, {}, {}, "a branch has inputs; it takes none", {}}};
    std::vector<value_id> passed;
    std::vector<captured_value> captured;
    for (auto name : symbols_.captured(node)) {
        auto const v = values_.value(name);
        if (!v.valid()) continue; // already a problem
        captured.push_back(values_.captured(name, v));
        if (!captured.back().known) passed.push_back(v);
    }
    auto const inner = std::make_unique<onnx_importer<>>(import_task{part, task_.path, task_.operators, task_.table,
                                                                     task_.options, task_.functions, task_.budget,
                                                                     task_.constant_budget, task_.in_loop});
    try {
        auto body = inner->run_branch(as_span(captured));
        for (auto const& f : inner->foreign()) values_.foreign().insert(f);
        return {std::move(body), std::move(passed)};
    } catch (error const& e) { throw within_subgraph(e, "a branch"); }
}

// The nodes of a branch, applied to values of this graph; gives its outputs.
template <class T>
std::vector<value_id> branch_importer<T>::insert(imported_branch const& branch) {
    auto const& body = branch.body;
    auto& g = values_.graph();
    auto& builder = values_.builder();
    graph_cloner copies{body, g};
    for (std::size_t k = 0; k < branch.passed.size(); ++k) copies.stand({body.inputs()[k], 0}, branch.passed[k]);
    for (auto n : body.order()) {
        if (n == body.return_node() || body.is<ops::input>(n)) continue;
        if (body.is<ops::opaque>(n) || body.is<ops::if_else>(n)) {
            copies.clone(n);
            continue;
        }
        auto const operands = copies.operands(n);
        auto const results = body.result_count(n);
        auto const made =
            body.is<ops::constant>(n)
                ? builder.constant(body.constant_data(n))
                : values_.folded(builder.emit(body.row(n), body.attributes(n), operands, results), results);
        copies.stand(n, made.node);
        g.set_sources(made.node, body.sources(n));
        for (std::uint32_t port = 0; port < results; ++port)
            if (g.name({made.node, port}).empty()) g.set_name({made.node, port}, body.name({n, port}));
    }
    std::vector<value_id> outputs;
    for (std::size_t i = 0; i < body.output_count(); ++i) outputs.push_back(copies(body.output(i)));
    return outputs;
}

} // namespace gsub::io::detail
