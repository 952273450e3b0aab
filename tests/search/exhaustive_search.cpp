#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/exhaustive_search.hpp>

#include <set>

using namespace black_box;
static_assert(sampler<exhaustive_search<product_space>>);

TEST_CASE("exhaustive search visits each point once and finds the best") {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        CAPTURE(seed);
        auto const sack = knapsack::random(10, seed);
        auto const space = sack.space();
        std::set<point> seen;
        auto const found = minimize(exhaustive_search{space},
                                    [&](point const& p) {
                                        CHECK(seen.insert(p).second);
                                        return sack.score(p);
                                    },
                                    {.budget = 100'000});
        CHECK(seen.size() == 1024);
        CHECK(found.scored == 1024);
        CHECK(found.repeated == 0);
        CHECK(found.why == stop_reason::exhausted);
        CHECK(found.score() == sack.least_score());
    }
    product_space const one{{}};
    exhaustive_search method{one};
    CHECK(method.ask(5).size() == 1);
    CHECK(method.ask(5).empty());
}
