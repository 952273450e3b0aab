// Definitions of the test functions.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/search/test_functions.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gsub::search {

GSUB_LAZY_BODY double rosenbrock(std::span<double const> x) {
    GSUB_ASSERT(x.size() >= 2, "Rosenbrock's function has two dimensions at least");
    double sum = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        auto const across = x[i + 1] - x[i] * x[i], along = 1 - x[i];
        sum += 100 * across * across + along * along;
    }
    return sum;
}
GSUB_LAZY_BODY product_space rosenbrock_space(std::size_t dimensions) {
    return product_space{std::vector(dimensions, dimension::real(-3, 2))};
}

GSUB_LAZY_BODY double rastrigin(std::span<double const> x) {
    double sum = 0;
    for (double v : x) sum += v * v + 10 - 10 * std::cos(6.283185307179586 * v);
    return sum;
}
GSUB_LAZY_BODY product_space rastrigin_space(std::size_t dimensions) {
    return product_space{std::vector(dimensions, dimension::real(-5.12 + 1.37, 5.12 + 1.37))};
}

GSUB_LAZY_BODY knapsack knapsack::random(std::size_t items, std::uint64_t seed) {
    random_stream stream{seed};
    knapsack out;
    for (std::size_t i = 0; i < items; ++i) {
        out.weights.push_back(static_cast<std::uint32_t>(1 + stream.below(100)));
        out.values.push_back(static_cast<std::uint32_t>(1 + stream.below(100)));
    }
    out.capacity = std::accumulate(out.weights.begin(), out.weights.end(), 0u) / 2;
    return out;
}
GSUB_LAZY_BODY product_space knapsack::space() const {
    return product_space{std::vector(weights.size(), dimension::ordinal(2))};
}
GSUB_LAZY_BODY double knapsack::score(std::span<double const> taken) const {
    GSUB_ASSERT(taken.size() == weights.size(), "a point says of each item whether it is taken");
    std::uint64_t weight = 0, value = 0;
    for (std::size_t i = 0; i < taken.size(); ++i)
        if (taken[i] > 0) weight += weights[i], value += values[i];
    return weight > capacity ? std::numeric_limits<double>::infinity() : -static_cast<double>(value);
}
GSUB_LAZY_BODY double knapsack::least_score() const {
    std::vector<std::uint64_t> most(capacity + std::size_t{1}); // value by weight at most
    for (std::size_t i = 0; i < weights.size(); ++i)
        for (std::size_t w = capacity; w >= weights[i] && w <= capacity; --w)
            most[w] = std::max(most[w], most[w - weights[i]] + values[i]);
    return -static_cast<double>(most[capacity]);
}

} // namespace gsub::search
