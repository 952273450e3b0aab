#include "catch.hpp"
#include <gsub/core/algorithm.hpp>
#include <gsub/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
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

TEST_CASE("a view has the elements of its vector, and sorting by pointers sorts as by iterators") {
    random_stream random{2};
    for (int trial = 0; trial < 200; ++trial) {
        auto const list = draw(random);
        CHECK(as_span(list).data() == list.data());
        CHECK(as_span(list).size() == list.size());
        auto sorted = list, expected = list;
        gsub::sort(sorted);
        std::sort(expected.begin(), expected.end());
        CHECK(sorted == expected);
        auto const parity = [](int a, int b) { return a % 2 < b % 2; };
        auto stable = list, expected_stable = list;
        gsub::stable_sort(stable, parity);
        std::stable_sort(expected_stable.begin(), expected_stable.end(), parity);
        CHECK(stable == expected_stable);
    }
}

TEST_CASE("algorithm: the greatest magnitude is that of all elements, NaN where one is") {
    for (std::size_t n : {0u, 1u, 31u, 32u, 33u, 100u}) {
        std::vector<float> all(n, -1.0f);
        CHECK(gsub::greatest_magnitude(all) == (n > 0 ? 1.0f : 0.0f));
        for (std::size_t i = 0; i < n; i += 7) {
            auto changed = all;
            changed[i] = -2.5f;
            CHECK(gsub::greatest_magnitude(changed) == 2.5f);
            changed[i] = std::numeric_limits<float>::infinity();
            CHECK(gsub::greatest_magnitude(changed) == changed[i]);
            changed[n - 1] = -std::numeric_limits<float>::quiet_NaN();
            CHECK(std::isnan(gsub::greatest_magnitude(changed)));
        }
    }
    CHECK(gsub::greatest_magnitude(std::vector{-1e-40f, 0.0f}) == 1e-40f);
}

static_assert(!any_of(std::vector<int>{}, [](int) { return true; }));
static_assert(all_of(std::vector<int>{}, [](int) { return false; }));

} // namespace algorithm_test
