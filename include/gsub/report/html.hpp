// HTML report: one page about an optimization that opens anywhere.
#pragma once

#include <gsub/cost/concepts.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/optimize/optimize.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub::report {

/// Facts of an HTML page beside graphs and report.
struct page_facts {
    std::string model;                                           ///< what was optimized, e.g. the name of its file
    std::string cost_model;                                      ///< in words
    std::vector<std::pair<std::string, std::string>> settings{}; ///< further lines of the summary: name and value
    std::span<rule_program const> rules{}; ///< in which laws and kinds of the applied ones are looked up
    cost::any_cost const* costs = nullptr; ///< for the share of each node; null or not additive: none are shown
    std::size_t max_boxes = 5000;          ///< of a picture; larger graphs are described instead
};

/// HTML report: one file that needs no network, no script and no other file. It shows costs before and after, where
/// they lie, how the search went, each applied rewrite with its law and its proof, and both graphs as pictures with the
/// changes marked. It is well-formed XML too. Texts from the model are escaped. Light or dark as the reader's system.
/// The same for the same arguments, times apart.
GSUB_LAZY [[nodiscard]] std::string to_html(any_graph const& before, any_graph const& after, optimize_report const& r,
                                            page_facts const& facts);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/html.ipp>
#include <gsub/report/impl/html_chart.ipp>
#include <gsub/report/impl/html_page.ipp>
#endif
