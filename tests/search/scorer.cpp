#include "black_box.hpp"
#include "catch.hpp"
#include <gsub/search/evolution_search.hpp>
#include <gsub/search/random_search.hpp>

#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace scorer_test {

using namespace gsub;
using namespace black_box;

// A scorer of two workers that scores from the last point on, and loses count where it is told to stop.
struct backwards {
    [[nodiscard]] std::size_t workers() const noexcept { return 2; }
    std::size_t score(std::span<point const* const> points, std::span<double> scores, function_ref<bool()>) {
        for (auto i = points.size(); i-- > 0;) scores[i] = rosenbrock(*points[i]);
        ++batches;
        return points.size();
    }
    int batches = 0;
};
// Tells a count of another type.
struct counts_in_int {
    [[nodiscard]] std::size_t workers() const noexcept { return 1; }
    int score(std::span<point const* const>, std::span<double>, function_ref<bool()>) { return 0; }
};
struct height {
    double operator()(point const& p) const { return rosenbrock(p); }
};

static_assert(scorer<backwards, point>);
static_assert(scorer<thread_scorer<height>, point>);
static_assert(scorer<thread_scorer<height> const, point>, "it has no state of its own");
static_assert(!scorer<counts_in_int, point>);
static_assert(!scorer<height, point>, "an objective is no scorer");
static_assert(!scorer<thread_scorer<height>, int>, "the objective must take the point");

TEST_CASE("a search by a scorer finds what one by its objective finds") {
    for (auto const& p : test_problems()) {
        CAPTURE(p.name);
        minimize_options const o{.budget = 300, .keep = 5};
        auto const alone = minimize(evolution_search{p.space, {.seed = 3}}, p.objective, o);
        for (std::size_t const threads : {1u, 3u, 8u}) {
            fork_join_executor pool{threads};
            thread_scorer workers{p.objective, &pool};
            CHECK(workers.workers() == threads);
            auto const found = minimize(evolution_search{p.space, {.seed = 3}}, workers, o);
            CHECK(found.best == alone.best);
            CHECK(found.history == alone.history);
        }
    }
    backwards own;
    auto const space = rosenbrock_space(3);
    auto const found = minimize(random_search{space, 1}, own, {.budget = 100, .batch = 25});
    CHECK(found.best == minimize(random_search{space, 1}, height{}, {.budget = 100}).best);
    CHECK(own.batches == 4);
}

TEST_CASE("a thread scorer tells how many points in front have a score") {
    auto const space = rosenbrock_space(2);
    auto const points = random_search{space, 1}.ask(10);
    std::vector<point const*> where;
    for (auto const& p : points) where.push_back(&p);
    thread_scorer const workers{height{}};
    std::vector<double> scores(10, -1);
    for (std::size_t stop = 0; stop <= 10; ++stop) {
        std::size_t asked = 0;
        auto const interrupted = [&] { return asked++ >= stop; };
        CHECK(workers.score(std::span<point const* const>{where}, std::span{scores}, interrupted) == stop);
        for (std::size_t i = 0; i < stop; ++i) CHECK(scores[i] == rosenbrock(points[i]));
    }
}

TEST_CASE("what an objective throws goes through a thread scorer") {
    fork_join_executor two{2};
    auto const throwing = [](point const& p) -> double {
        if (p[0] > 0) throw std::runtime_error("no score here");
        return 1;
    };
    thread_scorer workers{throwing, &two};
    CHECK_THROWS_WITH(minimize(random_search{rosenbrock_space(2), 1}, workers, {.budget = 50}), "no score here");
}

} // namespace scorer_test
