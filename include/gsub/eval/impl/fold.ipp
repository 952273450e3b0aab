#pragma once

#include <gsub/core/message.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/traversal.hpp>

namespace gsub {

GSUB_INLINE result<void> fold_constants(any_graph& g, std::span<eval_row const> table, fold_options const& options) {
    // Values where the constant part ends. A tensor of unknown size cannot be constant, but for operators of the
    // user's.
    std::vector<value_id> frontier;
    std::uint64_t total = 0;
    for (auto n : g.order()) {
        auto const stored_anew = g.is<ops::layout_transform>(n) && g.is<ops::constant>(g.operand(n, 0).node);
        if (!g.constant(n) || g.is<ops::constant>(n) || stored_anew || (g.is<ops::fill>(n) && g.operand_count(n) == 0))
            continue;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            value_id const v{n, port};
            bool read = false;
            g.for_each_use(v, [&](use u) { read |= !g.constant(u.user); });
            if (!read) continue;
            frontier.push_back(v);
            if (auto const count = g.type(v).elements())
                total += static_cast<std::uint64_t>(*count) * byte_size(g.type(v).element);
        }
    }
    if (frontier.empty()) return {};
    if (total > options.max_weight_bytes)
        return error{
            problem{error_code::unsupported,
                    {},
                    {},
                    message({"folded weights take ", total, " bytes; the limit is ", options.max_weight_bytes}),
                    "raise max_weight_bytes"}};
    std::vector<node_id> roots;
    for (auto v : frontier) roots.push_back(v.node);
    auto const needed = upstream(g, roots);
    std::vector<node_id> nodes;
    for (auto n : g.order())
        if (needed[n.index] && !g.is<ops::constant>(n)) nodes.push_back(n);
    auto part = extract(g, nodes);
    // Some results of the part are read by constant nodes only; ask for the frontier alone, in order.
    std::vector<value_id> outputs;
    for (auto v : frontier)
        for (std::size_t i = 0; i < part.results.size(); ++i)
            if (part.results[i] == v) outputs.push_back(part.graph.output(i));
    part.graph.set_outputs(outputs);
    part.graph.erase_dead();
    auto values = evaluate_graph(part.graph, table, {},
                                 {.compute = precision::f64, .threads = options.threads, .round_outputs = true});
    if (!values) return values.error().within("folding constants");
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    for (std::size_t i = 0; i < frontier.size(); ++i) {
        auto const stored = g.type(frontier[i]).arrangement; // constants are row-major
        auto folded = g.add_constant(std::move((*values)[i]));
        if (!stored.empty()) folded = g.add<ops::layout_transform>({.to = std::string{stored.text()}}, {folded});
        g.inherit_sources(folded.node, {&frontier[i].node, 1});
        g.replace_uses(frontier[i], folded);
    }
    GSUB_ASSERT(g.restore_order(first_new), "replacing constants cannot close a cycle");
    g.erase_dead();
    return {};
}

} // namespace gsub
