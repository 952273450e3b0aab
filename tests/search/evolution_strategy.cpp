#include "catch.hpp"
#include <gsub/search/evolution_strategy.hpp>
#include <gsub/search/sampler.hpp>
#include <gsub/search/test_functions.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace evolution_strategy_test {

using namespace gsub;
using search::centred_ranks;
using search::evolution_options;
using search::evolution_strategy;

double sphere(std::vector<double> const& x) {
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}

// One generation; `score` of the points. Gives the points.
template <class Score>
std::vector<std::vector<double>> generation(evolution_strategy& s, Score score) {
    auto const points = s.ask(1000);
    std::vector<double> scores;
    for (auto const& x : points) scores.push_back(score(x));
    s.tell(scores);
    return points;
}

TEST_CASE("ranks are centred, keep the order, share what is equal and add up to nothing") {
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    CHECK(centred_ranks(std::vector<double>{3, 1, 2}) == std::vector{-0.5, 0.5, 0.0});
    CHECK(centred_ranks(std::vector<double>{infinity, 1, infinity, 0, infinity}) ==
          std::vector{-0.25, 0.25, -0.25, 0.5, -0.25});
    CHECK(centred_ranks(std::vector<double>{7}) == std::vector{0.0});
    CHECK(centred_ranks({}).empty());
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        random_stream r{seed};
        std::vector<double> scores(2 + r.below(30));
        for (auto& s : scores) s = static_cast<double>(r.below(8));
        auto const ranks = centred_ranks(scores);
        CHECK(std::accumulate(ranks.begin(), ranks.end(), 0.0) == Approx(0).margin(1e-9));
        for (std::size_t i = 0; i < scores.size(); ++i)
            for (std::size_t j = 0; j < scores.size(); ++j) {
                CHECK((scores[i] < scores[j]) == (ranks[i] > ranks[j]));
                CHECK((scores[i] == scores[j]) == (ranks[i] == ranks[j]));
            }
    }
}

TEST_CASE("a generation is the mean and pairs on opposite sides of it, and the mean moves as algorithm 4 says") {
    evolution_options const o{.alpha = 0.3, .sigma = 0.2, .decay = 0.9, .population = 6};
    evolution_strategy s{{1, -2, 0.5}, o, random_stream{4}};
    for (int t = 0; t < 5; ++t) {
        auto const theta = s.mean();
        auto const sigma = s.sigma();
        CHECK(sigma == Approx(0.2 * std::pow(0.9, t)));
        std::vector<double> scores;
        auto const points = generation(s, [&](auto const& x) { return scores.emplace_back(sphere(x)); });
        REQUIRE(points.size() == 7);
        CHECK(points[0] == theta);
        for (std::size_t d = 0; d < 3; ++d) {
            for (std::size_t i = 1; i < 7; i += 2) CHECK(points[i][d] + points[i + 1][d] == Approx(2 * theta[d]));
            // The brute form of the update, over the whole population.
            auto const ranks = centred_ranks(std::span{scores}.subspan(1));
            double sum = 0;
            for (std::size_t i = 1; i < 7; ++i) sum += ranks[i - 1] * (points[i][d] - theta[d]) / sigma;
            auto const alpha = 0.3 * (sigma / 0.2) * (sigma / 0.2);
            CHECK(s.mean()[d] == Approx(theta[d] + alpha / (6 * sigma) * sum));
        }
    }
    CHECK(s.generation() == 5);
}

TEST_CASE("only the order of scores counts, and all equal leave the mean where it is") {
    auto const run = [](auto score) {
        evolution_strategy s{{1, 1}, {}, random_stream{1}};
        for (int i = 0; i < 10; ++i) generation(s, score);
        return s.mean();
    };
    CHECK(run(sphere) == run([](auto const& x) { return std::exp(3 * sphere(x)) - 7; }));
    CHECK(run([](auto const&) { return 5; }) == std::vector<double>{1, 1});
}

TEST_CASE("points may be asked and told in pieces") {
    evolution_strategy whole{{1, 1, 1}, {}, random_stream{1}}, pieces{{1, 1, 1}, {}, random_stream{1}};
    for (int i = 0; i < 5; ++i) {
        generation(whole, sphere);
        for (std::size_t told = 0; told < 33;) {
            auto const points = pieces.ask(5);
            std::vector<double> scores;
            for (auto const& x : points) scores.push_back(sphere(x));
            pieces.tell(scores);
            told += points.size();
        }
        CHECK(pieces.mean() == whole.mean());
    }
}

TEST_CASE("the mean approaches the minimum, and a run ends by patience, by its noise and by generations") {
    evolution_strategy s{std::vector<double>(8, 0.5), {.seed = 0}, random_stream{2}};
    while (!s.finished()) generation(s, sphere);
    CHECK(sphere(s.mean()) < 1e-2);
    evolution_strategy flat{{0}, {.patience = 6}, random_stream{2}};
    while (!flat.finished()) generation(flat, [](auto const&) { return 1; });
    CHECK(flat.generation() == 7); // the first is better than nothing
    evolution_strategy brief{{0}, {.generations = 3}, random_stream{2}};
    while (!brief.finished()) generation(brief, sphere);
    CHECK(brief.generation() == 3);
    evolution_strategy falling{{0}, {.sigma = 1, .decay = 0.5, .least_sigma = 0.2, .patience = 99}, random_stream{2}};
    while (!falling.finished()) generation(falling, sphere);
    CHECK(falling.generation() == 3);
}

TEST_CASE("a score that is not a number is an error") {
    evolution_strategy s{{0, 0}, {}, random_stream{1}};
    static_cast<void>(s.ask(2));
    std::vector<double> const scores{1, std::nan("")};
    CHECK_THROWS_WITH(s.tell(scores), Catch::Contains("score 2"));
}

} // namespace evolution_strategy_test
