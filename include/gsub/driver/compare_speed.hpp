// `compare_speed`: times two programs in turns, so that what disturbs the machine disturbs both.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/result.hpp>
#include <gsub/runtime/executable.hpp>

#include <cstddef>
#include <span>

namespace gsub {

/// Options of `compare_speed`: how often programs are timed.
struct speed_options {
    std::size_t rounds = 21;     ///< each runs both, one after the other and in the next round the other way round
    double least_seconds = 0.02; ///< that each runs a round
    executor* threads = nullptr; ///< null: one thread
};

/// Result of `compare_speed`: medians over the rounds.
struct speed_comparison {
    double first = 0, second = 0; ///< seconds of a run
    double ratio = 1;             ///< of the second's time to the first's
    double low = 1, high = 1;     ///< 95 % confidence interval of that ratio, by order statistics
};

/// Compares the speed of two executables, each on its own inputs. *Requires* at least one round. *Errors* those of
/// `executable::run`.
GSUB_LAZY [[nodiscard]] result<speed_comparison> compare_speed(runtime::executable const& first,
                                                               std::span<tensor const> inputs_of_first,
                                                               runtime::executable const& second,
                                                               std::span<tensor const> inputs_of_second,
                                                               speed_options const& options = {});

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/compare_speed.ipp>
#endif
