// expect: a cost model has a member type `unit` and operator()(graph) that returns it
#include <gsub/optimize/optimize.hpp>

struct no_unit {
    double operator()(gsub::any_graph const&) const { return 1; }
};

auto optimized(gsub::graph const& g) {
    return gsub::optimize(g, no_unit{});
}
