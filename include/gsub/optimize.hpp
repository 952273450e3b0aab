// Layer optimize: relaxed graph substitution: the search over rewrites of a graph.
#pragma once

#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/optimize/graph_parts.hpp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/optimize/relaxed_substitution.hpp>
#include <gsub/optimize/rewrite_weights.hpp>
#include <gsub/optimize/search_graph.hpp>
#include <gsub/optimize/search_log.hpp>
#include <gsub/optimize/search_part.hpp>
#include <gsub/optimize/substitution.hpp>
