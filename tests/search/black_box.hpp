// What tests of samplers share: problems with known best points, and medians over seeds.
#pragma once

#include <gsub/search/minimize.hpp>
#include <gsub/search/test_functions.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace black_box {

using namespace gsub::search;
using point = product_space::point;

struct test_problem {
    std::string name;
    product_space space;
    std::function<double(point const&)> objective;
    double least = 0;
};

inline std::vector<test_problem> test_problems() {
    auto const sack = knapsack::random(30, 1);
    return {{"rosenbrock 2", rosenbrock_space(2), [](point const& p) { return rosenbrock(p); }},
            {"rosenbrock 10", rosenbrock_space(10), [](point const& p) { return rosenbrock(p); }},
            {"rastrigin 5", rastrigin_space(5), [](point const& p) { return rastrigin(p); }},
            {"knapsack 30", sack.space(), [sack](point const& p) { return sack.score(p); }, sack.least_score()}};
}

// The median over seeds of how far from the best a method is after so many points. `make(space, seed)` gives a sampler.
template <class Make>
double median_distance(test_problem const& p, std::uint64_t steps, Make make) {
    std::vector<double> distances;
    for (std::uint64_t seed = 0; seed < 7; ++seed)
        distances.push_back(minimize(make(p.space, seed), p.objective, {.budget = steps}).score() - p.least);
    std::sort(distances.begin(), distances.end());
    return distances[3];
}

} // namespace black_box
