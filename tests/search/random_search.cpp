#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/random_search.hpp>

#include <map>

using namespace black_box;
static_assert(sampler<random_search<product_space>>);

TEST_CASE("random search draws every point about equally often, and other points for another seed") {
    product_space const space{{dimension::ordinal(3), dimension::categorical(4)}};
    random_search method{space, 7}, other{space, 8};
    std::map<point, int> count;
    auto const points = method.ask(6000);
    for (auto const& p : points) ++count[p];
    CHECK(count.size() == 12);
    for (auto const& [p, times] : count) CHECK(std::abs(times - 500) < 100);
    CHECK(points != other.ask(6000));
    CHECK(points != method.ask(6000));
}
