// minimize: black-box search by any sampler, in batches that threads, processes or machines score.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/search/concepts.hpp>
#include <gsub/search/sampler.hpp>
#include <gsub/search/scorer.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gsub::search {

/// Options of a black-box search.
struct minimize_options {
    search::budget budget{}; ///< steps: points scored, each once; bytes: of the scores that are remembered
    std::size_t keep = 1;    ///< how many of the best points the result holds, at least 1
    double target = -std::numeric_limits<double>::infinity(); ///< stop when a score at or below it is found
    std::size_t batch = 64;         ///< points asked at a time, at least 1; no more are scored side by side
    std::uint64_t repeats = 10'000; ///< so many known points in a row say that there is nothing new
    executor* threads = nullptr;    ///< scores points of an objective; null: the calling thread
    std::stop_token stop{};
};

/// Result of a black-box search.
template <class Point>
struct minimum {
    std::vector<scored_point<Point>> best; ///< distinct feasible points, the best first, of equal ones the first asked
    std::vector<improvement> history;      ///< the best score by the number of points scored
    std::uint64_t scored = 0;              ///< points scored, all distinct
    std::uint64_t infeasible = 0;          ///< of these, infeasible
    std::uint64_t repeated = 0;            ///< points asked that were known
    stop_reason why = stop_reason::exhausted;
    double seconds = 0;

    /// The best score; +infinity where no feasible point was found.
    [[nodiscard]] double score() const noexcept {
        return best.empty() ? std::numeric_limits<double>::infinity() : best.front().score;
    }
};

/// Observer of a black-box search that ignores every event; derive from it and hide members by name. All are called on
/// the calling thread, in the order in which points were asked.
struct null_minimize_observer {
    void on_batch(std::uint64_t, std::size_t) {} ///< points scored so far, how many new ones will be scored now
    template <class Point>
    void on_score(std::uint64_t, double, Point const&) {} ///< number of the point from 1, its score, the point
    void on_improvement(std::uint64_t, double) {}         ///< points scored until then, new best score
    void on_stop(stop_reason) {}
};

namespace detail {

// One search: the scores known, the best points.
template <class Sampler, class Scorer, class Observer>
class minimize_run {
public:
    using point = sampled_point<Sampler>;
    using space_type = std::remove_cvref_t<decltype(std::declval<Sampler&>().space())>;
    using key_type = std::remove_cvref_t<decltype(std::declval<space_type const&>().key(std::declval<point const&>()))>;

    minimize_run(Sampler& s, Scorer& f, minimize_options const& o, Observer& observe)
        : sampler_(s), scorer_(f), o_(o), observe_(observe) {}

    minimum<point> run() {
        out_.why = search();
        out_.seconds = std::chrono::duration<double>(clock::now() - begin_).count();
        observe_.on_stop(out_.why);
        return std::move(out_);
    }

private:
    using clock = std::chrono::steady_clock;
    struct batch {
        std::vector<point> points;
        std::vector<double> scores;
        std::vector<std::size_t> fresh; // positions of points that are scored for the first time
    };

    stop_reason search() {
        for (;;) {
            if (auto const limit = reached_limit()) return *limit;
            batch b;
            b.points = sampler_.ask(
                static_cast<std::size_t>(std::min<std::uint64_t>(o_.batch, o_.budget.steps - out_.scored)));
            if (b.points.empty()) return stop_reason::exhausted;
            b.scores.resize(b.points.size());
            look_up(b);
            auto const whole = score(b);
            record(b);
            if (!whole) return o_.stop.stop_requested() ? stop_reason::cancelled : stop_reason::time;
            sampler_.tell(std::span<point const>{b.points}, std::span<double const>{b.scores});
        }
    }

    [[nodiscard]] std::optional<stop_reason> reached_limit() const {
        if (out_.score() <= o_.target) return stop_reason::target;
        if (interrupted()) return o_.stop.stop_requested() ? stop_reason::cancelled : stop_reason::time;
        if (out_.scored >= o_.budget.steps) return stop_reason::steps;
        // An entry of the table: the key, the score and two words that bind it in.
        if (known_.size() * (sizeof(std::pair<key_type, double>) + 2 * sizeof(void*)) > o_.budget.bytes)
            return stop_reason::memory;
        if (in_a_row_ >= o_.repeats) return stop_reason::exhausted;
        if constexpr (enumerable_space<space_type>)
            if (known_.size() >= sampler_.space().size()) return stop_reason::exhausted;
        return std::nullopt;
    }
    [[nodiscard]] bool interrupted() const {
        return o_.stop.stop_requested() ||
               (o_.budget.time != std::chrono::nanoseconds::max() && clock::now() - begin_ >= o_.budget.time);
    }

    // Finds which points are new. Those known, and those that stand twice in the batch, are not scored again.
    void look_up(batch& b) {
        sources_.clear();
        for (std::size_t i = 0; i < b.points.size(); ++i) {
            auto const [at, is_new] = known_.try_emplace(sampler_.space().key(b.points[i]), unscored);
            if (is_new) b.fresh.push_back(i);
            sources_.push_back(&at->second); // stays valid: the table moves no entry
        }
    }

    // Scores new points. Where it is interrupted, cuts the batch in front of the first that has no score: what is left
    // is what a search with that number of steps would have scored.
    bool score(batch& b) {
        if (!b.fresh.empty()) observe_.on_batch(out_.scored, b.fresh.size());
        std::vector<point const*> points;
        points.reserve(b.fresh.size());
        for (auto i : b.fresh) points.push_back(&b.points[i]);
        std::vector<double> scores(points.size());
        auto const stopped = [&] { return interrupted(); };
        auto const count = scorer_.score(std::span<point const* const>{points}, std::span{scores}, stopped);
        for (std::size_t n = 0; n < count; ++n) b.scores[b.fresh[n]] = scores[n];
        auto const whole = count == b.fresh.size();
        if (!whole) {
            b.points.resize(b.fresh[count], b.points.front());
            b.scores.resize(b.points.size());
            b.fresh.resize(count);
        }
        for (auto i : b.fresh) *sources_[i] = b.scores[i];
        for (std::size_t i = 0; i < b.points.size(); ++i) b.scores[i] = *sources_[i];
        return whole;
    }

    void record(batch const& b) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < b.points.size(); ++i) {
            if (n == b.fresh.size() || b.fresh[n] != i) {
                ++out_.repeated, ++in_a_row_;
                continue;
            }
            ++n, in_a_row_ = 0;
            auto const s = b.scores[i];
            check_scores({&b.scores[i], 1}, out_.scored);
            observe_.on_score(++out_.scored, s, b.points[i]);
            if (s == std::numeric_limits<double>::infinity())
                ++out_.infeasible;
            else
                rank(b.points[i], s);
        }
    }

    // Keeps a point if it is one of the best. Points come in the order in which they were asked.
    void rank(point const& p, double s) {
        if (s < out_.score()) {
            out_.history.push_back({out_.scored, s});
            observe_.on_improvement(out_.scored, s);
        }
        auto const place = std::upper_bound(out_.best.begin(), out_.best.end(), s,
                                            [](double a, scored_point<point> const& b) { return a < b.score; });
        if (place == out_.best.end() && out_.best.size() == o_.keep) return;
        out_.best.insert(place, {p, s});
        if (out_.best.size() > o_.keep) out_.best.pop_back();
    }

    static constexpr double unscored = std::numeric_limits<double>::quiet_NaN();
    Sampler& sampler_;
    Scorer& scorer_;
    minimize_options const& o_;
    Observer& observe_;
    clock::time_point const begin_ = clock::now();
    minimum<point> out_;
    std::unordered_map<key_type, double> known_;
    std::vector<double*> sources_; // of each point of a batch: where its score is remembered
    std::uint64_t in_a_row_ = 0;   // known points since the last new one
};

} // namespace detail

/// Black-box minimization: asks a sampler for points, scores those that are new by `objective(point)` and tells it all
/// scores, until the sampler ends, everything is known, or a limit is reached. Lower scores are better; +infinity says
/// that a point is infeasible, and such a point is never among the best. The objective must be a function of the point
/// alone, and is called by several threads where the executor has some; the result is the same for any number of them.
/// Stopped by time, memory or the token, a search tells how many points it scored; one with that number of steps has
/// the same history and best points. A sampler whose search was interrupted within a batch cannot go on.
/// *Requires* keep >= 1, batch >= 1. *Errors* `usage` where a score is NaN; what the objective throws goes through.
/// *Complexity* one call of the objective for each distinct point. *Example* `examples/15_minimize.cpp`
template <class Sampler, class Objective, class Observer = null_minimize_observer>
requires sampler<std::remove_reference_t<Sampler>>
[[nodiscard]] auto minimize(Sampler&& s, Objective const& objective, minimize_options const& o = {},
                            Observer&& observe = {}) -> minimum<sampled_point<std::remove_reference_t<Sampler>>> {
    static_assert(
        std::is_invocable_r_v<double, Objective const&, sampled_point<std::remove_reference_t<Sampler>> const&>,
        "the objective gives a number for a point of the sampler's space");
    GSUB_ASSERT(o.keep >= 1 && o.batch >= 1, "a search keeps a point and asks for one at least");
    thread_scorer<std::reference_wrapper<Objective const>> workers{objective, o.threads};
    return detail::minimize_run<std::remove_reference_t<Sampler>, decltype(workers), std::remove_reference_t<Observer>>{
        s, workers, o, observe}
        .run();
}

/// The same with a scorer in place of an objective: the points are scored by its workers, side by side, and what is
/// found is the same as with its objective on one thread. *Requires* also that the options name no threads.
/// *Example* `examples/16_workers.cpp`
template <class Sampler, class Scorer, class Observer = null_minimize_observer>
requires sampler<std::remove_reference_t<Sampler>> && scorer<Scorer, sampled_point<std::remove_reference_t<Sampler>>>
[[nodiscard]] auto minimize(Sampler&& s, Scorer& workers, minimize_options const& o = {}, Observer&& observe = {})
    -> minimum<sampled_point<std::remove_reference_t<Sampler>>> {
    GSUB_ASSERT(o.keep >= 1 && o.batch >= 1, "a search keeps a point and asks for one at least");
    GSUB_ASSERT(o.threads == nullptr, "a scorer has workers of its own, threads are for an objective");
    return detail::minimize_run<std::remove_reference_t<Sampler>, Scorer, std::remove_reference_t<Observer>>{s, workers,
                                                                                                             o, observe}
        .run();
}

} // namespace gsub::search
