// DOT export: graphs as pictures, for Graphviz.
#pragma once

#include <gsub/ir/graph.hpp>

#include <string>

namespace gsub::report {

/// Writes a graph in the DOT language: a box for each operator with its type, constants left out, weight arithmetic
/// dashed. Names from the model are escaped; node identifiers are made here.
GSUB_LAZY [[nodiscard]] std::string to_dot(any_graph const& g);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/dot.ipp>
#endif
