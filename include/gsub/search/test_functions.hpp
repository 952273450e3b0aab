// Test functions of black-box search, with known best points: Rosenbrock's valley, Rastrigin's hills, a knapsack.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/search/product_space.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gsub::search {

/// Rosenbrock's function: a curved valley; 0 at (1, ..., 1), else more. *Requires* two dimensions.
/// *Source* Rosenbrock, "An automatic method for finding the greatest or least value of a function", 1960.
GSUB_LAZY [[nodiscard]] double rosenbrock(std::span<double const> x);
/// Its usual space: [-2.048, 2.048] in each of several dimensions.
GSUB_LAZY [[nodiscard]] product_space rosenbrock_space(std::size_t dimensions);

/// Rastrigin's function: a hill and a hollow every unit; 0 at the origin, else more.
/// *Source* Rastrigin, "Systems of extremal control", 1974.
GSUB_LAZY [[nodiscard]] double rastrigin(std::span<double const> x);
/// Its usual space, [-5.12, 5.12] in each of several dimensions, moved so that the best point is not in the middle.
GSUB_LAZY [[nodiscard]] product_space rastrigin_space(std::size_t dimensions);

/// Knapsack problem: which of several items to take, so that they are worth most and not too heavy.
struct knapsack {
    std::vector<std::uint32_t> weights, values; ///< of each item
    std::uint32_t capacity = 0;                 ///< the weight of the items taken is at most that

    /// A problem with random weights and values from 1 to 100, and a capacity of half of the weight.
    GSUB_LAZY [[nodiscard]] static knapsack random(std::size_t items, std::uint64_t seed);
    /// A dimension of two values for each item: 1 where it is taken.
    GSUB_LAZY [[nodiscard]] product_space space() const;
    /// What the items are worth, negated; +infinity where they are too heavy.
    GSUB_LAZY [[nodiscard]] double score(std::span<double const> taken) const;
    /// The least score. *Complexity* O(items * capacity)
    GSUB_LAZY [[nodiscard]] double least_score() const;
};

} // namespace gsub::search

#ifndef GSUB_COMPILED
#include <gsub/search/impl/test_functions.ipp>
#endif
