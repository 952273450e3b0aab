// Instruction sets as data: what the generators need to know of one, chosen by the target.
#pragma once

#include <gsub/target/target.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

/// A SIMD instruction set.
struct isa {
    std::string_view name;  ///< as in the names of kernels
    std::string_view flags; ///< of the system compiler, separated by spaces
    std::int32_t vector_bytes = 16;
    std::int32_t registers = 16; ///< vector registers
    std::int32_t fma_per_cycle = 2;
    std::int32_t fma_latency = 4; ///< cycles

    [[nodiscard]] constexpr std::int32_t lanes() const noexcept { return vector_bytes / 4; } ///< of f32

    static isa const avx512, avx2, neon;
    static isa const baseline; ///< any processor: what the compiler makes of vectors of 16 bytes
};

inline constexpr isa isa::avx512{
    "avx512", "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512", 64, 32, 2, 4};
inline constexpr isa isa::avx2{"avx2", "-mavx2 -mfma", 32, 16, 2, 4};
inline constexpr isa isa::neon{"neon", "", 16, 32, 2, 4};
inline constexpr isa isa::baseline{"baseline", "", 16, 16, 1, 8};

/// The widest set that a target has.
[[nodiscard]] constexpr isa const& isa_of(target const& t) noexcept {
    if (t.avx512) return isa::avx512;
    if (t.avx2) return isa::avx2;
    return isa::baseline;
}

} // namespace gsub
