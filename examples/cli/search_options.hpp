// The options of a search, by what the options of `gsub optimize` say.
#pragma once

#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/optimize/optimize.hpp>

#include <charconv>
#include <chrono>
#include <span>

namespace cli {

inline gsub::search::budget budget_of(optimize_request const& r) {
    if (!r.seconds) return {r.budget};
    // Some 292 years fit; beyond that there is no limit.
    auto const longest = std::chrono::duration<double>(std::chrono::nanoseconds::max()).count();
    if (!(*r.seconds >= 0)) throw gsub::error{gsub::error_code::usage, "--time needs a number of seconds >= 0"};
    if (*r.seconds >= longest) return {r.budget};
    return {r.budget, std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*r.seconds))};
}

inline std::size_t split_of(optimize_request const& r) {
    if (r.split == "auto") return gsub::optimize_options{}.split;
    if (r.split == "none") return 0;
    std::size_t bound = 0;
    auto const end = r.split.data() + r.split.size();
    if (auto const [rest, failed] = std::from_chars(r.split.data(), end, bound);
        failed != std::errc{} || rest != end || bound == 0)
        throw gsub::error{gsub::error_code::usage,
                          gsub::format_text("--split {} is neither auto nor none nor a number above 0", r.split)};
    return bound;
}

/// Without verification and logs. `rules` must outlive it.
inline gsub::optimize_options search_options(optimize_request const& r, session const& s,
                                             std::span<gsub::rule_program const> rules) {
    return {.alpha = r.alpha,
            .schedule = r.schedule,
            .admit = r.admit == "parent"  ? gsub::search::admission::parent
                     : r.admit == "first" ? gsub::search::admission::first
                                          : gsub::search::admission::best,
            .plateau = r.plateau,
            .budget = budget_of(r),
            .queue = r.queue,
            .split = split_of(r),
            .rules = rules,
            .check = r.check,
            .seed = r.seed,
            .threads = s.threads,
            .observe = s.observe};
}

} // namespace cli
