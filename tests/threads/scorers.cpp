// Searches on threads and processes, with what they need of src/tune.cpp alone.
#include "catch.hpp"
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/minimize.hpp>
#include <gsub/search/test_functions.hpp>
#include <gsub/tune/impl/process_scorer.ipp>
#include <gsub/tune/process_scorer.hpp>

TEST_CASE("threads and processes search as one thread does") {
    using namespace gsub;
    using point = search::product_space::point;
    auto const space = search::rosenbrock_space(4);
    auto const height = [](point const& p) { return search::rosenbrock(p); };
    search::minimize_options const o{.budget = 300, .keep = 3};
    auto const alone = search::minimize(search::evolution_search{space, {.seed = 1}}, height, o);
    {
        tune::process_scorer<point> processes{height, {.workers = 3}};
        CHECK(search::minimize(search::evolution_search{space, {.seed = 1}}, processes, o).best == alone.best);
    }
    fork_join_executor four{4};
    search::thread_scorer threads{height, &four};
    CHECK(search::minimize(search::evolution_search{space, {.seed = 1}}, threads, o).best == alone.best);
}
