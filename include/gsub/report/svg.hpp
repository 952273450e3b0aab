// SVG export: graphs as pictures that every browser shows, laid out here.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/graph.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::report {

/// Options of `to_svg`: what a picture shows beside operators and shapes.
struct picture_options {
    std::vector<double> share{}; ///< of the whole cost, by node id, 0 to 1; the longest bar is the largest; empty: none
    std::vector<bool> marked{};  ///< nodes to point out, by node id; empty: none
    std::string_view mark{};     ///< what marked nodes are, for the tooltip: `made by the search`
    bool alone = true;           ///< a file of its own, with style sheet and namespace; else a part of a page
    std::size_t max_boxes = 5000; ///< beyond that nobody reads it
};

/// Draws a graph as SVG: a box for each operator that depends on an input, and for each input and output; weights and
/// arithmetic on them are left out. A box shows the operator with its kernel, strides and activation, the shape of the
/// first result (f32 unless it says otherwise) and the name; its tooltip shows all results, attributes and sources.
/// Names are escaped. Follows the reader's choice of light and dark. The same for equal graphs with equal names in the
/// same order. *Errors* `unsupported` beyond `max_boxes`, or where the lines bend too often.
GSUB_LAZY [[nodiscard]] result<std::string> to_svg(any_graph const& g, picture_options const& options = {});

/// The style sheet of pictures, for pages that hold some. Colours are variables, defined for light and for dark.
GSUB_LAZY [[nodiscard]] std::string_view picture_style();

/// Caption of an operator in a picture: `Conv 3x3/2 g32 + relu`, with the sign for times.
GSUB_LAZY [[nodiscard]] std::string caption(any_graph const& g, node_id n);

/// Nodes that the other graph lacks, by node id: no node there has the same operator, attributes, sources and types of
/// operands and results.
GSUB_LAZY [[nodiscard]] std::vector<bool> nodes_without_counterpart(any_graph const& g, any_graph const& other);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/svg.ipp>
#endif
