// Instruction sets as a table: what the generators need to know of each.
#pragma once

#include <gsub/core/config.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

/// A row of the table of SIMD instruction sets.
struct isa {
    std::string_view name;         ///< as in the names of kernels, e.g. `avx2`
    std::string_view architecture; ///< `x86-64`, `aarch64`; empty: any
    std::string_view features;     ///< words of `cpu_feature` that a processor must have, separated by blanks
    std::string_view flags;        ///< of the system compiler, separated by spaces
    isa const* extends = nullptr;  ///< the set whose programs run here too
    std::int32_t vector_bytes = 16;
    std::int32_t registers = 16; ///< vector registers
    std::int32_t fma_per_cycle = 2;
    std::int32_t fma_latency = 4; ///< cycles

    /// Elements of so many bytes in a vector: of f32, where nothing else is said.
    [[nodiscard]] constexpr std::int32_t lanes(std::int32_t element_bytes = 4) const noexcept {
        return vector_bytes / element_bytes;
    }
    /// Whether programs for `other` run where this set is: it is this one, or one that this one extends.
    [[nodiscard]] constexpr bool runs(isa const& other) const noexcept {
        for (auto const* s = this; s; s = s->extends)
            if (s == &other) return true;
        return false;
    }

    static isa const avx512, avx2, neon;
    static isa const baseline; ///< any processor: what the compiler makes of vectors of 16 bytes
};

inline constexpr isa isa::baseline{"baseline", "", "", "", nullptr, 16, 16, 1, 8};
inline constexpr isa isa::avx2{"avx2", "x86-64", "avx2 fma", "-mavx2 -mfma", &isa::baseline, 32, 16, 2, 4};
inline constexpr isa isa::avx512{"avx512",
                                 "x86-64",
                                 "avx512f avx512bw avx512dq avx512vl fma",
                                 "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512",
                                 &isa::avx2,
                                 64,
                                 32,
                                 2,
                                 4};
inline constexpr isa isa::neon{"neon", "aarch64", "", "", &isa::baseline, 16, 32, 2, 4};

/// All instruction sets, the widest of an architecture first.
[[nodiscard]] inline std::span<isa const* const> instruction_sets() noexcept {
    static constexpr isa const* all[] = {&isa::avx512, &isa::avx2, &isa::neon, &isa::baseline};
    return all;
}

} // namespace gsub
