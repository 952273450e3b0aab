// Evolution strategies beside annealing and random search on test functions: what each has found by the number of
// points scored. `--tune [STEPS [SEEDS]]`: the alpha and sigma that an evolution strategy finds for itself, for several
// decays of sigma.
#include <gsub/core/executor.hpp>
#include <gsub/search.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace gsub;
using namespace gsub::search;
using point = product_space::point;

// A test function, and how far a score is from the best there is.
struct test_problem {
    std::string name;
    product_space space;
    std::function<double(point const&)> objective;
    double least = 0;
};

test_problem valley(std::size_t n) {
    return {"rosenbrock " + std::to_string(n), rosenbrock_space(n), [](point const& p) { return rosenbrock(p); }};
}
test_problem hills(std::size_t n) {
    return {"rastrigin " + std::to_string(n), rastrigin_space(n), [](point const& p) { return rastrigin(p); }};
}
test_problem sack(std::size_t items, std::uint64_t seed) {
    auto const k = knapsack::random(items, seed);
    return {"knapsack " + std::to_string(items) + ", seed " + std::to_string(seed), k.space(),
            [k](point const& p) { return k.score(p); }, k.least_score()};
}

// The problems that the constants are tuned on, and others, on which they are judged.
std::vector<test_problem> tuned_on() {
    return {valley(2), valley(10), hills(5), hills(10), sack(30, 1), sack(30, 2)};
}
std::vector<test_problem> held_out() {
    return {valley(6), hills(7), sack(40, 3), sack(25, 4)};
}
constexpr std::uint64_t first_unseen_seed = 1000; // tuning counts from 0

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// The best score of a history by a number of points.
double best_after(std::vector<improvement> const& history, std::uint64_t steps) {
    double best = HUGE_VAL;
    for (auto const& h : history)
        if (h.steps <= steps) best = h.cost;
    return best;
}

constexpr std::uint64_t marks[] = {50, 100, 200, 500, 1000, 2000, 5000};

// Medians over seeds of how far from the best point each method is.
template <class Method>
void convergence(test_problem const& p, char const* name, std::uint64_t most, std::uint64_t seeds, Method method) {
    std::vector<std::vector<improvement>> histories;
    for (std::uint64_t seed = 0; seed < seeds; ++seed)
        histories.push_back(minimize(method(first_unseen_seed + seed), p.objective, {.budget = most}).history);
    std::printf("{\"bench\": \"evolution\", \"problem\": \"%s\", \"method\": \"%s\", \"seeds\": %d, \"distance\": {",
                p.name.c_str(), name, static_cast<int>(seeds));
    std::fprintf(stderr, "| %s | %s |", p.name.c_str(), name);
    char const* separator = "";
    for (auto const mark : marks) {
        if (mark > most) break;
        std::vector<double> distances;
        for (auto const& h : histories) distances.push_back(best_after(h, mark) - p.least);
        std::printf("%s\"%d\": %.6g", separator, static_cast<int>(mark), median(distances));
        std::fprintf(stderr, " %.3g |", median(distances));
        separator = ", ";
    }
    std::printf("}}\n");
    std::fprintf(stderr, "\n");
}

void compare(std::uint64_t most, std::uint64_t seeds) {
    for (auto const& problems : {tuned_on(), held_out()})
        for (auto const& p : problems) {
            convergence(p, "random", most, seeds, [&](auto seed) { return random_search{p.space, seed}; });
            convergence(p, "annealing", most, seeds, [&](auto seed) {
                return simulated_annealing{p.space, {.seed = seed}};
            });
            convergence(p, "evolution", most, seeds, [&](auto seed) {
                return evolution_search{p.space, {.seed = seed}};
            });
        }
}

// How well a strategy does on a problem: the decimal logarithm of how far it is from the best point after 2000 points,
// beside random search; a hundredth of that counts as there.
std::vector<strategy_problem> tuning_problems(std::uint64_t points) {
    std::vector<strategy_problem> out;
    for (auto const& p : tuned_on()) {
        std::vector<double> at_random;
        for (std::uint64_t seed = 0; seed < 11; ++seed)
            at_random.push_back(minimize(random_search{p.space, seed}, p.objective, {.budget = points}).score() -
                                p.least);
        out.push_back([p, points, scale = median(at_random)](evolution_options const& o) {
            auto const found = minimize(evolution_search{p.space, o}, p.objective, {.budget = points});
            return std::log10(std::max((found.score() - p.least) / scale, 0.01));
        });
    }
    return out;
}

// Mean score of constants over seeds that tuning has not seen.
double validated(std::vector<strategy_problem> const& problems, evolution_options o, std::uint64_t seeds) {
    double sum = 0;
    o.seed = first_unseen_seed;
    for (std::uint64_t n = 0; n < seeds; ++n, ++o.seed)
        for (auto const& p : problems) sum += p(o);
    return sum / static_cast<double>(seeds * problems.size());
}

// A row for each decay: the constants found, their score with the seeds that found them and with others.
void tune(std::uint64_t steps, std::size_t seeds) {
    fork_join_executor threads{std::max(std::thread::hardware_concurrency(), 1u)};
    auto const problems = tuning_problems(2000);
    for (double const decay : {1.0, 0.97, 0.95, 0.93, 0.91, 0.88}) {
        // All that tuning begins with is said here, so that what it finds does not depend on the defaults it has led
        // to.
        strategy_tuning o{.seeds = seeds,
                          .base = {.alpha = 0.2, .sigma = 0.3, .decay = decay, .patience = 20},
                          .search = {.alpha = 0.2, .sigma = 0.3, .decay = 0.97, .population = 16, .patience = 20}};
        o.limits.budget = steps;
        o.limits.threads = &threads;
        auto const tuned = tune_strategy(problems, o);
        auto const other = validated(problems, tuned.best, 5 * seeds);
        std::printf("{\"bench\": \"tuning\", \"decay\": %g, \"alpha\": %.4g, \"sigma\": %.4g, \"score\": %.4f, "
                    "\"other_seeds\": %.4f}\n",
                    decay, tuned.best.alpha, tuned.best.sigma, tuned.score, other);
        std::fprintf(stderr, "| %g | %.3g | %.3g | %.2f | %.2f |\n", decay, tuned.best.alpha, tuned.best.sigma,
                     tuned.score, other);
    }
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string_view> const arguments(argv + 1, argv + argc);
    auto const number = [&](std::size_t at, std::uint64_t otherwise) {
        return arguments.size() > at ? std::strtoull(arguments[at].data(), nullptr, 10) : otherwise;
    };
    if (!arguments.empty() && arguments[0] == "--tune")
        tune(number(1, 200), std::max<std::size_t>(number(2, 10), 1));
    else
        compare(number(0, 5000), std::max<std::uint64_t>(number(1, 15), 1));
}
