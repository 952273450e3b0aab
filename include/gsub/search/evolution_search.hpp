// evolution_search: evolution strategies as a sampler of any search space, one run after the other from other starts.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/random.hpp>
#include <gsub/search/evolution_strategy.hpp>
#include <gsub/search/sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::search {

/// Options of the runs of an evolution search.
struct restart_options {
    std::size_t runs = std::numeric_limits<std::size_t>::max(); ///< how many, at least 1
    std::size_t samples = 256; ///< random points, of which the best is the start of every other run; at least 1
};

/// Evolution search: a sampler that runs evolution strategies over the coordinates of a search space. The first run
/// starts in the middle of the space or at a point given, the second at a random point, the third at the best of
/// `samples` random points, and so on by turns. A run ends as `evolution_strategy::finished` says; the sampler with
/// the last of its runs. Keeps a pointer to the space, which must outlive it.
template <search_space Space>
class evolution_search {
public:
    using point = typename Space::point;

    explicit evolution_search(Space const& over, evolution_options const& options = {},
                              std::optional<point> const& start = {}, restart_options const& restarts = {})
        : space_(&over), o_(options), restarts_(restarts), random_(options.seed) {
        GSUB_ASSERT(restarts.runs >= 1 && restarts.samples >= 1, "an evolution search has a run, and samples");
        begin(start ? space_->encode(*start) : std::vector<double>(space_->dimensions()));
    }

    [[nodiscard]] Space const& space() const noexcept { return *space_; }
    [[nodiscard]] std::size_t run() const noexcept { return run_; } ///< how many runs have ended
    /// The strategy of the present run; null while its start is looked for, and after the last run.
    [[nodiscard]] evolution_strategy const* strategy() const noexcept { return strategy_ ? &*strategy_ : nullptr; }

    [[nodiscard]] std::vector<point> ask(std::size_t most) {
        std::vector<point> points;
        if (run_ == restarts_.runs) return points;
        if (strategy_) {
            for (auto const& x : strategy_->ask(most)) points.push_back(space_->decode(x));
            return points;
        }
        for (; points.size() < most && sampled_ < restarts_.samples; ++sampled_) {
            auto random = of_run().split(sampled_);
            points.push_back(space_->draw(random));
        }
        return points;
    }

    void tell(std::span<point const> points, std::span<double const> scores) {
        GSUB_ASSERT(points.size() == scores.size(), "each point has a score");
        if (strategy_) {
            strategy_->tell(scores);
            if (strategy_->finished()) next_run();
            return;
        }
        check_scores(scores);
        for (std::size_t i = 0; i < points.size(); ++i)
            if (!best_sample_ || scores[i] < best_sample_->score) best_sample_ = {points[i], scores[i]};
        if (sampled_ == restarts_.samples && best_sample_) begin(space_->encode(best_sample_->point));
    }

private:
    // Streams of a run: of its noise by generation and pair, and of its samples by number.
    [[nodiscard]] random_stream of_run() const noexcept { return random_.split(run_).split(0); }
    void begin(std::vector<double> start) { strategy_.emplace(std::move(start), o_, random_.split(run_).split(1)); }
    void next_run() {
        strategy_.reset();
        best_sample_.reset();
        sampled_ = 0;
        if (++run_ == restarts_.runs || run_ % 2 == 0) return; // the end, or the best of many samples
        auto random = of_run();
        begin(space_->encode(space_->draw(random)));
    }

    Space const* space_;
    evolution_options o_;
    restart_options restarts_;
    random_stream random_;
    std::optional<evolution_strategy> strategy_;
    std::optional<scored_point<point>> best_sample_;
    std::size_t sampled_ = 0; // samples asked in this run
    std::size_t run_ = 0;
};

} // namespace gsub::search
