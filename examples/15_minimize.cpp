// Black-box search without kernels: a valley, a knapsack and a choice of settings, by methods of one interface, and one
// by hand, by ask and tell.
#include "require.hpp"
#include <gsub/core/executor.hpp>
#include <gsub/search.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <vector>

namespace {

using namespace gsub;
using point = search::product_space::point;

// Evolution strategies, beside random points, in a curved valley of ten dimensions.
void valley() {
    search::product_space const space{std::vector(10, search::dimension::real(-3, 2))};
    auto const height = [](point const& p) { return search::rosenbrock(p); };
    auto const evolved = search::minimize(search::evolution_search{space, {.seed = 1}}, height, {.budget = 2000});
    auto const drawn = search::minimize(search::random_search{space, 1}, height, {.budget = 2000});
    std::cout << "valley: " << evolved.score() << " by evolution, " << drawn.score() << " by random points\n";
    require(evolved.score() < 0.1 * drawn.score(), "evolution follows the valley");
    require(evolved.why == search::stop_reason::steps && evolved.scored == 2000, "each search says why it stopped");
}

// Thirty items, of which some fit into a sack: by every method. Points that are too heavy are infeasible.
void sack() {
    auto const items = search::knapsack::random(30, 7);
    auto const space = items.space();
    auto const score = [&](point const& taken) { return items.score(taken); };
    fork_join_executor threads{2};
    search::minimize_options const options{.budget = 3000, .keep = 5, .threads = &threads};
    auto const evolved = search::minimize(search::evolution_search{space}, score, options);
    auto const annealed = search::minimize(search::simulated_annealing{space}, score, options);
    auto const drawn = search::minimize(search::random_search{space}, score, options);
    std::cout << "sack: worth " << -evolved.score() << " by evolution, " << -annealed.score() << " by annealing, "
              << -drawn.score() << " by random points, at most " << -items.least_score() << '\n';
    require(evolved.score() < drawn.score() && annealed.score() < drawn.score(), "both beat random points");
    require(evolved.best.size() == 5, "the five best are kept");
    auto const alone = search::minimize(search::evolution_search{space}, score, {.budget = 3000, .keep = 5});
    require(alone.best == evolved.best, "the result is the same for any number of threads");
}

// A choice, an order and a number, by ask and tell: the loop is the program's own.
void settings() {
    search::product_space const space{
        {search::dimension::categorical(3), search::dimension::ordinal(16), search::dimension::real(0, 1)}};
    auto const seconds = [](point const& p) {
        return (p[0] == 2 ? 1.0 : 1.5) + 0.01 * std::pow(p[1] - 11, 2) + std::pow(p[2] - 0.3, 2);
    };
    search::evolution_search method{space, {.seed = 3}};
    double best = std::numeric_limits<double>::infinity();
    for (int batch = 0; batch < 100; ++batch) {
        auto const points = method.ask(8);
        std::vector<double> scores;
        for (auto const& p : points) scores.push_back(seconds(p));
        for (double s : scores) best = std::min(best, s);
        method.tell(points, scores);
    }
    std::cout << "settings: " << best << " s, at least 1\n";
    require(best < 1.001, "the right choice, the right number");
}

// All of a small space: sixteen values of one setting.
void everything() {
    search::product_space const space{{search::dimension::ordinal(16)}};
    auto const found =
        search::minimize(search::exhaustive_search{space}, [](point const& p) { return std::cos(p[0]); });
    require(found.why == search::stop_reason::exhausted && found.scored == 16, "each value is tried once");
    require(found.best.front().point == point{3}, "the best is the one nearest to pi");
}

} // namespace

int main() {
    valley();
    sack();
    settings();
    everything();
}
