// Linear score: the time of a kernel as a weighted sum of its features, with coefficients for each architecture.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/result.hpp>
#include <gsub/cost/kernel_features.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gsub::cost {

/// Linear score of a kernel: the sum of its features' cycles, each times its coefficient; lower is better. *Source*
/// Tuna, 2021, section III: score = sum of a_i f_i, with coefficients for an architecture.
struct linear_score {
    /// By feature, at least 0. Those of no fit: blocks, loops, bytes and calls one after another, and instructions,
    /// which blocks contain, nothing of their own.
    std::array<double, kernel_feature_count> coefficients{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1};

    [[nodiscard]] constexpr double operator[](kernel_feature f) const noexcept {
        return coefficients[static_cast<std::size_t>(f)];
    }
    /// Predicted cycles of a feature, and of a kernel.
    [[nodiscard]] constexpr double cycles(kernel_features const& of, kernel_feature f) const noexcept {
        return (*this)[f] * of[f].cycles;
    }
    [[nodiscard]] constexpr double cycles(kernel_features const& of) const noexcept {
        double sum = 0;
        for (std::size_t i = 0; i < kernel_feature_count; ++i) sum += coefficients[i] * of.amounts[i].cycles;
        return sum;
    }
    friend bool operator==(linear_score const&, linear_score const&) = default;
};

/// What the cycles of a kernel's `ilp` feature are those of: bounds of its IR's blocks, as `time_of` finds them, or its
/// machine instructions on the ports of the core, loops and all, as `scheduled_time_of` does in ten times as long.
enum class ilp_source : std::uint8_t { blocks, instructions };
[[nodiscard]] constexpr std::string_view to_string(ilp_source s) noexcept {
    return s == ilp_source::blocks ? "blocks" : "instructions";
}

/// Calibrated score: a row of the table, with what it was fitted to.
struct linear_score_row {
    std::string_view architecture; ///< of instruction sets; empty: any
    ilp_source ilp = ilp_source::blocks;
    linear_score score;
    std::string_view machine, date, command; ///< that measured; empty: nothing was
    std::size_t kernels = 0;                 ///< that it was fitted to
};

namespace detail {

// clang-format off
inline constexpr linear_score_row linear_score_rows[] = {
    // architecture, ILP cost
    //   fma, arithmetic, load, scalar load, store, other | ILP, control | L2, L3, memory | call, wake
    //   machine, date
    //   command, kernels
    // Nothing was timed from memory or on several threads: these two coefficients are those of no fit.
    {"x86-64", ilp_source::instructions,
     {{0.3005, 0.9869, 0.2298, 0.4035, 0.02597, 0, 0.4248, 1, 0.321, 0.2969, 1, 0.2564, 1}},
     "AMD Zen 5 (x86_64 family 26 model 2), AVX-512 and AVX2, one thread of two shared with others", "2026-11-26",
     "bench_predict fit", 4337},
    {"x86-64", ilp_source::blocks,
     {{0.3349, 0.9665, 0, 0.02676, 0, 0, 0.6595, 0.1262, 0.2015, 0.2282, 1, 0.3426, 1}},
     "AMD Zen 5 (x86_64 family 26 model 2), AVX-512 and AVX2, one thread of two shared with others", "2026-11-26",
     "bench_predict fit --model counted", 4337},
    // Nobody has measured kernels of other architectures.
    {"", ilp_source::blocks, {}, "", "", "", 0},
};
// clang-format on

} // namespace detail

/// All calibrated scores; the last one is that of any architecture.
[[nodiscard]] constexpr std::span<linear_score_row const> linear_scores() noexcept {
    return detail::linear_score_rows;
}
/// Row of an instruction set: that of its architecture, else the last one.
[[nodiscard]] constexpr linear_score_row const& linear_score_of(isa const& s, ilp_source ilp) noexcept {
    for (auto const& row : linear_scores())
        if (row.architecture == s.architecture && row.ilp == ilp) return row;
    return linear_scores().back();
}

/// Predicts the time of a kernel of which another model has told counts and bytes: these, and the seconds of a linear
/// score. A model of one's own coefficients, for `lowered_options::model`, is a function that calls this one. `core`
/// is that of the other model. *Complexity* O(1).
GSUB_LAZY [[nodiscard]] kernel_time linear_time_of(kernel_time counted, microarchitecture const& core,
                                                   linear_score const& score) noexcept;

/// Kernel time model of the linear score with the row of the instruction set, for `lowered_options::model`. Kernels
/// without machine instructions have the score of their blocks.
GSUB_LAZY [[nodiscard]] kernel_time_model linear_cycles(ilp_source ilp = ilp_source::instructions) noexcept;

/// Measured kernel: features and the time that it took.
struct kernel_sample {
    kernel_features features{};
    double seconds = 0;   ///< of a call
    double gigahertz = 1; ///< of the core that the features are of
    ilp_source ilp = ilp_source::blocks;
    std::string kernel{}, schedule{}, isa{}, machine{};

    [[nodiscard]] double cycles() const noexcept { return seconds * gigahertz * 1e9; }
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/linear_score.ipp>
#endif
