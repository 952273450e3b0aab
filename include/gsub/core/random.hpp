// A splittable counter-based random generator: the same seed gives the same numbers for any number of threads.
#pragma once

#include <gsub/core/hash.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace gsub {

/// Random stream. A stream is its key; the n-th draw is a hash of key and n, so streams are cheap to copy and to split.
/// Satisfies `std::uniform_random_bit_generator`. Has its own distributions, because those of the standard library
/// differ between implementations. *Source* the splittable generators of Salmon et al., "Parallel random numbers",
/// 2011.
class random_stream {
public:
    using result_type = std::uint64_t;

    constexpr explicit random_stream(std::uint64_t seed) noexcept : key_(hasher{seed}.add(0x67737562u).finish()) {}

    /// An independent stream for a named part of the work, e.g. `split(task).split(generation)`.
    [[nodiscard]] constexpr random_stream split(std::uint64_t part) const noexcept {
        return random_stream{hasher{0x73706c6974u}.add(key_).add(part).finish()};
    }

    constexpr result_type operator()() noexcept {
        auto const counter = ++counter_;
        return detail::multiply_fold(key_.high ^ counter * detail::hash_secret[0],
                                     detail::multiply_fold(key_.low ^ counter, detail::hash_secret[1]) | 1u);
    }
    static constexpr result_type min() noexcept { return 0; }
    static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

    /// Uniform in [0, bound). *Requires* bound > 0.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        return static_cast<std::uint64_t>((static_cast<uint128>((*this)()) * bound) >> 64);
    }
    /// Uniform in [0, 1).
    constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
    constexpr double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

    /// Normal with mean 0 and standard deviation 1 (Box–Muller, one of the pair).
    double normal() noexcept {
        auto const radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    constexpr explicit random_stream(hash128 key) noexcept : key_(key) {}
    hash128 key_;
    std::uint64_t counter_ = 0;
};

} // namespace gsub
