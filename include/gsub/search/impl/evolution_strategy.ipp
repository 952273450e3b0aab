// Definitions of evolution_strategy: noise, ranks and the step of the mean.
#pragma once

#include <gsub/search/evolution_strategy.hpp>
#include <gsub/search/sampler.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gsub::search {

GSUB_LAZY_BODY std::vector<double> centred_ranks(std::span<double const> scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
    std::vector<double> ranks(scores.size());
    if (scores.size() < 2) return ranks;
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
        while (to < order.size() && scores[order[to]] == scores[order[from]]) ++to;
        auto const mean = static_cast<double>(from + to - 1) / 2;
        for (auto i = from; i < to; ++i) ranks[order[i]] = 0.5 - mean / static_cast<double>(scores.size() - 1);
    }
    return ranks;
}

GSUB_LAZY_BODY evolution_strategy::evolution_strategy(std::vector<double> start, evolution_options const& options,
                                                      random_stream random)
    : o_(options), random_(random), mean_(std::move(start)), sigma_(options.sigma) {
    GSUB_ASSERT(o_.alpha > 0 && o_.sigma > 0 && o_.decay > 0 && o_.decay <= 1,
                "an evolution strategy has alpha and sigma above 0, and a decay of at most 1");
    GSUB_ASSERT(o_.population >= 2 && o_.population % 2 == 0 && o_.patience >= 1,
                "an evolution strategy has pairs of points, and patience");
}

GSUB_LAZY_BODY void evolution_strategy::draw_noise() {
    noise_.clear();
    noise_.reserve(mean_.size() * o_.population / 2);
    for (std::size_t pair = 0; pair < o_.population / 2; ++pair) {
        auto random = random_.split(generation_).split(pair);
        for (std::size_t d = 0; d < mean_.size(); ++d) noise_.push_back(random.normal());
    }
}

GSUB_LAZY_BODY std::vector<std::vector<double>> evolution_strategy::ask(std::size_t most) {
    GSUB_ASSERT(asked_ == scores_.size(), "all points asked are told before more are asked");
    if (asked_ == 0) draw_noise();
    std::vector<std::vector<double>> points;
    for (; points.size() < most && asked_ < 1 + o_.population; ++asked_) {
        auto x = mean_;
        if (asked_ > 0) {
            auto const* noise = noise_.data() + (asked_ - 1) / 2 * mean_.size();
            auto const factor = asked_ % 2 ? sigma_ : -sigma_;
            for (std::size_t d = 0; d < x.size(); ++d) x[d] += factor * noise[d];
        }
        points.push_back(std::move(x));
    }
    return points;
}

GSUB_LAZY_BODY void evolution_strategy::tell(std::span<double const> scores) {
    GSUB_ASSERT(scores_.size() + scores.size() == asked_, "each point asked is told a score");
    check_scores(scores, scores_.size());
    scores_.insert(scores_.end(), scores.begin(), scores.end());
    if (scores_.size() == 1 + o_.population) update();
}

// theta' = theta + alpha / (n * sigma) * sum over i of F_i * eps_i, where alpha has fallen with sigma^2.
GSUB_LAZY_BODY void evolution_strategy::update() {
    auto const falling = sigma_ / o_.sigma;
    auto const rate = o_.alpha * falling * falling / (static_cast<double>(o_.population) * sigma_);
    auto const ranks = centred_ranks(std::span{scores_}.subspan(1));
    auto const* noise = noise_.data();
    for (std::size_t i = 0; i < o_.population; i += 2)
        for (auto& m : mean_) m += rate * (ranks[i] - ranks[i + 1]) * *noise++;
    ++generation_;
    if (auto const least = *std::min_element(scores_.begin(), scores_.end()); least < best_) {
        best_ = least;
        improved_ = generation_;
    }
    sigma_ *= o_.decay;
    scores_.clear();
    asked_ = 0;
}

} // namespace gsub::search
