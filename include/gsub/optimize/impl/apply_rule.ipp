#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/optimize/impl/rewrite_check.ipp>
#include <gsub/optimize/impl/rule_explainer.ipp>

#include <algorithm>
#include <optional>
#include <utility>

namespace gsub {

namespace detail {

GSUB_LAZY std::string attributes_text(any_graph const& g, node_id n) {
    auto const values = g.attributes(n).values();
    auto const defaults = g.op(n).layout.defaults();
    auto const infos = g.op(n).attributes();
    std::string out;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!same_bits(values[i], defaults[i]))
            out += format_text("{}{} = {}", out.empty() ? "" : ", ", infos[i].name, to_string(values[i]));
    return out;
}

GSUB_LAZY rewritten_node described(any_graph const& g, node_id n) {
    rewritten_node out{g.op(n).name, g.display_name(n), {}, attributes_text(g, n), {}};
    for (auto v : g.operands(n))
        out.operands.push_back(!v.valid()                 ? ""
                               : g.constant(v)            ? to_string(g.type(v))
                               : g.is<ops::input>(v.node) ? in_quotes(g.name(v))
                               : g.result_count(v.node) > 1
                                   ? format_text("{}:{}", quoted{g.display_name(v.node)}, v.port)
                                   : in_quotes(g.display_name(v.node)));
    while (!out.operands.empty() && out.operands.back().empty()) out.operands.pop_back();
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        out.type += format_text("{}{}", port ? ", " : "", to_string(g.type({n, port})));
    return out;
}

// Those of the nodes that are live and compute on data, in the graph's order.
GSUB_LAZY std::vector<rewritten_node> described(any_graph const& g, std::vector<node_id> nodes) {
    std::erase_if(nodes, [&](node_id n) { return !g.live(n) || g.constant(n) || n == g.return_node(); });
    std::sort(nodes.begin(), nodes.end(), [&](node_id a, node_id b) { return g.place(a) < g.place(b); });
    std::vector<rewritten_node> out;
    for (auto n : nodes) out.push_back(described(g, n));
    return out;
}

// The rule has no place at the node, or none where it can be applied: the error says why at the best of them.
GSUB_LAZY [[noreturn]] void throw_inapplicable(rule_at const& what, std::vector<rule_place> places) {
    std::stable_sort(places.begin(), places.end(), [](rule_place const& a, rule_place const& b) {
        return a.outcome != b.outcome ? a.outcome < b.outcome : a.depth > b.depth;
    });
    auto const why = places.empty() ? std::string{"canonicalization takes the node away"}
                                    : format_text("{}: {}", to_string(places[0].outcome), places[0].reason);
    throw error{problem{errors::rule_does_not_apply,
                        what.node,
                        {},
                        format_text("{} does not apply: {}", what.rule->name, why),
                        format_text("gsub explain --rule {}, which tells where it applies", what.rule->name)}};
}

/// Makes one rewrite after another in a graph.
template <class = void>
class rule_applier {
public:
    rule_applier(any_graph const& given, any_graph start, cost::any_cost const& model, rewrite_checker<>* checker)
        : given_(given), graph_(std::move(start)), model_(model), checker_(checker) {}

    [[nodiscard]] any_graph& graph() noexcept { return graph_; }

    made_rewrite operator()(rule_at const& what, double cost) {
        std::optional<made_rewrite> best;
        std::optional<any_graph> after;
        std::size_t choices = 0;
        auto const on_made = [&](match const& m, any_graph const& made, rule_place& p) {
            ++choices;
            auto const better = !best || (!best->hint.empty() && p.outcome == rule_outcome::applies);
            if (!better) return;
            best = made_rewrite{.rule = std::string{what.rule->name},
                                .site = p.site,
                                .hint = p.outcome == rule_outcome::applies ? std::string{} : p.kind,
                                .cost_before = cost,
                                .cost_after = *p.cost_after,
                                .removed = described(graph_, made.changes().erased),
                                .added = described(made, made.changes().added)};
            if (checker_) best->check = (*checker_)(graph_, m);
            after = made;
        };
        rule_explainer<> explainer{graph_, model_, *what.rule, explain_options{}.max_matches_a_node, on_made};
        for (auto n : nodes_named(graph_, given_, what.node)) explainer.around(n);
        if (!best) throw_inapplicable(what, std::move(explainer.places));
        best->choices = choices;
        graph_ = std::move(*after);
        graph_.rehash();
        return std::move(*best);
    }

private:
    any_graph const& given_;
    any_graph graph_;
    cost::any_cost const& model_;
    rewrite_checker<>* checker_; // null: rewrites are not checked
};

} // namespace detail

GSUB_LAZY_BODY result<std::pair<any_graph, application_report>>
apply_rules(any_graph const& given, cost::any_cost const& model, eval_table evaluators, std::span<rule_at const> rules,
            apply_options const& options) {
    return capture([&]() -> std::pair<any_graph, application_report> {
        application_report report;
        report.unit = model.unit;
        report.cost_before = detail::checked_cost(model.of_graph(given), given, {}, model.unit);
        auto start = detail::search_start(given, report.canonicalized);
        report.cost_start = detail::checked_cost(model.of_graph(start), start, {}, model.unit);
        auto made = [&] {
            verification_report one_by_one;
            std::optional<detail::rewrite_checker<>> checker;
            if (options.verify) checker.emplace(one_by_one, evaluators, options.seed, options.threads);
            detail::rule_applier<> apply{given, std::move(start), model, checker ? &*checker : nullptr};
            auto cost = report.cost_start;
            for (auto const& what : rules) {
                report.made.push_back(apply(what, cost));
                cost = report.made.back().cost_after;
            }
            checker.reset(); // says what was not checked
            report.verification = std::move(one_by_one);
            return std::move(apply.graph());
        }();
        fold_constants(made, evaluators, {.max_weight_bytes = options.max_weight_bytes, .threads = options.threads})
            .value();
        canonicalize(made);
        made.compact();
        if (options.verify) {
            auto whole = verify_equal(given, made, evaluators, options.seed, options.threads);
            auto& rewrites = report.verification;
            whole.rewrites_checked = rewrites.rewrites_checked, whole.rewrites_skipped = rewrites.rewrites_skipped;
            whole.different = whole.different || rewrites.different;
            whole.equal = whole.equal && !rewrites.different;
            append(whole.notes, rewrites.notes);
            report.verification = std::move(whole);
        }
        report.cost_after = detail::checked_cost(model.of_graph(made), made, {}, model.unit);
        return {std::move(made), std::move(report)};
    });
}

} // namespace gsub
