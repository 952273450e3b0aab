#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/traversal.hpp>

#include <algorithm>
#include <map>

namespace gsub {

GSUB_INLINE result<std::vector<tensor>> compute_constants(any_graph const& g, eval_table table,
                                                          std::span<value_id const> values,
                                                          evaluate_options const& options) {
    auto needed = g;
    needed.set_outputs(values);
    needed.erase_dead();
    std::vector<node_id> nodes;
    for (auto n : needed.order())
        if (!g.is<ops::input>(n) && !g.is<ops::constant>(n) && n != g.return_node()) nodes.push_back(n);
    auto part = extract(needed, as_span(nodes));
    // The part gives them in its own order.
    std::map<value_id, value_id> inside;
    for (std::size_t i = 0; i < part.results.size(); ++i) inside.emplace(part.results[i], part.graph.output(i));
    std::vector<value_id> outputs;
    for (auto v : values) outputs.push_back(inside.at(v));
    part.graph.set_outputs(outputs);
    return evaluate_graph(part.graph, table, {}, options);
}

namespace detail {
// Whether a node is well-typed where values that it reads have the types of tensors.
GSUB_INLINE bool takes_constants(any_graph const& g, node_id n, std::map<value_id, tensor const*> const& made) {
    if (n == g.return_node() || g.op(n).category == op_category::opaque) return true;
    small_vector<type_id, 8> types;
    auto const operands = g.operands(n);
    for (auto v : operands) {
        auto const found = made.find(v);
        types.push_back(found != made.end() ? type_id{found->second->type()} : v.valid() ? g.type_of(v) : type_id{});
    }
    infer_context cx{g.op(n), g.attributes(n), types, g.result_count(n)};
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (!operands[i].valid()) cx.set_absent(i);
    infer(g.operators(), g.row(n), cx);
    return !cx.failed();
}
// Whether readers take values that have the elements given, by value: always, but where a size was open.
GSUB_INLINE std::vector<bool> taken(any_graph const& g, std::span<value_id const> values,
                                    std::span<tensor const> elements) {
    std::vector<bool> out(values.size(), true);
    if (std::ranges::all_of(values, [&](value_id v) { return g.type(v).is_static(); })) return out;
    std::map<value_id, tensor const*> made;
    for (std::size_t i = 0; i < values.size(); ++i) made.emplace(values[i], &elements[i]);
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!g.type(values[i]).is_static())
            g.for_each_use(values[i], [&](use u) { out[i] = out[i] && takes_constants(g, u.user, made); });
    return out;
}
} // namespace detail

GSUB_INLINE std::size_t replace_by_constants(any_graph& g, std::span<value_id const> values,
                                             std::vector<tensor> elements) {
    auto const first_new = static_cast<std::uint32_t>(g.capacity());
    auto const replaced = detail::taken(g, values, as_span(elements));
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!replaced[i]) continue;
        auto const stored = g.type(values[i]).layout; // constants are row-major
        auto folded = g.add_constant(std::move(elements[i]));
        if (!stored.empty()) folded = g.add<ops::layout_transform>({.to = std::string{stored.text()}}, {folded});
        g.inherit_sources(folded.node, {&values[i].node, 1});
        g.replace_uses(values[i], folded);
    }
    GSUB_ASSERT(g.restore_order(first_new), "replacing constants cannot close a cycle");
    g.erase_dead();
    return static_cast<std::size_t>(std::ranges::count(replaced, true));
}

GSUB_INLINE result<void> fold_constants(any_graph& g, eval_table table, fold_options const& options) {
    // Values where the constant part ends. A tensor of unknown size cannot be constant, but for operators of the
    // user's.
    std::vector<value_id> frontier;
    std::uint64_t total = 0;
    auto open = false; // whether a size is found by computing it
    auto const refuse = [&] {
        return error{
            problem{errors::memory_limit,
                    {},
                    {},
                    format_text("folded weights take {} bytes; the limit is {}", total, options.max_weight_bytes),
                    "raise max_weight_bytes"}};
    };
    auto const stays = [&](node_id n) {
        bool read = false;
        if (!options.dequantize && g.is<ops::dequantize>(n))
            g.for_each_use({n, 0}, [&](use u) { read |= !g.constant(u.user); });
        return read;
    };
    for (auto n : g.order()) {
        auto const stored_anew = g.is<ops::layout_transform>(n) && g.is<ops::constant>(g.operand(n, 0).node);
        if (!g.constant(n) || g.is<ops::constant>(n) || stored_anew || stays(n) ||
            (g.is<ops::fill>(n) && g.operand_count(n) == 0))
            continue;
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
            value_id const v{n, port};
            bool read = false;
            g.for_each_use(v, [&](use u) { read |= !g.constant(u.user) || stays(u.user); });
            if (!read) continue;
            frontier.push_back(v);
            if (auto const count = g.type(v).elements())
                total += static_cast<std::uint64_t>(*count) * byte_size(g.type(v).element);
            else
                open = true;
        }
    }
    if (frontier.empty()) return {};
    if (total > options.max_weight_bytes) return refuse();
    evaluate_options how{.compute = precision::f64, .threads = options.threads, .round_outputs = true};
    if (open) how.max_bytes = options.max_weight_bytes;
    auto values = compute_constants(g, table, frontier, how);
    if (!values) return values.error().within("folding constants");
    if (open) {
        total = 0;
        for (auto const& t : *values) total += t.size_bytes();
        if (total > options.max_weight_bytes) return refuse();
    }
    replace_by_constants(g, frontier, std::move(*values));
    return {};
}

} // namespace gsub
