// Summaries of graphs, and the texts of optimize reports and verification reports.
#pragma once

#include <gsub/ir/graph.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/optimize.hpp>

#include <map>
#include <string>

namespace gsub::report {

/// Summary of a graph: its counts, sizes and signature.
struct graph_summary {
    std::map<std::string, std::size_t> operators; ///< nodes of each operator, constants and inputs left out
    std::size_t nodes = 0, constants = 0;
    std::int64_t parameters = 0; ///< elements of all constants
    double weight_bytes = 0;
    double flop = 0, bytes = 0;                                       ///< of one run, as the cost models count them
    double peak_bytes = 0;                                            ///< of intermediate results
    std::vector<std::pair<std::string, std::string>> inputs, outputs; ///< name and type
};
[[nodiscard]] graph_summary summarize(any_graph const& g);
[[nodiscard]] std::string to_text(graph_summary const& s);

/// Text of an optimize report: costs before and after, applied rules and their sites, stop reason, verification.
[[nodiscard]] std::string to_text(optimize_report const& r);
/// Text of named rewrites: costs before and after each, and the nodes that it took away (`-`) and made (`+`).
[[nodiscard]] std::string to_text(application_report const& r);
/// Text of a verification report, a few lines.
[[nodiscard]] std::string to_text(verification_report const& v);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/summary.ipp>
#endif
