#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/report/summary.hpp>
#include <gsub/report/table.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>

namespace gsub::report {

GSUB_INLINE graph_summary summarize(any_graph const& g) {
    graph_summary s;
    for (auto n : g.order()) {
        if (n == g.return_node()) continue;
        if (g.is<ops::input>(n)) {
            s.inputs.emplace_back(g.name({n, 0}), to_string(g.type({n, 0})));
        } else if (g.is<ops::constant>(n)) {
            ++s.constants;
            s.parameters += g.constant_data(n).elements();
            s.weight_bytes += static_cast<double>(g.constant_data(n).size_bytes());
        } else {
            ++s.nodes;
            auto const& a = g.op(n);
            ++s.operators[g.is<ops::opaque>(n) ? format_text("{} (unknown)", g.attributes<ops::opaque>(n).op_type)
                                               : std::string{a.name}];
        }
    }
    for (std::size_t i = 0; i < g.output_count(); ++i)
        s.outputs.emplace_back(i < g.info().output_names.size() ? g.info().output_names[i]
                                                                : format_text("output_{}", i),
                               to_string(g.type(g.output(i))));
    s.flop = cost::flop_cost{}(g).amount;
    s.bytes = cost::byte_cost{}(g).amount;
    s.peak_bytes = cost::peak_memory{}(g).amount;
    return s;
}

GSUB_INLINE std::string to_text(graph_summary const& s) {
    std::string out;
    for (auto const& [name, type] : s.inputs) out += format_text("input   {}  {}\n", name, type);
    for (auto const& [name, type] : s.outputs) out += format_text("output  {}  {}\n", name, type);
    out += format_text("{} nodes, {} constants, {} parameters ({})\n", s.nodes, s.constants, s.parameters,
                       human(s.weight_bytes, "B"));
    out += format_text("{} and {} moved a run, {} of intermediate results at most\n\n", human(s.flop, "FLOP"),
                       human(s.bytes, "B"), human(s.peak_bytes, "B"));
    std::vector<std::pair<std::string, std::size_t>> sorted(s.operators.begin(), s.operators.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    table t{{"nodes", "operator"}};
    for (auto const& entry : sorted) t.add({format_text("{}", entry.second), entry.first});
    return out + t.text();
}

GSUB_INLINE std::string to_text(verification_report const& v) {
    if (!v.attempted) return {};
    auto const whole = v.whole_in_field || v.on_numbers;
    std::string out = v.different ? "verified: NOT EQUAL"
                      : !v.equal  ? "NOT VERIFIED"
                      : whole     ? "verified: equal"
                                  : "verified in part: canonicalization is not compared";
    if (v.whole_in_field)
        out += format_text(", whole graph in the prime field{}",
                           v.reduced_to.empty() ? "" : format_text(" (inputs reduced to {})", v.reduced_to));
    if (v.rewrites_checked + v.rewrites_skipped > 0)
        out +=
            format_text(", {} of {} rewrites one by one", v.rewrites_checked, v.rewrites_checked + v.rewrites_skipped);
    if (v.on_numbers) out += format_text(", numbers within {} of double precision", brief(v.max_relative_error));
    out += '\n';
    for (auto const& n : v.notes) out += format_text("  {}\n", n);
    return out;
}

namespace detail {

// `142 us -> 97.1 us (-31.6 %)`
GSUB_INLINE std::string change_of_cost(double before, double after, std::string_view unit) {
    auto const gain = before > 0 ? 1 - after / before : 0;
    return format_text("{} -> {} ({}{})", human(before, unit), human(after, unit), gain < 0 ? "+" : "", percent(-gain));
}

// `Conv "shortcut" ("x", f32[8,8,1,1]) {pads = [0, 0, 0, 0]}: f32[1,8,7,7]`
GSUB_INLINE std::string to_text(rewritten_node const& n) {
    auto out = format_text("{} {} (", n.op, quoted{n.name});
    for (std::size_t i = 0; i < n.operands.size(); ++i)
        out += format_text("{}{}", i ? ", " : "", n.operands[i].empty() ? "-" : n.operands[i]);
    return out + format_text("){}: {}", n.attributes.empty() ? "" : format_text(" {{{}}}", n.attributes), n.type);
}

} // namespace detail

GSUB_INLINE std::string to_text(application_report const& r) {
    auto out = format_text("cost     {}\n", detail::change_of_cost(r.cost_before, r.cost_after, r.unit));
    if (r.canonicalized.total() > 0)
        out += format_text("cleaned  {} simplified, {} shared, {} erased: {} before the first rewrite\n",
                           r.canonicalized.simplified, r.canonicalized.shared, r.canonicalized.erased,
                           human(r.cost_start, r.unit));
    for (auto const& m : r.made) {
        out += format_text("\n{} at {}: {}\n", m.rule, quoted{m.site},
                           detail::change_of_cost(m.cost_before, m.cost_after, r.unit));
        if (!m.hint.empty()) out += format_text("  no search tries it, as this does not hold: {}\n", m.hint);
        if (m.choices > 1) out += format_text("  the first of {} places with this node\n", m.choices);
        for (auto const& n : m.removed) out += format_text("  - {}\n", detail::to_text(n));
        for (auto const& n : m.added) out += format_text("  + {}\n", detail::to_text(n));
    }
    return out + (r.verification.attempted ? "\n" : "") + to_text(r.verification);
}

GSUB_INLINE std::string to_text(optimize_report const& r) {
    auto out = format_text("cost     {}\n", detail::change_of_cost(r.cost_before, r.cost_after, r.unit));
    out += format_text("kernels  {} -> {}\n", r.nodes_before, r.nodes_after);
    out +=
        format_text("{}{} graphs expanded{}, {} distinct, {} s, stopped: {}\n", r.replayed ? "replay   " : "search   ",
                    r.search.expanded, r.remembered > 0 ? format_text(" ({} known before)", r.remembered) : "",
                    r.search.distinct, fixed(r.search.seconds, 2), search::to_string(r.search.why));
    if (!r.search.failure.empty()) out += format_text("failed   {}\n", r.search.failure);
    if (r.split.parts > 0)
        out += format_text("split    {} parts ({} distinct), {} windows ({} distinct){}", r.split.parts,
                           r.split.distinct_parts, r.split.windows, r.split.distinct_windows,
                           r.split.better_whole ? ", but better as a whole\n" : "\n");
    if (r.canonicalized.total() > 0)
        out += format_text("cleaned  {} simplified, {} shared, {} erased\n", r.canonicalized.simplified,
                           r.canonicalized.shared, r.canonicalized.erased);
    std::map<std::string, std::size_t> counts;
    for (auto const& a : r.applied) ++counts[a.rule];
    if (!counts.empty()) out += "applied\n";
    for (auto const& entry : counts) out += format_text("  {} x {}\n", entry.second, entry.first);
    return out + to_text(r.verification);
}

} // namespace gsub::report
