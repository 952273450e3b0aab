// Nest counts: how many values the unrolled loops of a nest make of an expression, and which part of its positions
// exists, both without visiting them.
#pragma once

#include <gsub/core/small_vector.hpp>

#include <algorithm>
#include <cstdint>

namespace gsub::cost::detail {

// Values that `factor * i` takes for `i` from 0 to before `count`; `factor` is positive.
struct affine_steps {
    std::int64_t factor = 1, count = 1;
};
using all_steps = small_vector<affine_steps, 6>;

inline void sort_steps(all_steps& steps) {
    std::sort(steps.begin(), steps.end(), [](auto const& a, auto const& b) { return a.factor < b.factor; });
}

// Number of values of a sum. Exact where each step is a multiple of the one before and they leave no gap, or leads
// beyond all that smaller ones reach; elsewhere an upper bound.
[[nodiscard]] inline double distinct_values(all_steps steps) {
    sort_steps(steps);
    double values = 1;
    affine_steps last; // all multiples of its factor, up to its count, are values of the steps since the last gap
    for (auto const& s : steps) {
        if (s.count <= 1) continue;
        if (last.count > 1 && s.factor % last.factor == 0 && s.factor <= last.factor * last.count) {
            last.count += s.factor / last.factor * (s.count - 1);
        } else {
            values *= static_cast<double>(last.count);
            last = s;
        }
    }
    return values * static_cast<double>(last.count);
}

// The part of all positions at which `low <= sum < high`. Steps that continue each other are one. All but the one with
// most values are visited where these are few; elsewhere the part is taken to be whole.
[[nodiscard]] inline double part_between(all_steps steps, std::int64_t low, std::int64_t high) {
    constexpr std::int64_t most = 256; // visits
    sort_steps(steps);
    all_steps joined;
    for (auto const& s : steps) {
        if (!joined.empty() && joined.back().factor * joined.back().count == s.factor)
            joined.back().count *= s.count;
        else
            joined.push_back(s);
    }
    if (joined.empty()) return low <= 0 && 0 < high ? 1 : 0;
    std::sort(joined.begin(), joined.end(), [](auto const& a, auto const& b) {
        return a.count != b.count ? a.count > b.count : a.factor < b.factor;
    });
    std::int64_t visits = 1, all = joined[0].count;
    for (std::size_t i = 1; i < joined.size(); ++i)
        visits = std::min(most + 1, visits * std::min(most + 1, joined[i].count)), all *= joined[i].count;
    if (visits > most) return 1;
    auto const inner = joined[0];
    std::int64_t within = 0;
    for (std::int64_t v = 0; v < visits; ++v) {
        auto rest = v, at = std::int64_t{0};
        for (std::size_t i = 1; i < joined.size(); ++i)
            at += rest % joined[i].count * joined[i].factor, rest /= joined[i].count;
        auto const up = [&](std::int64_t n) { return n <= 0 ? 0 : (n + inner.factor - 1) / inner.factor; };
        auto const first = std::min(up(low - at), inner.count), last = std::min(up(high - at), inner.count);
        within += std::max<std::int64_t>(0, last - first);
    }
    return static_cast<double>(within) / static_cast<double>(all);
}

} // namespace gsub::cost::detail
