// JSON of graph summaries and of optimize reports. Includes the JSON library; not part of the umbrella.
#pragma once

#include <gsub/io/json.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/rewrite_weights.hpp>
#include <gsub/report/summary.hpp>

namespace gsub::report {

/// JSON of a graph summary: `inputs`, `outputs` (name and type), `nodes`, `constants`, `parameters`, `weight_bytes`,
/// `flop`, `bytes_moved`, `peak_bytes`, `operators`.
[[nodiscard]] io::json to_json(graph_summary const& s);
/// JSON of an optimize report: `cost_before` and `cost_after` as `{value, unit}`, `graphs_explored` (expanded),
/// `graphs_known_before` (of these), `replayed`, `seconds`, `stop_reason`, `applied` as `{rule, site, cost_after}`,
/// `history`, and where there was a verification `verified` in the entries of `applied` (`equal`, `skipped` or
/// `different`) and `verification`.
[[nodiscard]] io::json to_json(optimize_report const& r);
/// JSON of a verification report: `equal`, `different`, `whole_graph_in_field`, `max_relative_error` and so on.
[[nodiscard]] io::json to_json(verification_report const& v);
/// JSON of a rewrite's weights: `read` and `built`, lists of `{op, reader, operand, formula, type, kernels, elements}`.
/// `kernels` counts those that are `zero` or the `identity`; more than `max_elements` elements are left out.
[[nodiscard]] io::json to_json(rewrite_weights const& w, std::size_t max_elements = 4096);
/// JSON of named rewrites: `cost_before`, `cost_start` and `cost_after` as `{value, unit}`, `made` as `{rule, site,
/// hint, choices, cost_before, cost_after, removed, added}`, and `verification` where there was one.
[[nodiscard]] io::json to_json(application_report const& r);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/json.ipp>
#endif
