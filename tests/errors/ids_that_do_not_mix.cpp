// expect: value_id
#include <gsub/ir/graph.hpp>

std::size_t readers(gsub::any_graph const& g, gsub::node_id n) {
    return g.use_count(n); // of which of its results?
}
