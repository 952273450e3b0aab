// Graphs as searches take them, and rules by name.
#pragma once

#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/engine/canonicalize.hpp>

#include <string_view>
#include <vector>

namespace prepared_graph {

using namespace gsub;

inline std::vector<rule_program> chosen_rules(std::string_view list) {
    return choose_rules(standard_rules(), list).value();
}

inline any_graph prepared(any_graph const& from) {
    auto g = from;
    g.order_canonically();
    canonicalize(g);
    g.order_canonically();
    g.compact();
    return g;
}

} // namespace prepared_graph
