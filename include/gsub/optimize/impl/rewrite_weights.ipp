#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/optimize/rewrite_weights.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gsub {

namespace detail {

/// A constant operand, before its elements are known.
struct weight_place {
    node_id reader;
    std::size_t operand;
    value_id value;
};

// Constant operands of those nodes that compute on data.
GSUB_LAZY std::vector<weight_place> weight_places(any_graph const& g, std::vector<node_id> nodes) {
    std::sort(nodes.begin(), nodes.end(), [&](node_id a, node_id b) { return g.place(a) < g.place(b); });
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::vector<weight_place> out;
    for (auto n : nodes) {
        if (n == g.return_node() || g.constant(n)) continue;
        for (std::size_t i = 0; i < g.operand_count(n); ++i)
            if (auto const v = g.operand(n, i); v.valid() && g.constant(v)) out.push_back({n, i, v});
    }
    return out;
}

// `Concat("a", Pad("b"))`, down to a few operators deep.
GSUB_LAZY std::string formula_of(any_graph const& g, value_id v, int depth = 0) {
    constexpr auto deepest = 6;
    if (!v.valid()) return "-";
    if (g.is<ops::constant>(v.node)) return in_quotes(g.name(v).empty() ? g.display_name(v.node) : g.name(v));
    if (g.operand_count(v.node) == 0) return std::string{g.op(v.node).name};
    if (depth == deepest) return "...";
    auto text = format_text("{}(", g.op(v.node).name);
    for (std::size_t i = 0; i < g.operand_count(v.node); ++i)
        text += format_text("{}{}", i ? ", " : "", formula_of(g, g.operand(v.node, i), depth + 1));
    return text + ")";
}

// The places with the elements that stand there.
GSUB_LAZY std::vector<operand_weight> computed_weights(any_graph const& g, std::vector<weight_place> const& places,
                                                       eval_table evaluators) {
    std::vector<value_id> arithmetic;
    for (auto const& p : places)
        if (!g.is<ops::constant>(p.value.node) && std::ranges::find(arithmetic, p.value) == arithmetic.end())
            arithmetic.push_back(p.value);
    std::vector<tensor> elements;
    if (!arithmetic.empty())
        elements =
            compute_constants(g, evaluators, arithmetic, {.compute = precision::f64, .round_outputs = true}).value();
    std::vector<operand_weight> out;
    for (auto const& p : places) {
        auto const at = static_cast<std::size_t>(std::ranges::find(arithmetic, p.value) - arithmetic.begin());
        out.push_back({g.op(p.reader).name, g.display_name(p.reader), p.operand, formula_of(g, p.value),
                       at < elements.size() ? elements[at] : g.constant_data(p.value.node)});
    }
    return out;
}

GSUB_LAZY std::uint64_t bytes_of(any_graph const& g, std::vector<weight_place> const& places) {
    std::uint64_t total = 0;
    for (auto const& p : places)
        if (auto const count = g.type(p.value).elements())
            total += static_cast<std::uint64_t>(*count) * byte_size(g.type(p.value).element);
    return total;
}

} // namespace detail

GSUB_LAZY_BODY result<rewrite_weights> weights_of(any_graph const& before, any_graph const& after,
                                                  eval_table evaluators, std::uint64_t max_bytes) {
    return capture([&] {
        auto const& changes = after.changes();
        std::vector<node_id> gone, made;
        std::ranges::copy_if(changes.erased, std::back_inserter(gone), [&](node_id n) { return before.live(n); });
        for (auto const* list : {&changes.added, &changes.rewired})
            std::ranges::copy_if(*list, std::back_inserter(made), [&](node_id n) { return after.live(n); });
        auto const read = detail::weight_places(before, std::move(gone));
        auto built = detail::weight_places(after, std::move(made));
        // What was there before is no new weight.
        std::erase_if(built, [&](detail::weight_place const& p) { return before.live(p.value.node); });
        auto const total = detail::bytes_of(before, read) + detail::bytes_of(after, built);
        if (total > max_bytes)
            throw error{problem{errors::rewrite_weights,
                                {},
                                {},
                                format_text("the weights of a rewrite take {} bytes; {} are allowed", total, max_bytes),
                                "raise max_weight_bytes"}};
        return rewrite_weights{detail::computed_weights(before, read, evaluators),
                               detail::computed_weights(after, built, evaluators)};
    });
}

} // namespace gsub
