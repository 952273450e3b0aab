#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/cost/ranked_pairs.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace ranked_pairs_test {

using namespace gsub;
using cost::rank_pairs;

constexpr double rising[] = {1, 2, 3, 4}, exchanged[] = {1, 3, 2, 4}, level[] = {1, 2, 2.02, 4};
static_assert(rank_pairs(rising, rising) == cost::ranked_pairs{6, 0, 0, 0});
static_assert(rank_pairs(rising, exchanged) == cost::ranked_pairs{5, 1, 0, 0});
static_assert(rank_pairs(exchanged, level).discordant == 1 && rank_pairs(exchanged, level, 0.03).discordant == 0);
static_assert(rank_pairs(exchanged, level, 0.03).tied_second == 1 && rank_pairs(level, level, 0.03).tied_first == 0);

std::vector<double> numbers(random_stream& random, std::size_t count) {
    std::vector<double> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(1 + static_cast<double>(random.below(6)));
    return out;
}

TEST_CASE("tau is 1 for the same order, -1 for the reverse, and forgets scales") {
    random_stream random{7};
    for (int round = 0; round < 50; ++round) {
        auto const a = numbers(random, 12), b = numbers(random, 12);
        auto scaled = a, reversed = a;
        for (auto& v : scaled) v = std::sqrt(v) * 3;
        for (auto& v : reversed) v = 1 / v;
        CHECK(rank_pairs(a, b) == rank_pairs(scaled, b));
        auto const self = rank_pairs(a, a), against = rank_pairs(reversed, a);
        CHECK(self.discordant + self.tied_first + self.tied_second == 0);
        CHECK(against.concordant + against.tied_first + against.tied_second == 0);
        if (self.concordant > 0) {
            CHECK(self.tau() == 1);
            CHECK(self.tau_b() == Approx(1));
            CHECK(against.tau() == -1);
            CHECK(against.tau_b() == Approx(-1));
        }
        auto const one = rank_pairs(a, b), other = rank_pairs(b, a);
        CHECK(one.tau_b() == Approx(other.tau_b()));
        CHECK(one.tied_first == other.tied_second);
        CHECK(std::abs(one.tau()) <= 1);
    }
}

TEST_CASE("pairs of several sets add up, and none of two sets is counted") {
    random_stream random{3};
    auto const a = numbers(random, 9), b = numbers(random, 9), c = numbers(random, 5), d = numbers(random, 5);
    auto sum = rank_pairs(a, b);
    sum += rank_pairs(c, d);
    auto const one = rank_pairs(a, b), two = rank_pairs(c, d);
    CHECK(sum.concordant == one.concordant + two.concordant);
    CHECK(sum.discordant == one.discordant + two.discordant);
    CHECK(sum.tied_first == one.tied_first + two.tied_first);
    CHECK(sum.tied_second == one.tied_second + two.tied_second);
    CHECK(std::isnan(cost::ranked_pairs{}.tau()));
    CHECK(std::isnan(rank_pairs(std::vector{1.0, 1.0}, std::vector{2.0, 2.0}).tau_b()));
}

} // namespace ranked_pairs_test
