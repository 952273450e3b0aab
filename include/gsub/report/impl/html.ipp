#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/html.hpp>
#include <gsub/report/impl/html_chart.ipp>
#include <gsub/report/impl/svg.ipp>
#include <gsub/report/summary.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::report {

namespace detail {

// ---- numbers and words -------------------------------------------------------------------------------------------

// `−12.3 %`
GSUB_LAZY std::string change(double before, double after) {
    if (!(before > 0)) return "";
    auto const share = (after - before) / before;
    return format_text("{}{}", share < 0 ? "\xe2\x88\x92" : share > 0 ? "+" : "", percent(std::abs(share)));
}

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

GSUB_LAZY std::string figure_card(std::string_view label, std::string const& value, std::string const& detail,
                                  std::string_view kind = "") {
    return format_text("<div class=\"card {}\"><div class=\"label\">{}</div><div class=\"value\">{}</div><div "
                       "class=\"detail\">{}</div></div>\n",
                       kind, label, xml_text(value), xml_text(detail));
}

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
    auto const fact = [&](std::string_view name, std::string const& value) {
        out += format_text("<div><dt>{}</dt><dd>{}</dd></div>\n", xml_text(name), xml_text(value, 2000));
    };
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

GSUB_LAZY std::string_view page_style() {
    return R"(
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.gsub{--back:#f4f6f9;--card:#fff;--rim:#dde3ea;--good:#137a4c;--bad:#c62f2f;--accent:#2f6fd6}
@media (prefers-color-scheme:dark){.gsub{--back:#0b0e13;--card:#151a22;--rim:#2a3340;--good:#4fd397;--bad:#ff7676;--accent:#6aa5ff}
.gsub.page{color-scheme:dark}}
main{max-width:1320px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:27px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em;overflow-wrap:anywhere}h2{font-size:18px;margin:34px 0 12px}
.soft{color:var(--soft)}.good{color:var(--good)}.bad,.up{color:var(--bad)}.down{color:var(--good)}
.cards{display:grid;grid-template-columns:2fr 1fr 1fr 1.2fr;gap:14px;margin:22px 0}
.card,figure,.box{background:var(--card);border:1px solid var(--rim);border-radius:12px}
.card{padding:14px 18px}.card .label{color:var(--soft);font-size:12px;letter-spacing:.06em;text-transform:uppercase}
.card .value{font-size:21px;font-weight:650;font-variant-numeric:tabular-nums}.card.main .value{font-size:29px;line-height:1.35}
.card .detail{color:var(--soft);font-size:13px}.card.main .detail{color:var(--good);font-size:15px;font-weight:600}
.card.good .value{color:var(--good)}.card.bad .value{color:var(--bad)}
.two{display:grid;grid-template-columns:1fr 1fr;gap:14px}.two>*{min-width:0}
.box{padding:14px 16px}.box h3{margin:0 0 6px;font-size:14px}
.chart{width:100%;height:auto;background:none!important}.chart .g{stroke:var(--rim);stroke-width:1}
.chart .c{fill:none;stroke:var(--accent);stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}.chart .up{stroke:var(--hot)}
.chart .area{fill:var(--accent);opacity:.12}.chart .d{fill:var(--accent);stroke:var(--card);stroke-width:1}
.chart text{fill:var(--soft)}.chart .l{font-size:11px}
.strips{display:grid;grid-template-columns:max-content 1fr max-content;gap:8px 12px;align-items:center}
.strip{width:100%;height:30px;background:none!important}.strip .f{stroke:var(--card)!important;stroke-width:1!important;vector-effect:non-scaling-stroke}
.strip .sum .f{fill:var(--sum-e)}.strip .red .f{fill:var(--red-e)}.strip .mov .f{fill:var(--mov-e)}.strip .elt .f{fill:var(--elt-e)}.strip .opq .f{fill:var(--opq-e)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--rim);padding:6px 10px;white-space:nowrap}
td{border-bottom:1px solid var(--rim);padding:6px 10px;vertical-align:top}tr:last-child td{border-bottom:0}
td code{overflow-wrap:anywhere}.num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
code{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
dl{margin:0;display:grid;grid-template-columns:1fr 1fr;gap:0 28px;font-size:14px}
dl div{display:flex;gap:12px;padding:5px 0;border-bottom:1px solid var(--rim)}dt{color:var(--soft);flex:0 0 34%}dd{margin:0;overflow-wrap:anywhere}
figure{margin:0;overflow:hidden}figcaption{padding:10px 16px;border-bottom:1px solid var(--rim);color:var(--soft)}figcaption strong{color:var(--ink)}
.pane{overflow:auto;max-height:86vh;padding:10px;background:var(--paper)}.pane svg{display:block;margin:0 auto}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;margin:0 0 12px;color:var(--soft);font-size:13px}
.legend svg{width:18px;height:13px;vertical-align:-2px;margin-right:6px;background:none}
footer{margin-top:34px;color:var(--soft);font-size:13px}
@media (max-width:900px){.cards,.two,dl{grid-template-columns:1fr}}
@media print{.pane{max-height:none;overflow:visible}body{background:#fff}}
)";
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
        format_text("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\" class=\"gsub "
                    "page\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
                    "initial-scale=1\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{} \xe2\x80\x93 "
                    "gsub</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<div "
                    "class=\"soft\">Optimized by relaxed graph substitution under {}</div>\n{}",
                    xml_text(f.model, 200), picture_style(), page_style(), xml_text(f.model, 200),
                    xml_text(f.cost_model), cards(r));

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

    out += format_text("<h2>Summary</h2>\n<div class=\"box\">{}</div>\n<footer>Made by gsub {}.{}.{}. This page needs "
                       "no network and no script.</footer>\n</main>\n</body>\n</html>\n",
                       fact_list(r, f), GSUB_VERSION_MAJOR, GSUB_VERSION_MINOR, GSUB_VERSION_PATCH);
    return out;
}

} // namespace gsub::report
