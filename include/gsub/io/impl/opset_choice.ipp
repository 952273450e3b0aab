#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/io/impl/opaque_message.hpp>
#include <gsub/io/impl/opset_choice.hpp>
#include <gsub/io/onnx_export.hpp>

#include <algorithm>

namespace gsub::io::detail {

/// What the nodes of a model ask of ONNX's own operator set.
struct opset_needs {
    std::int64_t least = 1;
    bool bound = false; // to the version that it was imported with: something stays as it was in the file
};

GSUB_LAZY bool has_subgraph(any_graph const& g, node_id n) {
    return any_of(parse_onnx_node(opaque_message(g, n)).attributes, [](onnx_attribute const& a) {
        return a.type == onnx_attribute_type::graph || a.type == onnx_attribute_type::graphs;
    });
}

GSUB_LAZY void see_needs(opset_needs& needs, any_graph const& g, std::span<onnx_row const> table) {
    for (auto n : g.order()) {
        if (g.is<ops::opaque>(n)) {
            needs.bound |= g.attributes<ops::opaque>(n).domain.empty() || has_subgraph(g, n);
        } else if (auto const& row = table[g.row(n)];
                   row.since != 0 && (g.op(n).domain.empty() || g.op(n).domain == "gsub")) {
            needs.least =
                std::max(needs.least, row.needed_opset ? std::max(row.since, row.needed_opset(g, n)) : row.since);
        }
    }
}

// Operators of the user's own, in domains that no file has named.
GSUB_LAZY void add_domains(opset_choice& choice, any_graph const& g, std::span<onnx_row const> table) {
    for (auto n : g.order())
        if (auto const& op = g.op(n); table[g.row(n)].since != 0 && !op.domain.empty() && op.domain != "gsub" &&
                                      !any_of(choice.domains, [&](auto const& d) { return d.first == op.domain; }))
            choice.domains.emplace_back(op.domain, table[g.row(n)].since);
}

GSUB_LAZY_BODY opset_choice choose_opsets(any_graph const& g, export_task const& task) {
    std::int64_t imported = 0;
    for (auto const& [domain, version] : g.info().domains)
        if (domain.empty()) imported = version;
    opset_needs needs;
    needs.bound = !g.info().functions.empty();
    see_needs(needs, g, task.table);
    for (auto const& [name, body] : task.branches) see_needs(needs, body, task.table);
    needs.bound &= imported > 0;
    opset_choice choice;
    choice.own = task.options.opset != 0 ? task.options.opset
                 : needs.bound           ? imported
                                         : std::max({needs.least, imported, std::int64_t{13}});
    if (needs.bound && choice.own != imported)
        throw error{problem{
            errors::no_form_in_files,
            {},
            {},
            format_text(
                "operator set {} is asked for, but the model's unknown operators and functions are written in {}",
                choice.own, imported)}};
    if (choice.own < needs.least)
        throw error{
            problem{errors::no_form_in_files,
                    {},
                    {},
                    format_text("the graph needs operator set {}, it would be written in {}", needs.least, choice.own),
                    needs.bound ? "the unknown operators of the model belong to its own operator set" : ""}};
    auto& domains = choice.domains = g.info().domains;
    auto const own = std::find_if(domains.begin(), domains.end(), [](auto const& d) { return d.first.empty(); });
    if (own == domains.end())
        domains.insert(domains.begin(), {"", choice.own});
    else
        own->second = choice.own;
    add_domains(choice, g, task.table);
    for (auto const& [name, body] : task.branches) add_domains(choice, body, task.table);
    return choice;
}

} // namespace gsub::io::detail
