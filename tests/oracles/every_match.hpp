// Matches of a rule in a graph by trying everything: the oracle of the matcher.
#pragma once

#include <gsub/rewrite/engine/matcher.hpp>

#include <string>
#include <vector>

namespace every_match {

/// What a match says, as text: roots in order, then what each name stands for.
std::string told(gsub::match const& m);

/// All matches of a rule of fixed shape, told and in order: every node of the graph is tried for every operator of the
/// pattern, and both orders of operands.
std::vector<std::string> of(gsub::any_graph const& g, gsub::rule_program const& rule);

} // namespace every_match
