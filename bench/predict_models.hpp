// Whole networks under every model of times, beside the clock.
#pragma once

#include "measurement.hpp"
#include <gsub/core/meta.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/fused.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/cost/ranked_pairs.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/eval/evaluate.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// What each model says of graphs, on some threads. Calibrates once; models by the clock keep what they have timed.
class time_models {
public:
    /// In the order in which they are shown; M0 is the roofline of the literature.
    static constexpr std::string_view names[] = {"lowered",  "lowered whole",    "measured kernels",
                                                 "measured", "calibrated fused", "M0"};

    /// `profile`: a file that keeps measured times; empty: none.
    time_models(gsub::target const& machine, gsub::executor& threads, std::string const& profile)
        : machine_(machine),
          threads_(static_cast<unsigned>(threads.concurrency())),
          kernels_(gsub::measured_kernels::over<gsub::standard_ops>(
                       opened(profile), {.least_runs = 9, .least_seconds = 0.02, .threads = &threads}, {}, machine)
                       .value()),
          operators_(gsub::cost::measured::over<gsub::standard_ops>(
              opened(profile), {.least_runs = 1, .least_seconds = 0, .threads = &threads})) {
        using namespace gsub;
        cost::measure_options measuring{.least_runs = 9, .least_seconds = 0.2, .threads = &threads};
        fused_.machine =
            calibrate(dialect::of<standard_ops>(), table_of<eval_row, standard_ops>(), measuring, {}, machine)
                .value()
                .rates;
        fused_.isa = &isa_of(machine);
    }

    /// Seconds by name.
    [[nodiscard]] std::map<std::string, double> of(gsub::any_graph const& g) const {
        auto const costs = gsub::cost::lowered::of(g, machine_, {.threads = threads_});
        return {{"lowered", costs(g).amount},
                {"lowered whole", costs.exactly(g).value().amount},
                {"measured kernels", kernels_(g).amount},
                {"measured", operators_(g).amount},
                {"calibrated fused", fused_(g).amount},
                {"M0", gsub::cost::roofline{}(g).amount}};
    }

private:
    static gsub::cost::profile opened(std::string const& path) {
        return path.empty() ? gsub::cost::profile{} : gsub::cost::profile::open(path).value();
    }
    gsub::target machine_;
    unsigned threads_;
    gsub::measured_kernels kernels_;
    gsub::cost::measured operators_;
    gsub::cost::fused_roofline fused_;
};

/// What models say of networks beside the clock.
class model_table {
public:
    void add(std::string const& network, double measured, std::map<std::string, double> const& predicted) {
        rows_.push_back({network, measured, predicted});
    }
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    /// Ratios of predicted to measured times; of all networks the median, how far the greatest ratio is from the least
    /// one, and Kendall's tau, to which a wrong scale is nothing.
    [[nodiscard]] std::string text() const {
        std::vector<std::string> heads{"network", "clock"};
        heads.insert(heads.end(), std::begin(time_models::names), std::end(time_models::names));
        gsub::report::table table{heads};
        std::map<std::string, sample> ratios, seconds;
        sample clock;
        for (auto const& r : rows_) {
            std::vector<std::string> line{r.network, gsub::report::human(r.measured, "s")};
            clock.values.push_back(r.measured);
            for (auto const name : time_models::names) {
                auto const model = std::string{name};
                auto const predicted = r.predicted.at(model);
                ratios[model].values.push_back(predicted / r.measured), seconds[model].values.push_back(predicted);
                line.push_back(gsub::report::fixed(predicted / r.measured, 2));
            }
            table.add(line);
        }
        std::vector<std::string> median{"median", ""}, spread{"most / least", ""}, tau{"tau", ""};
        for (auto const name : time_models::names) {
            auto const& of = ratios[std::string{name}];
            median.push_back(gsub::report::fixed(of.median(), 2));
            spread.push_back(gsub::report::fixed(of.at(1) / of.at(0), 1));
            tau.push_back(
                gsub::report::fixed(gsub::cost::rank_pairs(seconds[std::string{name}].values, clock.values).tau(), 2));
        }
        for (auto const& line : {median, spread, tau}) table.add(line);
        return table.text();
    }

private:
    struct row {
        std::string network;
        double measured;
        std::map<std::string, double> predicted;
    };
    std::vector<row> rows_;
};

} // namespace bench
