// Budget meter: what is left of a search budget after the searches so far.
#pragma once

#include <gsub/search/concepts.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace gsub::detail {

/// Budget meter: what is left of a search budget after the searches so far.
class budget_meter {
    using clock = std::chrono::steady_clock;

public:
    explicit budget_meter(search::budget const& b)
        : left_(b), timed_(b.time != std::chrono::nanoseconds::max()), begin_(clock::now()) {}
    /// A share of it, in [0, 1].
    [[nodiscard]] search::budget share(double part) const {
        auto out = left_;
        if (out.steps != std::numeric_limits<std::uint64_t>::max())
            out.steps = std::min(left_.steps, static_cast<std::uint64_t>(static_cast<double>(left_.steps) * part));
        if (timed_) {
            auto const left = std::max(left_.time - (clock::now() - begin_), std::chrono::nanoseconds::zero());
            out.time = std::chrono::duration_cast<std::chrono::nanoseconds>(left * part);
        }
        return out;
    }
    void spend(std::uint64_t steps) {
        if (left_.steps != std::numeric_limits<std::uint64_t>::max()) left_.steps -= std::min(left_.steps, steps);
    }

private:
    search::budget left_;
    bool timed_;
    clock::time_point begin_;
};

} // namespace gsub::detail
