// evolution_strategy: a search by ask and tell in a real vector space, along the gradient that noise around a mean
// shows.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gsub::search {

/// Options of an evolution strategy. Alpha and sigma are those that `tune_strategy` found on the test functions
/// (docs/search.md, "The constants of evolution strategies").
struct evolution_options {
    double alpha = 0.23;         ///< learning rate, above 0, for a sigma of the first generation
    double sigma = 0.34;         ///< standard deviation of the noise in the first generation, above 0
    double decay = 0.93;         ///< of sigma from one generation to the next, above 0 and at most 1
    double least_sigma = 1e-3;   ///< a run ends when sigma is below it
    std::size_t population = 32; ///< noisy points a generation, in pairs: even, at least 2
    std::size_t patience = 20;   ///< generations without a better best after which a run ends, at least 1
    std::size_t generations = std::numeric_limits<std::size_t>::max(); ///< of a run, at most
    std::uint64_t seed = 0;
};

/// Evolution strategy: one run from a start, by ask and tell. A generation is the mean, which shows what was reached,
/// and `population` points around it, each noise with its negative. The mean then moves along the noise weighted by the
/// centred ranks of the scores: from 1/2 for the best to -1/2 for the worst, equal scores, such as those of infeasible
/// points, sharing the mean of their ranks. So only the order of scores counts, not their size. Alpha falls with the
/// square of sigma: a step stays the same multiple of the noise. Deterministic: noise follows from the stream, the
/// generation and the number of the pair.
/// *Complexity* O(population * (dimensions + log population)) a generation.
/// *Source* Tuna (Wang et al., "Tuna: a static analysis approach to optimizing deep neural networks", 2021), algorithm
/// 4; centred ranks and pairs after Salimans et al., "Evolution strategies as a scalable alternative to reinforcement
/// learning", 2017.
class evolution_strategy {
public:
    /// *Requires* options in their ranges.
    GSUB_LAZY evolution_strategy(std::vector<double> start, evolution_options const& options, random_stream random);

    [[nodiscard]] std::vector<double> const& mean() const noexcept { return mean_; }
    [[nodiscard]] double sigma() const noexcept { return sigma_; }
    [[nodiscard]] std::size_t generation() const noexcept { return generation_; } ///< how many are told
    /// Whether `patience` generations have found nothing better, the noise is below `least_sigma`, or there were as
    /// many generations as there may be.
    [[nodiscard]] bool finished() const noexcept {
        return generation_ >= o_.generations || generation_ - improved_ >= o_.patience || sigma_ < o_.least_sigma;
    }

    /// The next points of this generation, at most `most`. *Requires* that all points asked are told.
    GSUB_LAZY [[nodiscard]] std::vector<std::vector<double>> ask(std::size_t most);
    /// Scores of the points asked last, the less the better. *Errors* `usage` where one is NaN.
    GSUB_LAZY void tell(std::span<double const> scores);

private:
    GSUB_LAZY void draw_noise();
    GSUB_LAZY void update();

    evolution_options o_;
    random_stream random_;
    std::vector<double> mean_;
    std::vector<double> noise_;  // of each pair, one after the other
    std::vector<double> scores_; // of this generation: the mean's, then those of the population
    double sigma_;
    double best_ = std::numeric_limits<double>::infinity();
    std::size_t asked_ = 0; // points of this generation
    std::size_t generation_ = 0;
    std::size_t improved_ = 0; // generations told when the best was found
};

/// Centred ranks of scores: 1/2 for the lowest, -1/2 for the highest, equally far from each other; equal scores share
/// the mean of theirs. They add up to 0. A single score has rank 0. *Requires* that none is NaN.
GSUB_LAZY [[nodiscard]] std::vector<double> centred_ranks(std::span<double const> scores);

} // namespace gsub::search

#ifndef GSUB_COMPILED
#include <gsub/search/impl/evolution_strategy.ipp>
#endif
