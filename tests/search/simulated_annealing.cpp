#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/random_search.hpp>
#include <gsub/search/simulated_annealing.hpp>

namespace simulated_annealing_test {

using namespace black_box;
static_assert(sampler<simulated_annealing<product_space>>);

TEST_CASE("with equal points scored, annealing finds better ones than random search in wide spaces") {
    for (auto const& p : test_problems()) {
        if (p.name == "rosenbrock 2") continue; // so small that random points do as well
        CAPTURE(p.name);
        auto const annealed = median_distance(p, 2000, [](auto const& s, auto seed) {
            return simulated_annealing{s, {.seed = seed}};
        });
        auto const drawn = median_distance(p, 2000, [](auto const& s, auto seed) { return random_search{s, seed}; });
        CHECK(annealed < drawn);
    }
}

TEST_CASE("annealing is the same for a seed, another for another, and begins at the start given") {
    auto const space = rastrigin_space(3);
    auto const walk = [&](annealing_options const& o, std::optional<point> start) {
        simulated_annealing method{space, o, std::move(start)};
        std::vector<point> all;
        for (int i = 0; i < 50; ++i) {
            auto const points = method.ask(100);
            CHECK(points.size() == o.chains);
            std::vector<double> scores;
            for (auto const& p : points) scores.push_back(rastrigin(p));
            method.tell(points, scores);
            all.insert(all.end(), points.begin(), points.end());
        }
        return all;
    };
    CHECK(walk({.chains = 3, .seed = 1}, {}) == walk({.chains = 3, .seed = 1}, {}));
    CHECK(walk({.chains = 3, .seed = 1}, {}) != walk({.chains = 3, .seed = 2}, {}));
    point const start{1, 2, 3};
    CHECK(walk({.chains = 3}, start).front() == start);
}

TEST_CASE("a chain that stands on an infeasible point leaves it, and never goes back to one") {
    product_space const space{{dimension::ordinal(40)}};
    auto const score = [](point const& p) { return p[0] < 20 ? std::numeric_limits<double>::infinity() : p[0]; };
    simulated_annealing method{space, {.chains = 1}, point{0}};
    bool feasible = false;
    double here = 0;
    for (int i = 0; i < 500; ++i) {
        auto const points = method.ask(1);
        std::vector<double> const scores{score(points[0])};
        method.tell(points, scores);
        feasible |= scores[0] < 100;
        if (scores[0] < 100) here = points[0][0];
        if (feasible) CHECK(std::abs(points[0][0] - here) < 40);
    }
    CHECK(feasible);
}

} // namespace simulated_annealing_test
