#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/random_search.hpp>

#include <limits>

namespace evolution_search_test {

using namespace black_box;
static_assert(sampler<evolution_search<product_space>>);

TEST_CASE("with equal points scored, evolution finds better ones than random search") {
    for (auto const& p : test_problems())
        for (std::uint64_t const steps : {500u, 2000u}) {
            CAPTURE(p.name, steps);
            auto const evolved = median_distance(p, steps, [](auto const& s, auto seed) {
                return evolution_search{s, {.seed = seed}};
            });
            auto const drawn = median_distance(p, steps, [](auto const& s, auto seed) {
                return random_search{s, seed};
            });
            CHECK(evolved < drawn);
        }
}

TEST_CASE("a search never ends worse than its start") {
    for (auto const& p : test_problems())
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            CAPTURE(p.name, seed);
            gsub::random_stream r{seed};
            auto const start = p.space.draw(r);
            auto const first = p.objective(p.space.decode(p.space.encode(start)));
            auto const found = minimize(evolution_search{p.space, {.seed = seed}, start}, p.objective, {.budget = 40});
            CHECK(found.score() <= first);
            CHECK(minimize(evolution_search{p.space, {}, start}, p.objective, {.budget = 1}).score() == first);
        }
}

TEST_CASE("runs start in the middle, at a random point, at the best of samples, and by turns until there are no more") {
    auto const space = rastrigin_space(3);
    evolution_search method{space, {.population = 4, .generations = 3}, {}, {.runs = 5, .samples = 20}};
    std::vector<std::vector<double>> starts;
    std::vector<std::size_t> lengths(5);
    std::vector<scored_point<point>> sampled;
    for (;;) {
        auto const run = method.run();
        auto const* strategy = method.strategy();
        if (strategy && starts.size() == run) {
            starts.push_back(strategy->mean());
            if (run == 2 || run == 4) {
                auto const best = std::min_element(sampled.begin(), sampled.end(),
                                                   [](auto const& a, auto const& b) { return a.score < b.score; });
                CHECK(starts.back() == space.encode(best->point));
                sampled.clear();
            }
        }
        auto const points = method.ask(6);
        if (points.empty()) break;
        std::vector<double> scores;
        for (auto const& p : points) {
            scores.push_back(rastrigin(p));
            if (!strategy) sampled.push_back({p, scores.back()});
        }
        lengths[run] += points.size();
        method.tell(points, scores);
    }
    CHECK(method.run() == 5);
    CHECK(starts.size() == 5);
    CHECK(starts[0] == std::vector<double>(3));
    CHECK(starts[1] != starts[3]);
    CHECK(lengths == std::vector<std::size_t>{15, 15, 35, 15, 35});
}

TEST_CASE("a region that is mostly infeasible is searched from the samples that are not") {
    product_space const space{std::vector(4, dimension::real(0, 1))};
    auto const objective = [](point const& p) {
        for (double v : p)
            if (v < 0.6) return std::numeric_limits<double>::infinity(); // 2.6 % are feasible, the middle is not
        return p[0] + p[1] + p[2] + p[3];
    };
    test_problem const p{"corner", space, objective, 2.4};
    auto const evolved = median_distance(p, 2000, [](auto const& s, auto seed) {
        return evolution_search{s, {.seed = seed}};
    });
    auto const drawn = median_distance(p, 2000, [](auto const& s, auto seed) { return random_search{s, seed}; });
    CAPTURE(evolved, drawn);
    CHECK(evolved < drawn / 2);
}

} // namespace evolution_search_test
