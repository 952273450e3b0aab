// Instruction sets as a table: what code generators need to know of each.
#pragma once

#include <gsub/core/config.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gsub {

/// SIMD instruction set: a row of the table.
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
    bool lane_operands = false;   ///< a multiply-add takes one lane of a register for all, as it takes a vector

    bool lanes_are_threads = false; ///< a vector has as many lanes of any element as of f32

    /// Lanes of a vector: elements of `element_bytes` bytes, f32 by default.
    [[nodiscard]] constexpr std::int32_t lanes(std::int32_t element_bytes = 4) const noexcept {
        return vector_bytes / (lanes_are_threads ? 4 : element_bytes);
    }
    /// Whether this set runs programs for `other`: `other` is this set, or one that it extends.
    [[nodiscard]] constexpr bool runs(isa const& other) const noexcept {
        for (auto const* s = this; s; s = s->extends)
            if (s == &other) return true;
        return false;
    }

    static isa const avx512, avx2, neon;
    static isa const sse42;    ///< x86-64-v2: vectors of 16 bytes, no multiply-adds
    static isa const baseline; ///< any processor: what the compiler makes of vectors of 16 bytes
    /// Lanes are the threads of a GPU's warp (`codegen/simt/thread_group.hpp`); registers are those of a thread, as
    /// many as let enough warps be resident.
    static isa const warp;
};

inline constexpr isa isa::baseline{"baseline", "", "", "", nullptr, 16, 16, 1, 8};
inline constexpr isa isa::sse42{"sse42", "x86-64", "sse4.2 popcnt", "-msse4.2 -mpopcnt", &isa::baseline, 16, 16, 1, 8};
inline constexpr isa isa::avx2{"avx2", "x86-64", "avx2 fma", "-mavx2 -mfma", &isa::sse42, 32, 16, 2, 4};
inline constexpr isa isa::avx512{"avx512",
                                 "x86-64",
                                 "avx512f avx512bw avx512dq avx512vl fma",
                                 "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512",
                                 &isa::avx2,
                                 64,
                                 32,
                                 2,
                                 4};
inline constexpr isa isa::warp{"warp", "gpu", "", "", nullptr, 128, 64, 1, 4, false, true};
inline constexpr isa isa::neon{"neon", "aarch64", "", "", &isa::baseline, 16, 32, 2, 4, true};

/// All instruction sets of processors, the widest of an architecture first.
[[nodiscard]] inline std::span<isa const* const> instruction_sets() noexcept {
    static constexpr isa const* all[] = {&isa::avx512, &isa::avx2, &isa::sse42, &isa::neon, &isa::baseline};
    return all;
}

} // namespace gsub
