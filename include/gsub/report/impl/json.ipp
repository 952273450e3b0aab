#pragma once

#include <gsub/core/config.hpp>
#include <gsub/report/json.hpp>
#include <gsub/report/weight_matrix.hpp>

namespace gsub::report {

GSUB_INLINE io::json to_json(graph_summary const& s) {
    auto const values = [](auto const& list) {
        auto out = io::json::array();
        for (auto const& entry : list) out.push_back({{"name", entry.first}, {"type", entry.second}});
        return out;
    };
    io::json operators = io::json::object();
    for (auto const& entry : s.operators) operators[entry.first] = entry.second;
    return {
        {"inputs", values(s.inputs)}, {"outputs", values(s.outputs)},   {"nodes", s.nodes}, {"constants", s.constants},
        {"parameters", s.parameters}, {"weight_bytes", s.weight_bytes}, {"flop", s.flop},   {"bytes_moved", s.bytes},
        {"peak_bytes", s.peak_bytes}, {"operators", operators}};
}

GSUB_INLINE io::json to_json(verification_report const& v) {
    return {{"equal", v.equal},
            {"different", v.different},
            {"whole_graph_in_field", v.whole_in_field},
            {"inputs_reduced_to", v.reduced_to},
            {"rewrites_checked", v.rewrites_checked},
            {"rewrites_skipped", v.rewrites_skipped},
            {"on_numbers", v.on_numbers},
            {"max_relative_error", v.max_relative_error},
            {"notes", v.notes}};
}

GSUB_INLINE io::json to_json(optimize_report const& r) {
    auto const cost = [&](double value) { return io::json{{"value", value}, {"unit", r.unit}}; };
    auto applied = io::json::array();
    for (auto const& a : r.applied) {
        applied.push_back({{"rule", a.rule}, {"site", a.site}, {"cost_after", a.cost_after}});
        if (a.check != rewrite_check::not_asked) applied.back()["verified"] = to_string(a.check);
    }
    auto history = io::json::array();
    for (auto const& h : r.search.history) history.push_back({{"graphs_explored", h.steps}, {"cost", h.cost}});
    io::json out{{"cost_before", cost(r.cost_before)},
                 {"cost_after", cost(r.cost_after)},
                 {"cost_start", cost(r.cost_start)},
                 {"kernels_before", r.nodes_before},
                 {"kernels_after", r.nodes_after},
                 {"graphs_explored", r.search.expanded},
                 {"graphs_known_before", r.remembered},
                 {"replayed", r.replayed},
                 {"graphs_generated", r.search.generated},
                 {"graphs_distinct", r.search.distinct},
                 {"graphs_dropped", r.search.dropped},
                 {"matches_not_applicable", r.inapplicable},
                 {"seconds", r.search.seconds},
                 {"stop_reason", search::to_string(r.search.why)},
                 {"failure", r.search.failure},
                 {"canonicalized",
                  {{"simplified", r.canonicalized.simplified},
                   {"shared", r.canonicalized.shared},
                   {"erased", r.canonicalized.erased}}},
                 {"split",
                  {{"whole_because", r.split.why_whole},
                   {"better_whole", r.split.better_whole},
                   {"bound", r.split.bound},
                   {"parts", r.split.parts},
                   {"distinct_parts", r.split.distinct_parts},
                   {"windows", r.split.windows},
                   {"distinct_windows", r.split.distinct_windows},
                   {"cut_weights", r.split.cuts}}},
                 {"applied", applied},
                 {"history", history}};
    if (r.verification.attempted) out["verification"] = to_json(r.verification);
    return out;
}

GSUB_INLINE io::json to_json(rewrite_weights const& weights, std::size_t max_elements) {
    auto const listed = [&](std::vector<operand_weight> const& list) {
        auto out = io::json::array();
        for (auto const& w : list) {
            auto const kernels = count_kernels(w.elements);
            out.push_back({{"op", w.op},
                           {"reader", w.reader},
                           {"operand", w.operand},
                           {"formula", w.formula},
                           {"type", to_string(w.elements.type())}});
            if (kernels.all > 0)
                out.back()["kernels"] = {{"all", kernels.all}, {"zero", kernels.zero}, {"identity", kernels.identity}};
            if (static_cast<std::size_t>(w.elements.elements()) > max_elements) continue;
            auto const numbers = w.elements.converted_to(dtype::f64);
            auto const all = numbers.data<double>();
            out.back()["elements"] = std::vector<double>(all.begin(), all.end());
        }
        return out;
    };
    return {{"read", listed(weights.read)}, {"built", listed(weights.built)}};
}

GSUB_INLINE io::json to_json(application_report const& r) {
    auto const cost = [&](double value) { return io::json{{"value", value}, {"unit", r.unit}}; };
    auto const nodes = [](std::vector<rewritten_node> const& list) {
        auto out = io::json::array();
        for (auto const& n : list)
            out.push_back({{"op", n.op},
                           {"name", n.name},
                           {"operands", n.operands},
                           {"attributes", n.attributes},
                           {"type", n.type}});
        return out;
    };
    auto made = io::json::array();
    for (auto const& m : r.made) {
        made.push_back({{"rule", m.rule},
                        {"site", m.site},
                        {"hint", m.hint},
                        {"choices", m.choices},
                        {"cost_before", m.cost_before},
                        {"cost_after", m.cost_after},
                        {"removed", nodes(m.removed)},
                        {"added", nodes(m.added)}});
        if (m.check != rewrite_check::not_asked) made.back()["verified"] = to_string(m.check);
    }
    io::json out{{"cost_before", cost(r.cost_before)},
                 {"cost_start", cost(r.cost_start)},
                 {"cost_after", cost(r.cost_after)},
                 {"made", made}};
    if (r.verification.attempted) out["verification"] = to_json(r.verification);
    return out;
}

} // namespace gsub::report
