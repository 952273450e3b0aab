#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/tune_strategy.hpp>

#include <cmath>
#include <limits>

namespace tune_strategy_test {

using namespace gsub;
using namespace black_box;

// Scores with a known best pair of constants.
double distance_to(evolution_options const& o, double alpha, double sigma) {
    return std::fabs(std::log(o.alpha / alpha)) + std::fabs(std::log(o.sigma / sigma));
}

TEST_CASE("tuning finds the constants that problems want, between them where they differ, the same with any workers") {
    std::vector<strategy_problem> const problems{[](auto const& o) { return distance_to(o, 0.05, 0.4); },
                                                 [](auto const& o) { return 3 * distance_to(o, 0.5, 0.4); }};
    fork_join_executor two{2};
    strategy_tuning o;
    auto const alone = tune_strategy(problems, o);
    CHECK(std::fabs(std::log(alone.best.alpha / 0.5)) < 0.3);
    CHECK(std::fabs(std::log(alone.best.sigma / 0.4)) < 0.2);
    CHECK(alone.found.scored == 300);
    o.limits.threads = &two;
    auto const together = tune_strategy(problems, o);
    CHECK(together.best.alpha == alone.best.alpha);
    CHECK(together.best.sigma == alone.best.sigma);
    CHECK(together.score == alone.score);
}

TEST_CASE("constants found are no worse than those that tuning starts from, and seeds count up") {
    auto const p = test_problems()[1];
    std::vector<strategy_problem> const problems{[&](evolution_options const& o) {
        CHECK((o.seed == 7 || o.seed == 8));
        CHECK(o.decay == 0.8);
        return minimize(evolution_search{p.space, o}, p.objective, {.budget = 200}).score();
    }};
    strategy_tuning o{.seeds = 2, .base = {.alpha = 0.01, .decay = 0.8, .seed = 7}, .limits = {.budget = 40}};
    auto const tuned = tune_strategy(problems, o);
    CHECK(tuned.score < tuned.found.history.front().cost);
    CHECK(tuned.best.decay == 0.8);
    CHECK(tuned.best.seed == 7);
}

TEST_CASE("problems that have no finite score are an error") {
    std::vector<strategy_problem> const never{[](auto const&) { return std::numeric_limits<double>::infinity(); }};
    CHECK_THROWS_WITH(tune_strategy(never, {.limits = {.budget = 20}}), Catch::Contains("no finite score"));
    std::vector<strategy_problem> const wrong{[](auto const&) { return std::nan(""); }};
    CHECK_THROWS_WITH(tune_strategy(wrong, {.limits = {.budget = 20}}), Catch::Contains("not a number"));
}

} // namespace tune_strategy_test
