// pass_steps: what passes begin and end with.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/ir/module.hpp>

#include <string>
#include <vector>

namespace gsub {
struct pass_info;
struct pass_outcome;
} // namespace gsub

namespace gsub::passes::detail {

/// The functions that a pass on modules looks into, by name; it skips those that are opaque to it.
GSUB_LAZY [[nodiscard]] std::vector<std::string> functions_seen(pass_info const& by, module const& m,
                                                                pass_outcome& outcome);

/// Ends a pass whose matches have others in their places: puts the graph in order, and erases what nothing reads.
/// `why` says why there is an order.
GSUB_LAZY void finish_replacements(any_graph& g, pass_outcome& outcome, char const* why);
/// The same, but erases first, so that what nothing reads has no say in the order.
GSUB_LAZY void erase_and_finish(any_graph& g, pass_outcome& outcome, char const* why);

} // namespace gsub::passes::detail
