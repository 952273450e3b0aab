// Definition of tune_strategy: a search over the logarithms of alpha and sigma.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/search/product_space.hpp>
#include <gsub/search/tune_strategy.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::search {

GSUB_LAZY_BODY tuned_strategy tune_strategy(std::span<strategy_problem const> problems,
                                            strategy_tuning const& options) {
    auto const range = [](std::pair<double, double> r) {
        GSUB_ASSERT(r.first > 0 && r.first < r.second, "a range of alpha or sigma rises from above 0");
        return dimension::real(std::log(r.first), std::log(r.second));
    };
    GSUB_ASSERT(!problems.empty() && options.seeds >= 1, "tuning has a problem and a seed");
    product_space const constants{{range(options.alpha), range(options.sigma)}};
    auto const with = [&](product_space::point const& p) {
        auto o = options.base;
        o.alpha = std::exp(p[0]);
        o.sigma = std::exp(p[1]);
        return o;
    };
    auto const mean_score = [&](product_space::point const& p) {
        auto o = with(p);
        double sum = 0;
        for (std::size_t seed = 0; seed < options.seeds; ++seed, ++o.seed)
            for (auto const& problem : problems) sum += problem(o);
        return sum / static_cast<double>(options.seeds * problems.size());
    };
    auto const inside = [](double v, std::pair<double, double> r) {
        return std::log(std::clamp(v, r.first, r.second));
    };
    product_space::point const start{inside(options.base.alpha, options.alpha),
                                     inside(options.base.sigma, options.sigma)};
    tuned_strategy out;
    out.found = minimize(evolution_search{constants, options.search, start}, mean_score, options.limits);
    if (out.found.best.empty()) throw error{error_code::usage, "the problems have no finite score with any constants"};
    out.best = with(out.found.best.front().point);
    out.score = out.found.score();
    return out;
}

} // namespace gsub::search
