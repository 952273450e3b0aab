// What `--goal` says.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace cli {

/// What `--goal` knows, and the model of each.
struct goal_name {
    std::string_view goal, model;
};
inline constexpr std::array<goal_name, 4> goal_names{
    {{"latency", "lowered"}, {"memory", "peak_memory"}, {"energy", "energy"}, {"flops", "flops"}}};

/// The weights that a goal gives to `goal_names`: 0 to those that it does not name, 1 where it gives none.
/// *Errors* `usage`.
inline gsub::result<std::array<double, goal_names.size()>> weights_of(std::string_view goal) {
    using gsub::error;
    using gsub::error_code;
    std::array<double, goal_names.size()> weights{};
    std::array<bool, goal_names.size()> named{};
    for (std::size_t begin = 0; begin <= goal.size();) {
        auto const end = std::min(goal.find(',', begin), goal.size());
        auto const term = goal.substr(begin, end - begin);
        begin = end + 1;
        auto const colon = std::min(term.find(':'), term.size());
        std::size_t at = 0;
        while (at < goal_names.size() && goal_names[at].goal != term.substr(0, colon)) ++at;
        if (at == goal_names.size())
            return error{error_code::usage,
                         gsub::format_text("--goal: there is no goal \"{}\"; there are latency, memory, energy, flops",
                                           term.substr(0, colon))};
        if (named[at])
            return error{error_code::usage, gsub::format_text("--goal: {} has two weights", goal_names[at].goal)};
        named[at] = true;
        auto& weight = weights[at] = 1;
        if (colon == term.size()) continue;
        auto const* const last = term.data() + term.size();
        auto const [rest, failed] = std::from_chars(term.data() + colon + 1, last, weight);
        if (failed != std::errc{} || rest != last || !(weight >= 0) || !std::isfinite(weight))
            return error{error_code::usage, gsub::format_text("--goal: {}: a weight is a number >= 0", term)};
    }
    return weights;
}

} // namespace cli
