// gsub explain: where a rule applies, and why not elsewhere.
#include "commands.hpp"
#include "cost_choice.hpp"
#include <gsub/core/format.hpp>
#include <gsub/io.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/report.hpp>
#include <gsub/report/json.hpp>
#include <gsub/rewrite.hpp>

#include <algorithm>
#include <map>

namespace cli {

using gsub::rule_outcome;

namespace {

constexpr std::size_t places_told = 20, weights_told = 4;

// `applies: 1.20 ms, -3.1 % of the graph's cost`
std::string told(gsub::rule_place const& p, gsub::rule_explanation const& x) {
    auto text = gsub::format_text("{}{}{}", to_string(p.outcome), p.reason.empty() ? "" : ": ", p.reason);
    if (!p.cost_after) return text;
    auto const rise = *p.cost_after - x.cost;
    text +=
        gsub::format_text("{}{}", p.outcome == rule_outcome::applies ? ": " : "; all the same the graph would cost ",
                          gsub::report::human(*p.cost_after, x.unit));
    if (x.cost > 0) text += gsub::format_text(", {}{}", rise > 0 ? "+" : "", gsub::report::percent(rise / x.cost));
    return text;
}

// How many places share an outcome and a reason, the better outcomes first, then the more frequent.
std::vector<std::pair<std::string, std::size_t>> summary(gsub::rule_explanation const& x) {
    std::map<std::pair<rule_outcome, std::string>, std::size_t> counts;
    for (auto const& p : x.places) ++counts[{p.outcome, p.kind}];
    std::vector<std::pair<std::pair<rule_outcome, std::string>, std::size_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) {
        return a.first.first != b.first.first ? a.first.first < b.first.first : a.second > b.second;
    });
    std::vector<std::pair<std::string, std::size_t>> out;
    for (auto const& [key, count] : sorted)
        out.emplace_back(gsub::format_text("{}{}{}", to_string(key.first), key.second.empty() ? "" : ": ", key.second),
                         count);
    return out;
}

// Weights of the places where there are some, the first few.
std::string weights_text(gsub::rule_explanation const& x) {
    std::string out;
    std::size_t places = 0;
    for (auto const& p : x.places)
        if (p.weights && ++places <= weights_told)
            out += gsub::format_text("\nweights at {}\n{}", gsub::quoted{p.site}, gsub::report::to_text(*p.weights));
    if (places > weights_told) out += gsub::format_text("\nand weights at {} more places\n", places - weights_told);
    return out;
}

} // namespace

answer explain(explain_request const& r, session const& s) {
    if (r.kernels) return explain_kernels(r, s);
    auto const& rule = *gsub::find_rule(gsub::standard_rules(), r.rule).value();
    auto const graph = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    s.observe->on_progress({"explain", 0, 0, r.rule});
    std::string costed_by;
    cost_choice costs = r;
    costs.target = r.kernels_of.target;
    auto const x = with_cost(costs, s, graph, [&](auto const& model, std::string text) {
                       costed_by = std::move(text);
                       gsub::explain_options options{.node = r.node};
                       if (r.weights) options.weights = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
                       return gsub::explain_rule(graph, gsub::cost::erase(model), rule, options);
                   }).value();

    answer a;
    a.positive = x.count(rule_outcome::applies) > 0;
    a.text = gsub::format_text("rule     {}, {}\ncost     {} in canonical form, where a search begins\ncosts   {}\n{}",
                               rule.name, rule.source, gsub::report::human(x.cost, x.unit), costed_by,
                               x.places.empty() ? "no node of the graph is one that the rule looks at\n" : "\n");
    gsub::report::table counts{{"places", "outcome"}};
    a.data["rule"] = rule.name;
    a.data["cost"] = {{"value", x.cost}, {"unit", x.unit}};
    a.data["applies"] = x.count(rule_outcome::applies);
    a.data["summary"] = gsub::io::json::array();
    for (auto const& [text, count] : summary(x)) {
        counts.add({gsub::format_text("{}", count), text});
        a.data["summary"].push_back({{"outcome", text}, {"places", count}});
    }
    gsub::report::table places{{"place", "outcome"}};
    a.data["places"] = gsub::io::json::array();
    for (auto const& p : x.places) {
        if (places.size() < places_told) places.add({p.site, told(p, x)});
        a.data["places"].push_back({{"site", p.site}, {"outcome", to_string(p.outcome)}, {"reason", p.reason}});
        if (p.cost_after) a.data["places"].back()["cost_after"] = *p.cost_after;
        if (p.weights) a.data["places"].back()["weights"] = gsub::report::to_json(*p.weights);
    }
    if (x.places.empty()) return a;
    if (r.node.empty()) a.text += gsub::format_text("{}\n", counts.text());
    a.text += places.text();
    if (x.places.size() > places_told)
        a.text += gsub::format_text("and {} more places\n", x.places.size() - places_told);
    a.text += weights_text(x);
    return a;
}

} // namespace cli
