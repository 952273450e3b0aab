#pragma once

#include <gsub/search/evolution_search.hpp>
#include <gsub/search/exhaustive_search.hpp>
#include <gsub/search/minimize.hpp>
#include <gsub/target/port_table.hpp>
#include <gsub/tune/configuration_space.hpp>
#include <gsub/tune/tuner.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace gsub::tune {

GSUB_LAZY_BODY std::string_view to_string(tuning_method m) noexcept {
    constexpr std::string_view names[] = {"static", "hybrid", "measured"};
    return names[static_cast<std::size_t>(m)];
}

namespace detail {

/// Candidate with its score.
struct scored_candidate {
    candidate what;
    double score = 0;
};

// How a timer measures candidates: so many times as long as its options say.
using measuring = function_ref<std::vector<measurement>(std::span<candidate const>, std::size_t)>;

// Weights that no cache keeps from run to run come from memory.
template <class = void>
[[nodiscard]] timing_options timing_of(tuning_task const& t, target const& machine, timing_options timing) {
    if (timing.evict_bytes == 0) return timing;
    auto const l2 = machine.l2_bytes > 0 ? machine.l2_bytes : std::uint64_t{1} << 20;
    auto const threads = timing.threads ? timing.threads->concurrency() : 1;
    timing.evict_bytes = static_cast<std::size_t>(2 * l2) * threads;
    auto const l3 = static_cast<double>(machine.l3_bytes);
    timing.weights_in_memory = l3 > 0 && t.weight_bytes > 0.75 * l3;
    return timing;
}
// Calls `use` with the measuring of a timer: one in a process of its own where that is asked for.
template <class = void>
void with_timer(tuning_task const& t, target const& machine, tuning_options const& o,
                function_ref<void(measuring)> use) {
    auto const by = [&](auto const& timer) {
        use([&](std::span<candidate const> what, std::size_t longer) { return timer.measure(what, longer); });
    };
    auto const timing = timing_of(t, machine, o.timing);
    if (o.isolation)
        by(isolated_timer{t, isa_of(machine), timing, *o.isolation});
    else
        by(kernel_timer{t, isa_of(machine), timing});
}
GSUB_LAZY std::vector<kernel_op> ops_of(tuning_task const& t, std::vector<scored_candidate> const& candidates) {
    std::vector<kernel_op> out;
    for (auto const& c : candidates) out.push_back(t.with(c.what));
    return out;
}
GSUB_LAZY bool modelled_only(microarchitecture const& core) {
    return !core.measured || core_ports{core}.modelled_only();
}

template <class = void>
class tuner {
public:
    tuner(std::span<tuning_task const> tasks, cost::lowered const& model, target const& machine,
          tuning_options const& options, tuning_observer& observe)
        : tasks_(tasks), model_(model), machine_(machine), o_(options), observe_(observe) {
        GSUB_ASSERT(o_.trials >= 1 && o_.batch >= 1, "a tuner measures a candidate of each task at least");
    }

    tuning_report run() {
        out_.tasks.resize(tasks_.size());
        std::vector<double> weight(tasks_.size());
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            auto& t = out_.tasks[i];
            t.best = tasks_[i].untuned;
            t.predicted = t.untuned_predicted = predict(tasks_[i], t.best);
            weight[i] = t.untuned_predicted * static_cast<double>(tasks_[i].kernels);
        }
        std::vector<std::size_t> order(tasks_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
        auto left = std::accumulate(weight.begin(), weight.end(), 0.0);
        for (auto const i : order) {
            auto const share = left > 0 ? weight[i] / left : 1;
            left -= weight[i];
            if (auto const why = limit()) {
                out_.why = *why;
                break;
            }
            observe_.on_task(i, tasks_[i], out_.tuned, tasks_.size());
            tune_one(tasks_[i], out_.tasks[i], share);
            ++out_.tuned;
            observe_.on_tuned(i, tasks_[i], out_.tasks[i]);
        }
        out_.seconds = seconds_since(begin_);
        return std::move(out_);
    }

private:
    static constexpr std::size_t finalists = 4; // the untuned candidate among them
    using clock = std::chrono::steady_clock;

    [[nodiscard]] std::optional<search::stop_reason> limit() const {
        if (o_.stop.stop_requested()) return search::stop_reason::cancelled;
        if (seconds_since(begin_) >= o_.seconds) return search::stop_reason::time;
        return std::nullopt;
    }
    // Time that is left of a share of the rest.
    [[nodiscard]] std::chrono::nanoseconds part_of_rest(double share) const {
        if (std::isinf(o_.seconds)) return std::chrono::nanoseconds::max();
        auto const seconds = std::clamp(share * (o_.seconds - seconds_since(begin_)), 0.0, 1e6);
        return std::chrono::nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
    }

    [[nodiscard]] double predict(tuning_task const& t, candidate const& c) const {
        return model_.of_kernel(t.alone, t.with(c)).seconds;
    }
    // By the better model.
    [[nodiscard]] double judge(tuning_task const& t, candidate const& c) const {
        return o_.second_model ? o_.second_model->of_kernel(t.alone, t.with(c)).seconds : predict(t, c);
    }
    void record_of_prediction(tuning_task const& t, candidate const& c, double seconds) {
        measurement m{.costs = {seconds}, .timestamp = seconds_since_1970()};
        m.predicted = true;
        m.modelled_only = machine_.gpu ? machine_.gpu->architecture->modelled_only : modelled_only(model_.core());
        observe_.on_record(record_of(t.algorithms[c.algorithm].computes, machine_, t.point(c), m).value());
    }

    // The candidates of an algorithm that are predicted to be the best.
    std::vector<scored_candidate> best_predicted(tuning_task const& t, std::size_t algorithm, tuned_task& done,
                                                 double share) const {
        auto const& a = t.algorithms[algorithm];
        configuration_space const space{*a.space};
        auto const score = [&](loop::configuration const& c) {
            if (!a.space->allows(c)) return std::numeric_limits<double>::infinity();
            return predict(t, {algorithm, c.index()});
        };
        search::minimize_options limits;
        limits.budget.steps = o_.points;
        limits.budget.time = part_of_rest(share);
        limits.keep = kept_of(t), limits.threads = o_.threads, limits.stop = o_.stop;
        search::minimum<loop::configuration> found;
        if (space.size() <= o_.points) {
            found = search::minimize(search::exhaustive_search{space}, score, limits);
        } else {
            std::optional const start{a.counted};
            search::evolution_options evolution;
            evolution.seed = o_.seed;
            found = search::minimize(search::evolution_search{space, evolution, start, {.samples = 64}}, score, limits);
        }
        for (auto const& h : found.history)
            if (done.history.empty() || h.cost < done.history.back().cost)
                done.history.push_back({done.scored + h.steps, h.cost});
        done.scored += found.scored;
        std::vector<scored_candidate> out;
        for (auto const& p : found.best) out.push_back({{algorithm, p.point.index()}, p.score});
        return out;
    }

    [[nodiscard]] std::size_t kept_of(tuning_task const& t) const {
        return o_.second_model ? std::max<std::size_t>(1, o_.ranked_anew / t.algorithms.size()) : o_.trials;
    }
    void rank_anew(tuning_task const& t, std::vector<scored_candidate>& best) const {
        inline_executor here;
        auto& threads = o_.threads ? *o_.threads : static_cast<executor&>(here);
        o_.second_model->prepare(ops_of(t, best), threads);
        threads.parallel_for(best.size(), [&](std::size_t i) { best[i].score = judge(t, best[i].what); });
    }

    void tune_one(tuning_task const& t, tuned_task& done, double share) {
        done.predicted = done.untuned_predicted = judge(t, t.untuned);
        if (o_.method == tuning_method::measured) return measure_all(t, done, share);
        std::vector<scored_candidate> best;
        for (std::size_t a = 0; a < t.algorithms.size(); ++a)
            for (auto const& c : best_predicted(t, a, done, share / static_cast<double>(t.algorithms.size())))
                best.push_back(c);
        if (o_.second_model) rank_anew(t, best);
        std::stable_sort(best.begin(), best.end(), [](auto const& a, auto const& b) { return a.score < b.score; });
        if (best.empty()) return;
        if (o_.method == tuning_method::hybrid) return measure_best(t, done, best);
        if (best.front().score >= o_.sure_predicted * done.untuned_predicted) return;
        done.best = best.front().what, done.predicted = best.front().score;
        record_of_prediction(t, done.best, done.predicted);
    }

    // Takes the measurements of candidates.
    void take(tuning_task const& t, tuned_task& done, std::span<candidate const> what,
              std::span<measurement const> measured) {
        for (std::size_t i = 0; i < what.size(); ++i) {
            auto const& m = measured[i];
            ++done.trials;
            observe_.on_record(
                record_of(t.algorithms[what[i].algorithm].computes, machine_, t.point(what[i]), m).value());
            done.timed.push_back({what[i], judge(t, what[i]), std::nullopt});
            if (m.error != measure_error::none) {
                ++done.failed;
                continue;
            }
            auto const seconds = m.costs.front();
            done.timed.back().measured = seconds;
            if (what[i] == t.untuned) done.untuned_measured = seconds;
        }
    }
    // A candidate that had a time fails as it is measured anew: its record must not stand alone.
    void take_failure(tuning_task const& t, tuned_task& done, candidate const& c, measurement const& failed) {
        ++done.failed;
        for (auto& timed : done.timed)
            if (timed.what == c) timed.measured.reset();
        observe_.on_record(record_of(t.algorithms[c.algorithm].computes, machine_, t.point(c), failed).value());
    }
    // Measures the best few anew, beside the untuned candidate; the times of before are too low for the best of many.
    void confirm(tuning_task const& t, tuned_task& done, measuring measure) {
        std::vector<timed_candidate> order;
        for (auto const& c : done.timed)
            if (c.measured && c.what != t.untuned) order.push_back(c);
        std::stable_sort(order.begin(), order.end(),
                         [](auto const& a, auto const& b) { return *a.measured < *b.measured; });
        std::vector<candidate> what;
        if (done.untuned_measured) what.push_back(t.untuned);
        for (auto const& c : order)
            if (what.size() < finalists && (!done.untuned_measured || *c.measured < *done.untuned_measured))
                what.push_back(c.what);
        if (what.empty()) return;
        auto const times = measure(what, 3);
        for (std::size_t i = 0; i < what.size(); ++i)
            if (times[i].error != measure_error::none) take_failure(t, done, what[i], times[i]);
        auto const seconds_of = [&](std::size_t i) {
            return times[i].costs.empty() ? std::numeric_limits<double>::infinity() : times[i].costs.front();
        };
        std::size_t best = 0;
        for (std::size_t i = 1; i < what.size(); ++i)
            if (seconds_of(i) < seconds_of(best)) best = i;
        if (times[best].costs.empty()) return;
        if (what[0] == t.untuned && !times[0].costs.empty()) {
            done.untuned_measured = seconds_of(0);
            if (seconds_of(best) >= o_.sure_measured * seconds_of(0)) best = 0;
        }
        done.best = what[best], done.measured = seconds_of(best);
        done.predicted = judge(t, done.best);
        auto confirmed = times[best];
        confirmed.confirmed = true;
        observe_.on_record(
            record_of(t.algorithms[done.best.algorithm].computes, machine_, t.point(done.best), confirmed).value());
    }

    void measure_best(tuning_task const& t, tuned_task& done, std::vector<scored_candidate> const& best) {
        std::vector<candidate> what{t.untuned};
        for (auto const& c : best)
            if (what.size() <= o_.trials && c.what != t.untuned) what.push_back(c.what);
        with_timer(t, machine_, o_, [&](measuring measure) {
            take(t, done, what, measure(what, 1));
            confirm(t, done, measure);
        });
    }

    void measure_all(tuning_task const& t, tuned_task& done, double share) {
        with_timer(t, machine_, o_, [&](measuring measure) {
            candidate const first[] = {t.untuned};
            if (o_.from_counted) take(t, done, first, measure(first, 1));
            auto const rest = part_of_rest(share);
            auto const count = static_cast<std::int64_t>(t.algorithms.size());
            for (std::size_t a = 0; a < t.algorithms.size(); ++a) {
                auto const forever = rest == std::chrono::nanoseconds::max();
                measure_algorithm(t, a, measure, done,
                                  forever ? clock::time_point::max() : clock::now() + rest / count);
            }
            confirm(t, done, measure);
        });
    }
    // A search by the clock over the schedules of an algorithm.
    void measure_algorithm(tuning_task const& t, std::size_t number, measuring measure, tuned_task& done,
                           clock::time_point end) {
        constexpr auto infeasible = std::numeric_limits<double>::infinity();
        auto const& algorithm = t.algorithms[number];
        configuration_space const space{*algorithm.space};
        search::evolution_options evolution;
        evolution.seed = o_.seed, evolution.population = o_.batch;
        auto const start = o_.from_counted ? std::optional{algorithm.counted} : std::nullopt;
        search::evolution_search sampler{space, evolution, start, {.samples = o_.batch}};
        std::map<std::uint64_t, double> known;
        // Measured again, it would be compared with itself.
        if (number == t.untuned.algorithm && done.untuned_measured) known[t.untuned.index] = *done.untuned_measured;
        auto const trials = std::max<std::size_t>(1, o_.trials / t.algorithms.size());
        std::size_t measured = 0, idle = 0; // so many rounds without anything new say that there is nothing
        while (measured < trials && ++idle <= trials && !limit() && clock::now() < end) {
            auto const points = sampler.ask(o_.batch);
            if (points.empty()) return;
            std::vector<candidate> fresh;
            for (auto const& p : points)
                if (known.try_emplace(p.index(), infeasible).second && algorithm.space->allows(p))
                    fresh.push_back({number, p.index()});
            auto const times = measure(fresh, 1);
            take(t, done, fresh, times);
            for (std::size_t i = 0; i < fresh.size(); ++i)
                if (!times[i].costs.empty()) known[fresh[i].index] = times[i].costs.front();
            if (!fresh.empty()) idle = 0;
            measured += fresh.size();
            std::vector<double> scores;
            for (auto const& p : points) scores.push_back(known[p.index()]);
            sampler.tell(std::span<loop::configuration const>{points}, scores);
        }
    }

    std::span<tuning_task const> tasks_;
    cost::lowered const& model_;
    target const& machine_;
    tuning_options const& o_;
    tuning_observer& observe_;
    clock::time_point const begin_ = clock::now();
    tuning_report out_;
};

} // namespace detail

GSUB_LAZY_BODY tuning_totals totals_of(std::span<tuning_task const> tasks, tuning_report const& r) {
    GSUB_ASSERT(r.tasks.size() == tasks.size(), "a report of a tuner is about the tasks that were tuned");
    tuning_totals out;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        auto const& t = r.tasks[i];
        auto const untuned = static_cast<double>(tasks[i].kernels) * t.untuned_seconds();
        out.untuned_seconds += untuned, out.seconds += untuned * t.ratio();
        out.scored += t.scored, out.trials += t.trials, out.failed += t.failed;
    }
    return out;
}

GSUB_LAZY_BODY result<tuning_report> tune(std::span<tuning_task const> tasks, cost::lowered const& model,
                                          target const& machine, tuning_options const& options,
                                          tuning_observer& observe) {
    return capture([&] { return detail::tuner<>{tasks, model, machine, options, observe}.run(); });
}
GSUB_LAZY_BODY result<tuning_report> tune(std::span<tuning_task const> tasks, cost::lowered const& model,
                                          target const& machine, tuning_options const& options) {
    tuning_observer silent;
    return tune(tasks, model, machine, options, silent);
}

} // namespace gsub::tune
