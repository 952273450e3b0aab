// grouped_graph: a module inlined into one graph that keeps the groups of its functions.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/ir/module.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gsub {

/// Inlined graph, with the function that each of its operators is of.
struct grouped_graph {
    any_graph graph;
    /// By node id, a number for each call of a function that is `primitive`, from 1 on; 0: of no such function. Empty
    /// where the module has none.
    std::vector<std::uint32_t> within{};
};

/// Inlines all calls, and every `If` of known condition, into the graph of an entry point. Functions that a primitive
/// one calls are in its group. *Errors* as `module::inlined`.
GSUB_LAZY [[nodiscard]] result<grouped_graph> inline_groups(module const& m, std::string_view entry = "main");

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/grouped_graph.ipp>
#endif
