#pragma once

#include <gsub/core/message.hpp>
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
            ++s.operators[g.is<ops::opaque>(n) ? message({g.attributes<ops::opaque>(n).op_type, " (unknown)"})
                                               : std::string{a.name}];
        }
    }
    for (std::size_t i = 0; i < g.output_count(); ++i)
        s.outputs.emplace_back(i < g.info().output_names.size() ? g.info().output_names[i] : message({"output_", i}),
                               to_string(g.type(g.output(i))));
    s.flop = cost::flop_cost{}(g).amount;
    s.bytes = cost::byte_cost{}(g).amount;
    s.peak_bytes = cost::peak_memory{}(g).amount;
    return s;
}

GSUB_INLINE std::string to_text(graph_summary const& s) {
    std::string out;
    for (auto const& [name, type] : s.inputs) out += message({"input   ", name, "  ", type, "\n"});
    for (auto const& [name, type] : s.outputs) out += message({"output  ", name, "  ", type, "\n"});
    out += message({s.nodes, " nodes, ", s.constants, " constants, ", s.parameters, " parameters (",
                    human(s.weight_bytes, "B"), ")\n"});
    out += message({human(s.flop, "FLOP"), " and ", human(s.bytes, "B"), " moved a run, ", human(s.peak_bytes, "B"),
                    " of intermediate results at most\n\n"});
    std::vector<std::pair<std::string, std::size_t>> sorted(s.operators.begin(), s.operators.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    table t{{"nodes", "operator"}};
    for (auto const& entry : sorted) t.add({message({entry.second}), entry.first});
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
        out += message({", whole graph in the prime field",
                        v.reduced_to.empty() ? "" : message({" (inputs reduced to ", v.reduced_to, ")"})});
    if (v.rewrites_checked + v.rewrites_skipped > 0)
        out += message(
            {", ", v.rewrites_checked, " of ", v.rewrites_checked + v.rewrites_skipped, " rewrites one by one"});
    if (v.on_numbers) out += message({", numbers within ", brief(v.max_relative_error), " of double precision"});
    out += '\n';
    for (auto const& n : v.notes) out += message({"  ", n, "\n"});
    return out;
}

GSUB_INLINE std::string to_text(optimize_report const& r) {
    auto const gain = r.cost_before > 0 ? 1 - r.cost_after / r.cost_before : 0;
    std::string out = message(
        {"cost     ", human(r.cost_before, r.unit), " -> ", human(r.cost_after, r.unit), " (", percent(-gain), ")\n"});
    out += message({"kernels  ", r.nodes_before, " -> ", r.nodes_after, "\n"});
    out += message({r.replayed ? "replay   " : "search   ", r.search.expanded, " graphs expanded",
                    r.remembered > 0 ? message({" (", r.remembered, " known before)"}) : "", ", ", r.search.distinct,
                    " distinct, ", fixed(r.search.seconds, 2), " s, stopped: ", search::to_string(r.search.why), "\n"});
    if (!r.search.failure.empty()) out += message({"failed   ", r.search.failure, "\n"});
    if (r.split.parts > 0)
        out += message({"split    ", r.split.parts, " parts (", r.split.distinct_parts, " distinct), ", r.split.windows,
                        " windows (", r.split.distinct_windows, " distinct)",
                        r.split.better_whole ? ", but better as a whole\n" : "\n"});
    if (r.canonicalized.total() > 0)
        out += message({"cleaned  ", r.canonicalized.simplified, " simplified, ", r.canonicalized.shared, " shared, ",
                        r.canonicalized.erased, " erased\n"});
    std::map<std::string, std::size_t> counts;
    for (auto const& a : r.applied) ++counts[a.rule];
    if (!counts.empty()) out += "applied\n";
    for (auto const& entry : counts) out += message({"  ", entry.second, " x ", entry.first, "\n"});
    return out + to_text(r.verification);
}

} // namespace gsub::report
