// Tuning page: one page about a tuner's run that opens anywhere.
#pragma once

#include <gsub/tune/tuner.hpp>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gsub::report {

/// Times of a whole network, untuned and tuned, by the clock. *Units* seconds.
struct network_times {
    double untuned = 0, tuned = 0;
    double ratio = 1;         ///< of tuned by untuned, run beside each other
    double low = 1, high = 1; ///< bounds of the ratio, as 95 % of such comparisons have them
};

/// Facts of a tuning page beside tasks and report.
struct tuning_facts {
    std::string model;      ///< what was tuned, e.g. the name of its file
    std::string target;     ///< for which machine
    std::string cost_model; ///< in words
    tune::tuning_method method = tune::tuning_method::hybrid;
    std::optional<network_times> network{};                      ///< none where nothing was timed of the whole
    std::optional<double> per_hour{};                            ///< what an hour of the machine that tunes costs
    std::vector<std::pair<std::string, std::string>> settings{}; ///< further lines of the summary: name and value
};

/// Tuning page: one file that needs no network, no script and no other file. It shows what the network takes before and
/// after, how the best candidate came down with candidates scored and timed, predicted beside measured times of all
/// that were timed, with Kendall's tau, and each task with its schedule, those that gained most first. It is
/// well-formed XML too. Texts are escaped. Light or dark as the reader's system. The same for the same arguments.
/// *Requires* the tasks that were tuned. *Complexity* linear, and quadratic in the candidates timed of a task.
GSUB_LAZY [[nodiscard]] std::string to_html(std::span<tune::tuning_task const> tasks, tune::tuning_report const& r,
                                            tuning_facts const& facts);

/// The page's scatter plot of predicted and measured times, as SVG of its own; none where nothing was timed.
GSUB_LAZY [[nodiscard]] std::optional<std::string> scatter_svg(std::span<tune::tuning_task const> tasks,
                                                               tune::tuning_report const& r);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/scatter_plot.ipp>
#include <gsub/report/impl/tuning_page.ipp>
#endif
