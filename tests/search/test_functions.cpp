#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/search/test_functions.hpp>

#include <algorithm>
#include <limits>
#include <vector>

using namespace gsub;
using namespace gsub::search;

TEST_CASE("functions have their least value where they should, and their spaces hold that point, not in the middle") {
    for (std::size_t const n : {std::size_t{2}, std::size_t{5}, std::size_t{10}}) {
        CHECK(rosenbrock(std::vector<double>(n, 1.0)) == 0);
        CHECK(rastrigin(std::vector<double>(n, 0.0)) == 0);
        random_stream r{n};
        auto const check = [&](product_space const& space, auto f) {
            CHECK(space.dimensions() == n);
            for (int i = 0; i < 200; ++i) CHECK(f(space.draw(r)) > 0);
            CHECK(f(space.decode(std::vector<double>(n))) > 1);
        };
        check(rosenbrock_space(n), [](auto const& p) { return rosenbrock(p); });
        check(rastrigin_space(n), [](auto const& p) { return rastrigin(p); });
    }
    CHECK(rosenbrock(std::vector<double>{0, 1}) == 101);
    CHECK(rastrigin(std::vector<double>{1, 2}) == Approx(5));
}

TEST_CASE("the least score of a knapsack is that of the best of all its subsets") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        auto const sack = knapsack::random(9, seed);
        auto const space = sack.space();
        auto least = std::numeric_limits<double>::infinity();
        int infeasible = 0;
        for (std::uint64_t i = 0; i < space.size(); ++i) {
            auto const score = sack.score(space.at(i));
            least = std::min(least, score);
            infeasible += score > 0;
        }
        CHECK(sack.least_score() == least);
        CHECK(infeasible > 100);
    }
}
