// Calibration: measures the roofline's rates of this machine with generated kernels.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/target.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// A probe of a calibration, with its time.
struct calibration_probe {
    std::string_view name;
    double seconds = 0; ///< median of its runs
    double amount = 0;  ///< what is done in that time
    std::string_view unit;
};

/// Result of a calibration.
struct calibration {
    cost::roofline rates;
    std::string machine; ///< `calibration_key`
    std::vector<calibration_probe> probes;
};

/// Key of calibrated rates in a `cost::profile`, as text: machine, threads, instruction set and version of gsub.
[[nodiscard]] std::string calibration_key(target const& machine, std::size_t threads, isa const& isa);

/// Calibrates the roofline of this machine with generated kernels on the threads of `measuring`:
///   - FLOP/s: the middle one of a product and two convolutions, of sizes that stay in caches, none in Winograd's
///   tiles;
///   - bytes/s: a sum of two arrays, each as large as the last-level cache, but at least 64 MiB and at most 128 MiB;
///   - launch: a run of many tiny products over their number, and with several threads what it takes to wake them for a
///     step and to wait for all.
/// Each is the median of several runs. Takes some seconds, with kernels that are to be compiled some more, and memory
/// for three of the arrays. *Errors* `environment` where there is no compiler, or where the clock gives no rate.
/// *Source* Williams et al., "Roofline: an insightful visual performance model", CACM 2009.
[[nodiscard]] result<calibration> calibrate(dialect const& operators, eval_table evaluators,
                                            cost::measure_options measuring = {.least_runs = 9, .least_seconds = 0.2},
                                            build_options building = {}, target const& machine = host());

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/calibrate.ipp>
#endif
