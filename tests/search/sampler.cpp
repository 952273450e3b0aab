#include "catch.hpp"
#include <gsub/search/product_space.hpp>
#include <gsub/search/random_search.hpp>
#include <gsub/search/sampler.hpp>

#include <limits>
#include <vector>

using namespace gsub;
using search::product_space;

namespace {
struct deaf { // asks, but is not told
    product_space const* over;
    product_space const& space() const { return *over; }
    std::vector<product_space::point> ask(std::size_t) { return {}; }
};
} // namespace
static_assert(search::sampler<search::random_search<product_space>>);
static_assert(!search::sampler<deaf>);

TEST_CASE("a score that is not a number is an error that names it, an infinite one is not") {
    std::vector<double> const good{1, -2, std::numeric_limits<double>::infinity()};
    CHECK_NOTHROW(search::check_scores(good));
    std::vector<double> const bad{1, std::numeric_limits<double>::quiet_NaN()};
    CHECK_THROWS_WITH(search::check_scores(bad, 40), Catch::Contains("score 42 of the objective is not a number") &&
                                                         Catch::Contains("+infinity for a point that is infeasible"));
    CHECK(capture([&] { search::check_scores(bad); }).error().id() == errors::objective_value);
    product_space const space{{search::dimension::ordinal(9)}};
    search::random_search method{space};
    auto const points = method.ask(2);
    CHECK_THROWS_AS(method.tell(points, bad), error);
}
