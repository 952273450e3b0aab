// tuner: finds a schedule and an algorithm for each task of a network, by a cost model, by the clock, or by both.
//
//     scheduled kernel graph ─ tuning_tasks_of ─► tasks ─ tune ─► records ─ records_source ─► schedule, select
//                                                         │
//                       predicted: evolution over cost::lowered ─► best
//                       hybrid:    evolution over cost::lowered ─► best few ─ kernel_timer ─► best
//                       measured:  evolution over kernel_timer ─► best
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/interface.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/search/concepts.hpp>
#include <gsub/target/target.hpp>
#include <gsub/tune/isolated_timer.hpp>
#include <gsub/tune/kernel_timer.hpp>
#include <gsub/tune/record.hpp>
#include <gsub/tune/tuning_task.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

namespace gsub::tune {

/// Tuning method: what ranks the candidates of a task.
enum class tuning_method : std::uint8_t {
    predicted, ///< a cost model alone: nothing is built and nothing runs
    hybrid,    ///< a cost model, and the clock for the best few
    measured,  ///< the clock alone
};
/// Name of a method: `static`, `hybrid`, `measured`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(tuning_method m) noexcept;

/// Options of a tuner.
struct tuning_options {
    tuning_method method = tuning_method::hybrid;
    std::uint64_t points = 600; ///< of the space of each algorithm that a model scores; smaller spaces it scores whole
    /// Slower and better model, which ranks the best of the first one anew; null: none.
    cost::lowered const* second_model = nullptr;
    std::size_t ranked_anew = 32; ///< candidates of a task, of all algorithms alike
    std::size_t trials = 10;      ///< candidates of a task that are measured, the untuned one beside them; at least 1
    std::size_t batch = 8;        ///< candidates of a measured search that are built and timed together; at least 1
    /// Whether a measured search begins at the counted schedules, with the untuned candidate; otherwise it begins
    /// anywhere, and takes the best that it has seen though the untuned one may be better.
    bool from_counted = true;
    /// What the best candidate takes of the untuned one's time at most; otherwise the task stays untuned. Predictions
    /// err more than measurements do.
    double sure_predicted = 0.95, sure_measured = 0.98;
    double seconds = std::numeric_limits<double>::infinity(); ///< in all; tasks with most to gain come first
    std::uint64_t seed = 1;
    timing_options timing{};
    /// Candidates are timed by an `isolated_timer`, which outlives those that crash or hang; none: in this process,
    /// which does not, but which may then have threads that hold locks.
    std::optional<isolation_options> isolation{};
    executor* threads = nullptr; ///< score candidates; null: the calling thread
    std::stop_token stop{};      ///< ends with what has been found
};

/// Candidate of a task that was timed. *Units* seconds of one call.
struct timed_candidate {
    candidate what{};
    double predicted = 0;
    std::optional<double> measured{}; ///< none where it failed
};

/// What a tuner has found for a task. *Units* seconds of one call.
struct tuned_task {
    candidate best{}; ///< the untuned one where nothing is surely better
    double predicted = 0, untuned_predicted = 0;
    std::optional<double> measured{}, untuned_measured{}; ///< none where nothing ran
    std::uint64_t scored = 0;                             ///< candidates, by a cost model
    std::size_t trials = 0, failed = 0;                   ///< candidates measured, and of these that failed
    std::vector<search::improvement> history{}; ///< the best score by candidates scored, one algorithm after another
    std::vector<timed_candidate> timed{};       ///< all trials, in the order in which they ran; the untuned one first

    /// What the untuned one takes: measured, or predicted where nothing ran.
    [[nodiscard]] double untuned_seconds() const noexcept { return untuned_measured.value_or(untuned_predicted); }
    /// What the task's kernels take by what they took before: measured, or predicted where nothing ran.
    [[nodiscard]] double ratio() const noexcept {
        if (measured && untuned_measured) return *measured / *untuned_measured;
        return untuned_predicted > 0 ? predicted / untuned_predicted : 1;
    }
};

/// Report of a tuner.
struct tuning_report {
    std::vector<tuned_task> tasks; ///< in the order given
    std::size_t tuned = 0;         ///< tasks that were looked at before the time was up
    search::stop_reason why = search::stop_reason::exhausted;
    double seconds = 0;
};

/// Totals of a report. *Units* seconds of one call of each kernel of the tasks: measured, or predicted where nothing
/// ran.
struct tuning_totals {
    double untuned_seconds = 0, seconds = 0;
    std::uint64_t scored = 0;
    std::size_t trials = 0, failed = 0;
    /// What all kernels take by what they took before.
    [[nodiscard]] double ratio() const noexcept { return untuned_seconds > 0 ? seconds / untuned_seconds : 1; }
};
/// The totals of a report about these tasks. *Requires* the tasks that were tuned.
GSUB_LAZY [[nodiscard]] tuning_totals totals_of(std::span<tuning_task const> tasks, tuning_report const& r);

/// Observer of a tuner. Derive from it and override. Called on the thread that tunes.
class tuning_observer : public interface {
public:
    /// A task begins: its number, and how many have been done of all.
    virtual void on_task(std::size_t, tuning_task const&, std::size_t, std::size_t) {}
    /// A record: a measurement, the best of a task measured anew (`measurement::confirmed`), or of a prediction.
    virtual void on_record(record const&) {}
    /// A task is done.
    virtual void on_tuned(std::size_t, tuning_task const&, tuned_task const&) {}
};

/// Tunes tasks for a machine. The least of many times is too low, so the best few are measured anew beside the untuned
/// candidate, and these times decide. The records that the observer gets are what was measured, with `predicted` the
/// best of each task that is surely better than the untuned one. Deterministic for a seed and any number of threads
/// where nothing is measured and time does not end. *Errors* what the timer throws, and `usage` where the model
/// gives NaN. *Complexity* `points` calls of the model for each algorithm, `trials` builds for each task.
GSUB_LAZY [[nodiscard]] result<tuning_report> tune(std::span<tuning_task const> tasks, cost::lowered const& model,
                                                   target const& machine, tuning_options const& options,
                                                   tuning_observer& observe);
GSUB_LAZY [[nodiscard]] result<tuning_report> tune(std::span<tuning_task const> tasks, cost::lowered const& model,
                                                   target const& machine, tuning_options const& options = {});

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/tuner.ipp>
#endif
