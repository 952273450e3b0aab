// expect: a cost model has a member type `unit` and operator()(graph) that returns it
#include <gsub/cost/concepts.hpp>

struct bytes_as_seconds {
    using unit = gsub::seconds;
    gsub::bytes operator()(gsub::any_graph const&) const { return {1}; }
};

bytes_as_seconds const model;
auto const erased = gsub::cost::erase(model);
