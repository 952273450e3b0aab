#include "catch.hpp"
#include <gsub/core/algorithm.hpp>
#include <gsub/core/random.hpp>

#include <algorithm>
#include <vector>

namespace algorithm_test {

using namespace gsub;

std::vector<int> draw(random_stream& random) {
    std::vector<int> list(random.below(6));
    for (auto& x : list) x = static_cast<int>(random.below(4));
    return list;
}

TEST_CASE("loops over ranges answer as those of the standard library") {
    random_stream random{1};
    for (int trial = 0; trial < 200; ++trial) {
        auto const list = draw(random), more = draw(random);
        auto const even = [](int x) { return x % 2 == 0; };
        CHECK(any_of(list, even) == std::any_of(list.begin(), list.end(), even));
        CHECK(all_of(list, even) == std::all_of(list.begin(), list.end(), even));
        CHECK(contains(list, 2) == (std::count(list.begin(), list.end(), 2) > 0));
        auto joined = list, expected = list;
        append(joined, more);
        expected.insert(expected.end(), more.begin(), more.end());
        CHECK(joined == expected);
    }
}

static_assert(!any_of(std::vector<int>{}, [](int) { return true; }));
static_assert(all_of(std::vector<int>{}, [](int) { return false; }));

} // namespace algorithm_test
