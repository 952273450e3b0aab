// JSON of graph summaries and of optimize reports. Includes the JSON library; not part of the umbrella.
#pragma once

#include <gsub/io/json.hpp>
#include <gsub/optimize/optimize.hpp>
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

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/json.ipp>
#endif
