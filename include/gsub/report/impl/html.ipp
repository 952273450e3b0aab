#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/html.hpp>
#include <gsub/report/impl/html_chart.ipp>
#include <gsub/report/impl/html_page.ipp>
#include <gsub/report/impl/svg.ipp>
#include <gsub/report/summary.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::report {

namespace detail {

// ---- words -------------------------------------------------------------------------------------------------------

GSUB_LAZY std::string_view in_words(search::stop_reason why) {
    switch (why) {
    case search::stop_reason::exhausted:
        return "everything within the bound was explored";
    case search::stop_reason::steps:
        return "the budget of graphs was spent";
    case search::stop_reason::time:
        return "the budget of time was spent";
    case search::stop_reason::memory:
        return "the budget of memory was spent";
    case search::stop_reason::target:
        return "the target was reached";
    case search::stop_reason::cancelled:
        return "it was cancelled";
    case search::stop_reason::failed:
        return "a rule failed";
    }
    return "";
}

GSUB_LAZY std::string_view in_words(rule_kind k) {
    switch (k) {
    case rule_kind::atomic:
        return "atomic: one law";
    case rule_kind::macro:
        return "macro: several laws in one step";
    case rule_kind::internal:
        return "internal: opens up others";
    case rule_kind::timed:
        return "timed: a clock tells whether it pays";
    }
    return "";
}

GSUB_LAZY std::string_view in_words(verification_report const& v) {
    return !v.attempted ? "not asked for" : v.different ? "DIFFERENT" : v.equal ? "equal" : "incomplete";
}

// ---- where the cost lies -----------------------------------------------------------------------------------------

// Cost of each node, by id; empty where the model has none.
GSUB_LAZY std::vector<double> costs_of(any_graph const& g, cost::any_cost const* costs) {
    return costs && costs->is_sum() ? costs->of_nodes(g) : std::vector<double>{};
}

// All nodes of a graph side by side, each as wide as its cost; `whole` is what the full width stands for.
GSUB_LAZY std::string strip(any_graph const& g, std::vector<double> const& cost, double whole, std::string_view unit) {
    std::string out = "<svg class=\"gsub strip\" viewBox=\"0 0 1000 34\" preserveAspectRatio=\"none\">";
    double at = 0;
    for (auto n : g.order()) {
        auto const width = whole > 0 ? cost[n.index] / whole * 1000 : 0;
        if (width > 0)
            out += format_text("<g class=\"{}\"><rect class=\"f\" x=\"{}\" y=\"0\" width=\"{}\" "
                               "height=\"34\"><title>{}  {}\n{}, {}</title></rect></g>\n",
                               style_class(g, n), coordinate(at), coordinate(width), xml_text(caption(g, n)),
                               xml_text(g.display_name(n), 200), xml_text(human(cost[n.index], unit)),
                               percent(width / 1000));
        at += width;
    }
    return out + "</svg>\n";
}

// ---- parts of the page -------------------------------------------------------------------------------------------

GSUB_LAZY std::string cards(optimize_report const& r) {
    auto const& v = r.verification;
    auto const ratio = r.cost_after > 0 ? r.cost_before / r.cost_after : 0;
    auto const share = std::abs(r.cost_before - r.cost_after) / std::max(r.cost_before, 1e-300);
    return "<div class=\"cards\">\n" +
           figure_card(
               "Cost", format_text("{} \xe2\x86\x92 {}", human(r.cost_before, r.unit), human(r.cost_after, r.unit)),
               format_text("{}{}", change(r.cost_before, r.cost_after),
                           share >= 0.0005 ? format_text(", {} times cheaper", fixed(ratio, 2)) : std::string{}),
               "main") +
           figure_card("Kernels", format_text("{} \xe2\x86\x92 {}", r.nodes_before, r.nodes_after),
                       format_text("{}{}", r.applied.size(),
                                   r.applied.size() == 1 ? " rewrite applied" : " rewrites applied")) +
           figure_card("Search", format_text("{} graphs", r.search.expanded),
                       format_text("{} distinct seen, {} s", r.search.distinct, fixed(r.search.seconds, 2))) +
           figure_card("Verification", std::string{in_words(v)},
                       v.attempted ? format_text("{} of {} rewrites checked one by one", v.rewrites_checked,
                                                 v.rewrites_checked + v.rewrites_skipped)
                                   : "run with --verify to prove the result",
                       v.different              ? "bad"
                       : v.equal && v.attempted ? "good"
                                                : "") +
           "</div>\n";
}

GSUB_LAZY std::string rewrite_rows(optimize_report const& r, std::span<rule_program const> rules) {
    std::string out;
    auto before = r.cost_start;
    for (std::size_t i = 0; i < r.applied.size(); ++i) {
        auto const& a = r.applied[i];
        rule_program const* rule = nullptr;
        for (auto const& candidate : rules)
            if (candidate.name == a.rule) rule = &candidate;
        auto const [mark, proof] = [&]() -> std::pair<std::string_view, std::string_view> {
            switch (a.check) {
            case rewrite_check::equal:
                return {"good", "checked: equal in the prime field"};
            case rewrite_check::skipped:
                return {"", r.verification.whole_in_field ? "too large alone; the whole graph was compared"
                                                          : "not checked: too large, or not computable"};
            case rewrite_check::different:
                return {"bad", "DIFFERENT: a counterexample was found"};
            case rewrite_check::not_asked:
                break;
            }
            return {"soft", "not checked in this run"};
        }();
        auto const rises = a.cost_after > before;
        out += format_text("<tr><td class=\"num\">{}</td><td><code>{}</code></td><td><code>{}</code></td><td "
                           "class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num "
                           "{}\">{}</td><td>{}</td><td>{}<br/><span class=\"{}\">{}</span></td></tr>\n",
                           i + 1, xml_text(a.rule), xml_text(a.site, 120), xml_text(human(before, r.unit)),
                           xml_text(human(a.cost_after, r.unit)), rises ? "up" : "down", change(before, a.cost_after),
                           rule ? xml_text(rule->source) : std::string{"\xe2\x80\x93"},
                           rule ? in_words(rule->kind) : "", mark, proof);
        before = a.cost_after;
    }
    return out;
}

GSUB_LAZY std::string fact_list(optimize_report const& r, page_facts const& f) {
    std::string out = "<dl>\n";
    auto const fact = [&](std::string_view name, std::string const& value) { out += fact_line(name, value); };
    fact("Model", f.model);
    fact("Cost model", format_text("{}, in {}", f.cost_model, r.unit));
    for (auto const& [name, value] : f.settings) fact(name, value);
    fact("Cost at the start of the search",
         format_text("{}, after canonicalization: {} simplified, {} shared, {} erased", human(r.cost_start, r.unit),
                     r.canonicalized.simplified, r.canonicalized.shared, r.canonicalized.erased));
    auto const& failure = r.search.failure;
    fact("Stopped because", format_text("{}{}{}", in_words(r.search.why), failure.empty() ? "" : ": ", failure));
    fact("Graphs",
         format_text("{} expanded, {} made, {} seen before, {} beyond the bound; {} matches could not be applied",
                     r.search.expanded, r.search.generated, r.search.duplicates, r.search.refused, r.inapplicable));
    fact("Seconds of search", fixed(r.search.seconds, 3));
    auto const& v = r.verification;
    fact("Verification", std::string{in_words(v)});
    if (v.attempted) {
        fact("Whole graph in the prime field", !v.whole_in_field ? "not compared"
                                               : v.reduced_to.empty()
                                                   ? "compared, at the model's own sizes"
                                                   : format_text("compared, at reduced sizes: {}", v.reduced_to));
        fact("Whole graph on numbers", v.on_numbers ? format_text("largest relative error {} against double precision",
                                                                  brief(v.max_relative_error))
                                                    : "not compared");
        fact("Rewrites one by one", format_text("{} checked in the prime field, {} too large or not computable",
                                                v.rewrites_checked, v.rewrites_skipped));
        for (auto const& note : v.notes) fact("Note", note);
    }
    return out + "</dl>\n";
}

GSUB_LAZY std::string pane(std::string_view title, any_graph const& g, picture_options const& o) {
    auto const drawn = to_svg(g, o);
    std::uint64_t marked = 0;
    for (auto n : g.order()) marked += n != g.return_node() && !g.constant(n) && o.marked[n.index];
    return format_text(
        "<figure><figcaption><strong>{}</strong> {}{}{}</figcaption><div class=\"pane\" "
        "tabindex=\"0\">{}</div></figure>\n",
        title, marked, marked == 1 ? " node " : " nodes ", o.mark,
        drawn ? *drawn
              : format_text("<p class=\"soft\">No picture: {}.</p>", xml_text(drawn.error().problems()[0].reason)));
}

GSUB_LAZY std::string legend() {
    std::string out = "<p class=\"legend\">";
    auto const entry = [&](std::string_view style, std::string_view text) {
        out += format_text("<span><svg class=\"gsub\" viewBox=\"0 0 18 13\"><g class=\"{}\"><rect class=\"f\" "
                           "x=\"1.5\" y=\"1.5\" width=\"15\" height=\"10\" rx=\"3\"/></g></svg>{}</span> ",
                           style, text);
    };
    entry("sum", "convolution, product");
    entry("red", "pooling, reduction");
    entry("elt", "elementwise");
    entry("mov", "data movement");
    entry("opq", "unknown to gsub");
    entry("new", "changed");
    return out + "<span>A box tells its share of the cost; the longest bar is the dearest. Pointing at it tells "
                 "more.</span></p>\n";
}

// The best cost over time, and that along the path to the result.
GSUB_LAZY std::string search_charts(optimize_report const& r) {
    chart best{{}, static_cast<double>(r.search.expanded), true, r.unit, "graphs explored"};
    for (auto const& h : r.search.history) best.points.push_back({static_cast<double>(h.steps), h.cost});
    chart path{{{0, r.cost_start, "start"}},
               static_cast<double>(r.applied.size()),
               false,
               r.unit,
               "rewrites on the way to the result"};
    for (std::size_t i = 0; i < r.applied.size(); ++i)
        path.points.push_back({static_cast<double>(i + 1), r.applied[i].cost_after,
                               format_text("{}: {}\n{}\n{}", i + 1, r.applied[i].rule, r.applied[i].site,
                                           human(r.applied[i].cost_after, r.unit))});
    if (best.points.empty()) best.points.push_back({0, r.cost_start});
    return format_text(
        "<h2>The search</h2>\n<div class=\"two\"><div class=\"box\"><h3>Best cost over time</h3>{}</div><div "
        "class=\"box\"><h3>Cost along the path of applied rewrites</h3>{}</div></div>\n",
        draw(best), draw(path));
}

} // namespace detail

GSUB_LAZY_BODY std::string to_html(any_graph const& before, any_graph const& after, optimize_report const& r,
                                   page_facts const& f) {
    using namespace detail;
    auto const costs_before = costs_of(before, f.costs), costs_after = costs_of(after, f.costs);
    auto const shares = [](std::vector<double> costs, double whole) {
        for (auto& p : costs) p = whole > 0 ? p / whole : 0;
        return costs;
    };
    auto out =
        page_head(f.model, format_text("Optimized by relaxed graph substitution under {}", f.cost_model)) + cards(r);

    if (!costs_before.empty()) {
        auto const whole = std::max(r.cost_before, r.cost_after);
        out += format_text("<h2>Where the cost lies</h2>\n<div class=\"box strips\"><span>before</span>{}<span "
                           "class=\"num\">{}</span><span>after</span>{}<span class=\"num\">{}</span></div>\n",
                           strip(before, costs_before, whole, r.unit), xml_text(human(r.cost_before, r.unit)),
                           strip(after, costs_after, whole, r.unit), xml_text(human(r.cost_after, r.unit)));
    }

    out += search_charts(r);

    auto const gone = nodes_without_counterpart(before, after), made = nodes_without_counterpart(after, before);
    out += "<h2>The graphs</h2>\n" + legend() + "<div class=\"two\">\n";
    out += pane("Before", before, {shares(costs_before, r.cost_before), gone, "replaced", false, f.max_boxes});
    out +=
        pane("After", after, {shares(costs_after, r.cost_after), made, "made by the optimization", false, f.max_boxes});
    out += "</div>\n";

    out += "<h2>Applied rewrites</h2>\n";
    if (r.applied.empty())
        out += "<p class=\"soft\">None: no path of rewrites led to a cheaper graph.</p>\n";
    else
        out += format_text("<div class=\"box scroll\"><table><thead><tr><th>#</th><th>Rule</th><th>Site</th><th>Cost "
                           "before</th><th>Cost after</th><th>Change</th><th>Law</th><th>Kind and "
                           "proof</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
                           rewrite_rows(r, f.rules));

    out += format_text("<h2>Summary</h2>\n<div class=\"box\">{}</div>\n{}", fact_list(r, f), page_foot());
    return out;
}

} // namespace gsub::report
