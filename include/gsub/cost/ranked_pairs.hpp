// Kendall's tau: how well predictions rank what was measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace gsub::cost {

/// Pairs of two rankings of the same things, each pair once.
struct ranked_pairs {
    std::size_t concordant = 0, discordant = 0;
    std::size_t tied_first = 0, tied_second = 0; ///< in one ranking alone; ties in both count nowhere

    /// Of the pairs that differ in the second ranking, those in order less those out of order, as a share of all: 1
    /// where all stand in order, 0 for a guess. No number where there are none.
    [[nodiscard]] double tau() const noexcept {
        auto const all = concordant + discordant + tied_first;
        return all == 0 ? std::numeric_limits<double>::quiet_NaN() : difference() / static_cast<double>(all);
    }
    /// Kendall's tau-b, which leaves ties of both sides out of account. *Source* Kendall, "The treatment of ties in
    /// ranking problems", Biometrika 1945.
    [[nodiscard]] double tau_b() const noexcept {
        auto const untied = static_cast<double>(concordant + discordant);
        auto const all =
            std::sqrt((untied + static_cast<double>(tied_first)) * (untied + static_cast<double>(tied_second)));
        return all == 0 ? std::numeric_limits<double>::quiet_NaN() : difference() / all;
    }

    /// Counts those of another set of things too.
    constexpr ranked_pairs& operator+=(ranked_pairs const& o) noexcept {
        concordant += o.concordant, discordant += o.discordant;
        tied_first += o.tied_first, tied_second += o.tied_second;
        return *this;
    }
    friend bool operator==(ranked_pairs const&, ranked_pairs const&) = default;

private:
    [[nodiscard]] double difference() const noexcept {
        return static_cast<double>(concordant) - static_cast<double>(discordant);
    }
};

/// Compares positive numbers, such as predicted times, with others, such as measured ones. Two of the second kind are
/// tied where the greater one is above the smaller one by no more than the share `noise`; of the first kind where they
/// are equal but for rounding. *Requires* as many of both. *Complexity* O(n^2).
[[nodiscard]] constexpr ranked_pairs rank_pairs(std::span<double const> first, std::span<double const> second,
                                                double noise = 0) noexcept {
    ranked_pairs out;
    auto const order = [](double a, double b, double share) {
        auto const tied = std::max(a, b) <= std::min(a, b) * (1 + share);
        return tied ? 0 : a < b ? -1 : 1;
    };
    for (std::size_t i = 0; i < first.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) {
            auto const a = order(first[i], first[k], 1e-9), b = order(second[i], second[k], noise);
            out.concordant += a * b > 0, out.discordant += a * b < 0;
            out.tied_first += a == 0 && b != 0, out.tied_second += a != 0 && b == 0;
        }
    return out;
}

} // namespace gsub::cost
