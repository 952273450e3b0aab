// opaque_message: the node of a file that an opaque node of a graph holds.
#pragma once

#include <gsub/ir/graph.hpp>

#include <string_view>

namespace gsub::io::detail {

/// The serialised node, without the names that the graph itself keeps. *Requires* an opaque node.
[[nodiscard]] inline std::string_view opaque_message(any_graph const& g, node_id n) {
    auto const raw = g.constant_data(n).raw();
    return {reinterpret_cast<char const*>(raw.data()), raw.size()};
}

} // namespace gsub::io::detail
