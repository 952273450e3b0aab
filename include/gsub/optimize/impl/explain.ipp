#pragma once

#include <gsub/core/format.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/optimize/impl/rule_explainer.ipp>

#include <algorithm>
#include <utility>

namespace gsub {

GSUB_LAZY_BODY result<rule_explanation> explain_rule(any_graph const& g, cost::any_cost const& model,
                                                     rule_program const& rule, explain_options const& o) {
    return capture([&] {
        rule_explanation out;
        out.unit = model.unit;
        auto const start = detail::search_start(g, out.canonicalized);
        out.cost = detail::checked_cost(model.of_graph(start), start, {}, model.unit);
        std::uint64_t weight_bytes = 0;
        auto const add_weights = [&](match const&, any_graph const& made, rule_place& p) {
            if (o.weights.empty()) return;
            p.weights = weights_of(start, made, o.weights, o.max_weight_bytes - weight_bytes).value();
            weight_bytes += p.weights->bytes();
        };
        detail::rule_explainer<> explainer{start, model, rule, o.max_matches_a_node, add_weights};
        if (o.node.empty()) {
            explainer.everywhere();
        } else {
            auto const named = detail::nodes_named(start, g, o.node);
            for (auto n : named) explainer.around(n);
            if (named.empty())
                explainer.places.push_back({.site = std::string{o.node},
                                            .outcome = rule_outcome::no_match,
                                            .reason = "canonicalization takes the node away before the search begins",
                                            .kind = "taken away by canonicalization"});
        }
        out.anchors = explainer.anchors;
        out.places = std::move(explainer.places);
        std::stable_sort(out.places.begin(), out.places.end(), [](rule_place const& a, rule_place const& b) {
            return a.outcome != b.outcome ? a.outcome < b.outcome : a.depth > b.depth;
        });
        return out;
    });
}

GSUB_LAZY_BODY result<rule_program const*> find_rule(std::span<rule_program const> rules, std::string_view name) {
    return capture([&]() -> rule_program const* {
        std::vector<std::string> known;
        for (auto const& r : rules) {
            if (r.name == name) return &r;
            known.emplace_back(r.name);
        }
        detail::throw_unknown("rule", name, known, "gsub rules lists them");
    });
}

} // namespace gsub
