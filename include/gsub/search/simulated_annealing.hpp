// simulated_annealing: a sampler of chains of neighbours, which take worse points less and less often.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/random.hpp>
#include <gsub/search/sampler.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::search {

/// Options of simulated annealing. Temperatures are multiples of the typical difference between neighbours: the
/// geometric mean of those met so far, older ones counting less.
struct annealing_options {
    std::size_t chains = 8;  ///< independent walks, at least 1; so many points may be scored side by side
    std::size_t moves = 250; ///< of a chain from hot to cold, at least 1; then it is heated again
    double hot = 1;          ///< temperature at the first move, above 0
    double cold = 0.01;      ///< temperature to which it falls, above 0 and at most `hot`
    std::uint64_t seed = 0;
};

/// Simulated annealing: a sampler of chains, each of which moves to a neighbour of where it stands if that is better,
/// or with probability exp(-difference / temperature) if it is worse. Chains start at random points, the first at a
/// point given, if any; they have no end. Deterministic for a seed. Keeps a pointer to the space, which must outlive
/// it. *Source* Kirkpatrick et al., "Optimization by simulated annealing", 1983.
template <local_space Space>
class simulated_annealing {
public:
    using point = typename Space::point;

    explicit simulated_annealing(Space const& over, annealing_options const& options = {},
                                 std::optional<point> start = {})
        : space_(&over), o_(options), random_(options.seed), chains_(options.chains), start_(std::move(start)) {
        GSUB_ASSERT(o_.chains >= 1 && o_.moves >= 1 && o_.cold > 0 && o_.hot >= o_.cold,
                    "annealing has a chain and a move, and falls to a temperature above 0");
    }

    [[nodiscard]] Space const& space() const noexcept { return *space_; }

    /// The next points, one a chain at most.
    [[nodiscard]] std::vector<point> ask(std::size_t most) {
        GSUB_ASSERT(asked_ == told_, "all points asked are told before more are asked");
        std::vector<point> points;
        for (; points.size() < std::min(most, chains_.size()); ++asked_) {
            auto const& here = chains_[asked_ % chains_.size()].here;
            auto random = stream_of(asked_).split(0);
            if (here)
                points.push_back(space_->neighbour(here->point, random));
            else
                points.push_back(asked_ == 0 && start_ ? *start_ : space_->draw(random));
        }
        return points;
    }

    void tell(std::span<point const> points, std::span<double const> scores) {
        GSUB_ASSERT(points.size() == scores.size() && told_ + points.size() == asked_, "each point asked has a score");
        check_scores(scores);
        for (std::size_t i = 0; i < points.size(); ++i, ++told_) {
            auto& here = chains_[told_ % chains_.size()].here;
            if (!here || accepts(here->score, scores[i])) here = {points[i], scores[i]};
        }
    }

private:
    struct chain {
        std::optional<scored_point<point>> here;
    };

    // Streams of a move: of its neighbour, and of whether the chain goes there.
    [[nodiscard]] random_stream stream_of(std::uint64_t move) const noexcept {
        return random_.split(move % chains_.size()).split(move / chains_.size());
    }

    // Whether a chain goes from one score to another. It leaves an infeasible point for any other.
    bool accepts(double from, double to) {
        if (from == std::numeric_limits<double>::infinity() || to <= from) {
            learn(from - to);
            return true;
        }
        learn(to - from);
        auto random = stream_of(told_).split(1);
        auto const cooled = static_cast<double>(told_ / chains_.size() % o_.moves) / static_cast<double>(o_.moves);
        auto const temperature = std::exp(log_difference_) * o_.hot * std::pow(o_.cold / o_.hot, cooled);
        return random.uniform() < std::exp((from - to) / temperature);
    }
    void learn(double difference) {
        if (!(difference > 0) || !std::isfinite(difference)) return;
        ++differences_;
        auto const weight = std::max(1.0 / static_cast<double>(differences_), 0.02);
        log_difference_ += weight * (std::log(difference) - log_difference_);
    }

    Space const* space_;
    annealing_options o_;
    random_stream random_;
    std::vector<chain> chains_;
    std::optional<point> start_;
    std::uint64_t asked_ = 0, told_ = 0; // points, of all chains by turns
    std::uint64_t differences_ = 0;
    double log_difference_ = 0;
};

} // namespace gsub::search
