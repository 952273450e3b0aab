#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/impl/html_chart.ipp>
#include <gsub/report/impl/html_page.ipp>
#include <gsub/report/impl/scatter_plot.ipp>
#include <gsub/report/tuning_page.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gsub::report {

namespace detail {

/// What a tuning page tells: tasks, and what was found for them.
struct tuning_story {
    std::span<tune::tuning_task const> tasks;
    tune::tuning_report const& report;
};

// Whether a candidate can be drawn beside its measurement.
GSUB_LAZY bool has_place(tune::timed_candidate const& c) {
    return c.measured && *c.measured > 0 && std::isfinite(*c.measured) && c.predicted > 0 && std::isfinite(c.predicted);
}

// ---- cards -------------------------------------------------------------------------------------------------------

GSUB_LAZY std::string before_and_after(double before, double after) {
    return format_text("{} \xe2\x86\x92 {}", human(before, "s"), human(after, "s"));
}
// A gain is told as one where the bounds of the ratio agree.
GSUB_LAZY std::string network_card(network_times const& n) {
    auto const kind = n.high < 1 ? "main" : n.low > 1 ? "main bad" : "main even";
    return figure_card("Network", before_and_after(n.untuned, n.tuned),
                       format_text("{} of untuned by the clock (95 %: {} to {})", fixed(n.ratio, 3), fixed(n.low, 3),
                                   fixed(n.high, 3)),
                       kind);
}

GSUB_LAZY std::string tuning_cards(tuning_story const& s, tuning_facts const& f) {
    auto const& r = s.report;
    auto const totals = totals_of(s.tasks, r);
    std::string out = "<div class=\"cards many\">\n";
    if (f.network) out += network_card(*f.network);
    auto const gained = totals.seconds < totals.untuned_seconds;
    out += figure_card("Kernels of all tasks", before_and_after(totals.untuned_seconds, totals.seconds),
                       format_text("{}, {}", change(totals.untuned_seconds, totals.seconds),
                                   totals.trials > 0 ? "by the clock, one by one" : "predicted"),
                       f.network ? "pair"
                       : gained  ? "main"
                                 : "main even");
    std::size_t changed = 0;
    for (std::size_t i = 0; i < s.tasks.size(); ++i) changed += r.tasks[i].best != s.tasks[i].untuned;
    out += figure_card("Tasks", format_text("{} of {}", r.tuned, s.tasks.size()),
                       format_text("looked at, {} got another schedule or algorithm", changed));
    out += figure_card("Candidates", format_text("{}", totals.scored),
                       totals.trials > 0 ? format_text("scored; {} timed, {} failed", totals.trials, totals.failed)
                                         : std::string{"scored; nothing was timed"});
    out += figure_card("Time", human(r.seconds, "s"),
                       f.per_hour ? format_text("costs {} at {} an hour", fixed(*f.per_hour * r.seconds / 3600, 4),
                                                fixed(*f.per_hour, 2))
                                  : format_text("method {}", to_string(f.method)));
    return out + "</div>\n";
}

// ---- tasks -------------------------------------------------------------------------------------------------------

// Tasks by the time that they gain, the most first.
GSUB_LAZY std::vector<std::size_t> tasks_by_gain(tuning_story const& s) {
    std::vector<double> gain;
    for (std::size_t i = 0; i < s.tasks.size(); ++i) {
        auto const& t = s.report.tasks[i];
        gain.push_back(static_cast<double>(s.tasks[i].kernels) * t.untuned_seconds() * (1 - t.ratio()));
    }
    std::vector<std::size_t> order(gain.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
    return order;
}

// `1.20 ms → 0.90 ms`, one number where there is no change, a dash where there is none.
GSUB_LAZY std::string seconds_cell(std::optional<double> before, std::optional<double> after) {
    if (!before && !after) return "<td class=\"num soft\">\xe2\x80\x93</td>";
    auto const told = [](std::optional<double> v) { return v ? human(*v, "s") : std::string{"?"}; };
    return format_text("<td class=\"num\">{}</td>",
                       before == after ? told(before) : format_text("{} \xe2\x86\x92 {}", told(before), told(after)));
}

GSUB_LAZY std::string task_row(tune::tuning_task const& task, tune::tuned_task const& t) {
    auto const tuned = t.best != task.untuned;
    auto const full = std::clamp(t.ratio(), 0.0, 1.0) * 100;
    auto const gained = static_cast<double>(task.kernels) * t.untuned_seconds() * (1 - t.ratio());
    auto const from = kind_of(task, task.untuned), to = kind_of(task, t.best);
    auto out =
        format_text("<tr><td><details><summary>{}</summary><code>{}</code></details></td><td class=\"num\">{}</td><td "
                    "class=\"num\">{}</td>",
                    xml_text(from == to ? from : format_text("{} \xe2\x86\x92 {}", from, to)),
                    xml_text(to_string(task), 2000), task.kernels, fixed(task.operations / 1e6, 1));
    out += seconds_cell(t.untuned_predicted, t.predicted) + seconds_cell(t.untuned_measured, t.measured);
    out += format_text("<td class=\"num\">{}</td><td class=\"ratio\"><svg class=\"gsub bar\" viewBox=\"0 0 100 10\" "
                       "preserveAspectRatio=\"none\"><rect class=\"o\" width=\"100\" height=\"10\"/><rect class=\"{}\" "
                       "width=\"{}\" height=\"10\"/></svg>{}</td>",
                       tuned ? xml_text(human(gained, "s")) : std::string{"\xe2\x80\x93"}, tuned ? "i" : "x",
                       coordinate(full), fixed(t.ratio(), 3));
    out += format_text("<td class=\"num\">{}</td><td class=\"num\">{}</td>", t.scored,
                       t.failed > 0 ? format_text("{}, {} failed", t.trials, t.failed) : format_text("{}", t.trials));
    return out + format_text("<td class=\"schedule\">{}<code>{}</code></td></tr>\n",
                             tuned ? "" : "<span class=\"soft\">untuned</span> ",
                             xml_text(to_string(task.point(t.best)), 400));
}

GSUB_LAZY std::string task_table(tuning_story const& s) {
    if (s.tasks.empty())
        return "<h2>Tasks</h2>\n<p class=\"soft\">None: no kernel has a choice of schedule or algorithm.</p>\n";
    std::string out =
        "<h2>Tasks, those that gained most first</h2>\n<div class=\"box scroll\"><table class=\"tight\"><thead><tr>";
    for (std::string_view const head : {"Kernel", "How many", "MFLOP", "Predicted", "Measured", "Gained in all",
                                        "Of untuned", "Scored", "Timed", "Schedule"}) {
        auto const text = head == "Kernel" || head == "Of untuned" || head == "Schedule";
        out += format_text("<th{}>{}</th>", text ? "" : " class=\"num\"", head);
    }
    out += "</tr></thead><tbody>\n";
    for (auto const i : tasks_by_gain(s)) out += task_row(s.tasks[i], s.report.tasks[i]);
    return out + "</tbody></table></div>\n";
}

// ---- descents ----------------------------------------------------------------------------------------------------

/// How the best of a task came down: seconds by the number of candidates, from what is known before the first.
struct task_descent {
    double untuned = 0;
    std::vector<chart::point> found; ///< x: candidates, increasing; y: seconds, falling
    double last = 1;
};

GSUB_LAZY task_descent descent_by_score(tune::tuned_task const& t) {
    task_descent out{t.untuned_predicted, {}, static_cast<double>(std::max<std::uint64_t>(t.scored, 1))};
    for (auto const& h : t.history) out.found.push_back({static_cast<double>(h.steps), h.cost});
    return out;
}
GSUB_LAZY task_descent descent_by_trial(tune::tuned_task const& t) {
    task_descent out{t.untuned_measured.value_or(0), {}, static_cast<double>(std::max<std::size_t>(t.timed.size(), 1))};
    for (std::size_t i = 0; i < t.timed.size(); ++i)
        if (auto const m = t.timed[i].measured; m && (out.found.empty() || *m < out.found.back().y))
            out.found.push_back({static_cast<double>(i + 1), *m});
    return out;
}

// The lines of all tasks as shares of their untuned times, and that of all kernels together, which moves with each.
// Before something better is found stands the untuned one.
GSUB_LAZY std::string descent_chart(tuning_story const& s, task_descent (*descent_of)(tune::tuned_task const&),
                                    std::string_view title, std::string_view x_label) {
    descents d{{}, x_label};
    std::map<double, double> falls; // of the time of all kernels, by candidates
    double all = 0;
    for (std::size_t i = 0; i < s.tasks.size(); ++i) {
        auto const one = descent_of(s.report.tasks[i]);
        if (!(one.untuned > 0) || one.found.empty()) continue;
        auto const weight = static_cast<double>(s.tasks[i].kernels) * one.untuned;
        all += weight;
        descents::line line{{{1, 1}}, one.last, {}};
        for (auto const& p : one.found) {
            auto const share = p.y / one.untuned;
            if (share >= line.points.back().y) continue;
            falls[p.x] += weight * (line.points.back().y - share);
            line.points.push_back({p.x, share});
        }
        line.note = format_text("{} \xc3\x97{}\n{} of untuned", kind_of(s.tasks[i], {}), s.tasks[i].kernels,
                                percent(line.points.back().y));
        d.lines.push_back(std::move(line));
    }
    if (d.lines.empty()) return {};
    descents::line main{{{1, 1}}, 1, {}, true};
    for (auto const& l : d.lines) main.last = std::max(main.last, l.last);
    auto left = all;
    for (auto const& [x, fall] : falls) main.points.push_back({x, std::max(left -= fall, 0.0) / all});
    main.note = format_text("all kernels\n{} of untuned", percent(main.points.back().y));
    d.lines.push_back(std::move(main));
    return format_text("<div class=\"box\"><h3>{}</h3>{}</div>", title, draw(d));
}

GSUB_LAZY std::string descent_charts(tuning_story const& s) {
    auto const charts =
        descent_chart(s, &descent_by_score, "Best prediction", "candidates of a task that were scored") +
        descent_chart(s, &descent_by_trial, "Best measurement", "candidates of a task that were timed");
    if (charts.empty()) return {};
    return format_text(
        "<h2>How the best came down</h2>\n<p class=\"soft\">As shares of what the untuned kernels take: a "
        "thin line for each task, the broad one for the kernels of all.</p>\n<div "
        "class=\"two\">{}</div>\n",
        charts);
}

// ---- predicted beside measured -----------------------------------------------------------------------------------

GSUB_LAZY scatter_plot scatter_of(tuning_story const& s) {
    scatter_plot out{{}, {}, "s", "predicted", "measured", "chosen"};
    std::map<std::string, std::size_t> groups;
    auto const each_placed = [&](auto const& what) {
        for (std::size_t i = 0; i < s.tasks.size(); ++i)
            for (auto const& c : s.report.tasks[i].timed)
                if (has_place(c)) what(s.tasks[i], s.report.tasks[i], c);
    };
    each_placed([&](auto const& task, auto const&, auto const& c) { groups.try_emplace(kind_of(task, c.what), 0); });
    for (auto& [kind, number] : groups) number = out.groups.size(), out.groups.push_back(kind);
    each_placed([&](auto const& task, auto const& t, auto const& c) {
        auto const kind = kind_of(task, c.what);
        out.marks.push_back(
            {c.predicted, *c.measured, groups.at(kind), c.what == t.best,
             format_text("{} \xc3\x97{}, {} MFLOP{}\n{}\npredicted {}, measured {}", kind, task.kernels,
                         fixed(task.operations / 1e6, 1), c.what == task.untuned ? ", untuned" : "",
                         to_string(task.point(c.what)), human(c.predicted, "s"), human(*c.measured, "s"))});
    });
    return out;
}

/// How predictions and measurements of some candidates agree.
struct agreement {
    cost::ranked_pairs pairs;   ///< within tasks
    std::vector<double> ratios; ///< measured by predicted
};

constexpr double pair_noise = 0.03; // times that differ by less are not ranked

// Adds candidates of one task.
GSUB_LAZY void count_in(agreement& a, std::span<tune::timed_candidate const> timed) {
    std::vector<double> predicted, measured;
    for (auto const& c : timed)
        if (has_place(c)) {
            predicted.push_back(c.predicted), measured.push_back(*c.measured);
            a.ratios.push_back(*c.measured / c.predicted);
        }
    a.pairs += cost::rank_pairs(predicted, measured, pair_noise);
}
GSUB_LAZY std::string agreement_row(std::string_view kind, agreement a) {
    std::sort(a.ratios.begin(), a.ratios.end());
    auto const at = [&](double share) {
        return fixed(a.ratios[static_cast<std::size_t>(share * static_cast<double>(a.ratios.size() - 1) + 0.5)], 2);
    };
    auto const tau = a.pairs.tau();
    return format_text("<tr><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td "
                       "class=\"num\">{} to {}</td></tr>\n",
                       xml_text(kind), a.ratios.size(), std::isnan(tau) ? std::string{"\xe2\x80\x93"} : fixed(tau, 2),
                       at(0.5), at(0.1), at(0.9));
}

GSUB_LAZY std::string agreement_table(tuning_story const& s, tune::tuning_method method) {
    agreement all;
    std::map<std::string, agreement> kinds;
    for (std::size_t i = 0; i < s.tasks.size(); ++i) {
        auto const& timed = s.report.tasks[i].timed;
        count_in(all, timed);
        std::map<std::string, std::vector<tune::timed_candidate>> by_kind;
        for (auto const& c : timed)
            if (has_place(c)) by_kind[kind_of(s.tasks[i], c.what)].push_back(c);
        for (auto const& [kind, some] : by_kind) count_in(kinds[kind], some);
    }
    auto const tau = all.pairs.tau();
    auto out = format_text(
        "<div class=\"scroll\"><table><thead><tr><th>Kind</th><th class=\"num\">Timed</th><th class=\"num\">Kendall's "
        "tau</th><th class=\"num\">Ratio</th><th class=\"num\">Eight in ten</th></tr></thead><tbody>\n{}",
        agreement_row("all", all));
    for (auto const& [kind, a] : kinds) out += agreement_row(kind, a);
    auto const ranked = all.pairs.concordant + all.pairs.discordant + all.pairs.tied_first;
    out += format_text(
        "</tbody></table></div>\n<p class=\"soft\">Kendall's tau within tasks is {} over the {} pairs of "
        "candidates of one task whose measured times differ by more than {}: 1 where all are ranked as "
        "the clock ranks them, 0 for a guess. Ratios are of measured by predicted times: the median, and what "
        "bounds eight candidates in ten.</p>\n",
        std::isnan(tau) ? std::string{"no number"} : fixed(tau, 2), ranked, percent(pair_noise));
    if (method == tune::tuning_method::hybrid)
        out += "<p class=\"soft\">A hybrid tuner times the untuned candidate and those that are predicted to be the "
               "best, which are nearly alike: that they are hard to rank says little about all others.</p>\n";
    return out;
}

GSUB_LAZY std::string scatter_part(tuning_story const& s, tune::tuning_method method) {
    auto const plot = scatter_of(s);
    if (plot.marks.empty())
        return "<h2>Predicted and measured</h2>\n<p class=\"soft\">Nothing was timed: a static tuner goes by the cost "
               "model alone.</p>\n";
    return format_text(
        "<h2>Predicted and measured</h2>\n<div class=\"two\"><div class=\"box\"><h3>All candidates that "
        "were timed</h3>{}<p class=\"soft\">On the line both are equal, on the dashed ones one is twice "
        "the other. Pointing at a mark tells task and schedule.</p></div><div class=\"box\"><h3>How well "
        "predictions rank what the clock says</h3>{}</div></div>\n",
        draw(plot), agreement_table(s, method));
}

// ---- summary -----------------------------------------------------------------------------------------------------

GSUB_LAZY std::string_view end_of_tuning(search::stop_reason why) {
    switch (why) {
    case search::stop_reason::exhausted:
        return "all tasks were looked at";
    case search::stop_reason::time:
        return "the budget of time was spent";
    case search::stop_reason::cancelled:
        return "it was cancelled";
    default:
        return to_string(why);
    }
}

GSUB_LAZY std::string tuning_summary(tuning_story const& s, tuning_facts const& f) {
    auto out = fact_line("Model", f.model) + fact_line("Target", f.target) +
               fact_line("Method", std::string{to_string(f.method)}) + fact_line("Cost model", f.cost_model);
    for (auto const& [name, value] : f.settings) out += fact_line(name, value);
    out += fact_line("Stopped because", std::string{end_of_tuning(s.report.why)});
    return format_text("<h2>Summary</h2>\n<div class=\"box\"><dl>\n{}</dl></div>\n", out);
}

} // namespace detail

GSUB_LAZY_BODY std::string to_html(std::span<tune::tuning_task const> tasks, tune::tuning_report const& r,
                                   tuning_facts const& f) {
    GSUB_ASSERT(r.tasks.size() == tasks.size(), "a report of a tuner is about the tasks that were tuned");
    using namespace detail;
    tuning_story const s{tasks, r};
    return page_head(f.model, format_text("Schedules and algorithms tuned for {}", f.target)) + tuning_cards(s, f) +
           descent_charts(s) + scatter_part(s, f.method) + task_table(s) + tuning_summary(s, f) + page_foot();
}

GSUB_LAZY_BODY std::optional<std::string> scatter_svg(std::span<tune::tuning_task const> tasks,
                                                      tune::tuning_report const& r) {
    GSUB_ASSERT(r.tasks.size() == tasks.size(), "a report of a tuner is about the tasks that were tuned");
    auto const plot = detail::scatter_of({tasks, r});
    if (plot.marks.empty()) return std::nullopt;
    return detail::draw(plot, true);
}

} // namespace gsub::report
